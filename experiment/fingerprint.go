package experiment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
)

// Fingerprint tells a printed page from one that the code of today would print, at the cost of a few runs: the study's data (texts, set-ups,
// rules with their thresholds) and every figure of its probes, played with few seeds. What changes what a setting does changes some figure
// of some probe.
type Fingerprint struct {
	Data  string `json:"data"`
	Probe string `json:"probe,omitempty"` // "" where not all probes were run with these seeds
	Seed  uint64 `json:"seed"`            // the first
}

// probes are the experiments that are played for a fingerprint, in the study's order.
func (s *Study) probes() []string {
	if s.Probes == nil {
		return ids(s)
	}
	return s.Probes
}

// probeSeeds are the seeds of a fingerprint.
func (s *Study) probeSeeds(first uint64) []uint64 { return Seeds(first, max(s.ProbeSeeds, 1)) }

// Fingerprint plays the study's probes, from a seed on.
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

// fingerprint takes it from the runs of the first seeds.
func (s *Study) fingerprint(runs *Runs) Fingerprint {
	f := Fingerprint{Data: s.dataHash()}
	if len(runs.seeds) > 0 {
		f.Seed = runs.seeds[0]
	}
	probes, seeds := s.probes(), s.probeSeeds(f.Seed)
	if len(runs.seeds) < len(seeds) || !slices.Equal(runs.seeds[:len(seeds)], seeds) {
		return f
	}
	if common := runs.common(probes); len(common) < len(seeds) || common[len(seeds)-1] != len(seeds)-1 {
		return f
	}
	h := sha256.New()
	for _, id := range probes {
		for i := range seeds {
			for _, name := range runs.Metrics(id) {
				if v, ok := runs.metrics[id][i][name]; ok && !math.IsNaN(v) {
					_, _ = fmt.Fprintf(h, "%s %d %s %.6g\n", id, i, name, v) // six digits: the last ones differ between processors
				}
			}
		}
	}
	f.Probe = short(h.Sum(nil))
	return f
}

// dataHash is a hash of all that the study says about itself.
func (s *Study) dataHash() string {
	h := sha256.New()
	add := func(v any) {
		text, err := json.Marshal(v)
		if err != nil {
			panic("experiment: " + err.Error()) // texts and numbers only
		}
		_, _ = h.Write(append(text, '\n'))
	}
	add([]any{s.Name, s.Title, s.Source, s.About, s.Assumptions, s.Calibrated})
	for _, e := range s.Experiments {
		add([]any{e.ID, e.Group, e.Title, e.Setup})
		for _, r := range e.Reported {
			add([]any{r.Metric, r.What, r.Unit, Float(r.Paper), r.Note})
		}
	}
	for i := range s.Checks {
		c := &s.Checks[i]
		add([]any{c.ID, c.Text, c.Paper, c.Strength, c.needs(), c.ByConstruction, c.Judge.Rule, c.Why})
		if r := c.Revised; r != nil {
			add([]any{r.First.Rule, r.Gave != nil, r.Why})
		}
	}
	return short(h.Sum(nil))
}

func short(sum []byte) string { return hex.EncodeToString(sum[:8]) }

// String is how a page carries its fingerprint.
func (f Fingerprint) String() string {
	return fmt.Sprintf("data %s, probe %s, seed %d", f.Data, f.Probe, f.Seed)
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

// Fresh says whether a page that carries this fingerprint is what the study would print today; if not, what differs.
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
