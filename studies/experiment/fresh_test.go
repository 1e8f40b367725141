package experiment

import (
	"context"
	"fmt"
	"io"
	"regexp"
)

// Fingerprint runs the study's probes, starting at a seed.
func (s *Study) Fingerprint(ctx context.Context, seed uint64) (Fingerprint, error) {
	f, err := Run(ctx, Plan{Selected: []Selection{{s, s.probes()}}, Seeds: s.probeSeeds(seed)})
	switch {
	case err != nil:
		return Fingerprint{}, err
	case len(f.Failures) > 0:
		return Fingerprint{}, fmt.Errorf("%s, seed %d: %s", f.Failures[0].Experiment, f.Failures[0].Seed, f.Failures[0].Error)
	case f.Partial:
		return Fingerprint{}, ctx.Err()
	}
	return f.Studies[0].Fingerprint, nil
}

var onPage = regexp.MustCompile(`<!-- (\S+) fingerprint: data ([0-9a-f]{16}), probe ([0-9a-f]{16}), seed (\d+) -->`)

// PageFingerprints finds the fingerprints that a page carries, by study.
func PageFingerprints(page io.Reader) (map[string]Fingerprint, error) {
	text, err := io.ReadAll(page)
	if err != nil {
		return nil, fmt.Errorf("reading a page: %w", err)
	}
	found := map[string]Fingerprint{}
	for _, m := range onPage.FindAllStringSubmatch(string(text), -1) {
		f := Fingerprint{Data: m[2], Probe: m[3]}
		if _, err := fmt.Sscan(m[4], &f.Seed); err != nil {
			return nil, fmt.Errorf("the seed of a page's fingerprint, %q: %w", m[4], err)
		}
		found[m[1]] = f
	}
	return found, nil
}

// Fresh reports whether a page with this fingerprint is what the study would print today; if not, what differs.
func (s *Study) Fresh(ctx context.Context, printed Fingerprint) error {
	now := Fingerprint{Data: s.dataHash()}
	if now.Data != printed.Data {
		return fmt.Errorf("the texts, settings or rules of the study %s have changed since its page was printed", s.Name)
	}
	now, err := s.Fingerprint(ctx, printed.Seed)
	if err != nil {
		return err
	}
	if now != printed {
		return fmt.Errorf("figures of the study %s have changed since its page was printed (of %s)", s.Name, brief(s.probes(), 4))
	}
	return nil
}
