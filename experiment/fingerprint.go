package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
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
