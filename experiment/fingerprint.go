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
	"strings"
)

// Fingerprint tells a printed page from one that the code of today would print, at the cost of a few runs: the study's data (texts, set-ups,
// rules with their thresholds) and every figure of its probes, which are one experiment of each group played with one seed. What
// changes the simulator's results changes some figure of some probe.
type Fingerprint struct {
	Data  string `json:"data"`
	Probe string `json:"probe,omitempty"` // "" where not all probes were run with the seed
	Seed  uint64 `json:"seed"`
}

// probes are the first experiments of each group.
func (s *Study) probes() []string {
	var ids []string
	seen := map[string]bool{}
	for _, e := range s.Experiments {
		if !seen[e.Group] {
			seen[e.Group] = true
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// Fingerprint plays the study's probes with one seed.
func (s *Study) Fingerprint(ctx context.Context, seed uint64) (Fingerprint, error) {
	f, err := Run(ctx, Plan{Selected: []Selection{{s, s.probes()}}, Seeds: []uint64{seed}})
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

// fingerprint takes it from the runs of the first seed.
func (s *Study) fingerprint(runs *Runs) Fingerprint {
	f := Fingerprint{Data: s.dataHash()}
	if len(runs.seeds) > 0 {
		f.Seed = runs.seeds[0]
	}
	probes := s.probes()
	if common := runs.common(probes); len(common) == 0 || common[0] != 0 {
		return f
	}
	h := sha256.New()
	for _, id := range probes {
		for _, name := range runs.Metrics(id) {
			if v, ok := runs.metrics[id][0][name]; ok && !math.IsNaN(v) {
				_, _ = fmt.Fprintf(h, "%s %s %.6g\n", id, name, v) // six digits: the last ones differ between processors
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
		add([]any{c.ID, c.Text, c.Paper, c.Strength, c.needs(), c.ByConstruction, c.Judge.Rule, c.Why, c.Revised})
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
		return fmt.Errorf("the figures of %s have changed since its page was printed", strings.Join(s.probes(), ", "))
	}
	return nil
}
