// Package tune lets the search of `yardmaster tune` and random settings compete on histories. Every run adds a record for each history to
// docs/studies/tune; the page has all of them.
package tune

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/whatif/goal"
	search "github.com/yardmaster/yardmaster/whatif/tune"
	"github.com/yardmaster/yardmaster/yarn/edit"
)

const (
	randomPoints = 200
	seeds        = 5
	budget       = 600 // runs: what the random points cost, in three replays; the usual budget of histories as small as these is 300 to 1,000. Until b871d6b: 300
	dir          = "docs/studies/tune"
	series       = "history"
)

// record is one competition.
type record struct {
	History   string
	Developed bool
	Parts     string        // what was searched, validated and confirmed
	Random    []search.Mark // of each point, in the search
	Best      int           // of those that keep the bounds; -1: none does
	Fresh     *search.Mark  // of the best, on the confirmation
	Answers   []answer
	Seconds   [2]float64 // of the random points, and of a search
}

// answer is that of tune with a seed.
type answer struct {
	Seed     uint64
	Found    bool
	Sentence string
	Changes  []string
	Searched float64 // of the answer, or of the best candidate if none was confirmed
	Expected []search.Figure
	Rejected []string
	Refuted  []string
	Runs     float64
}

// Study is the competition, with the verb's options.
type Study struct {
	Only      string // the history of this name
	Developed bool   // run the histories on which the search was developed, too
	Try       bool   // print the results, and record nothing
	Offline   bool   // only write the page
	Log       io.Writer
}

// Run adds a record for each history and writes the page.
func (s *Study) Run(ctx context.Context) error {
	for _, h := range histories() {
		if s.Offline || s.Only != "" && h.Name != s.Only || h.Developed && !s.Developed {
			continue
		}
		program := ""
		var err error
		if !s.Try {
			if program, err = evidence.Program(dir, ""); err != nil {
				return err
			}
		}
		begun := evidence.Begin(program)
		rec, err := compete(ctx, &h)
		if err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
		fmt.Fprintln(s.Log, rec.words())
		if s.Try {
			continue
		}
		if _, err := begun.KeepJSON(dir, series, rec); err != nil {
			return err
		}
	}
	if s.Try {
		return nil
	}
	return writePage()
}

// compete runs random points and searches on a history.
func compete(ctx context.Context, h *history) (*record, error) {
	temp, err := os.MkdirTemp("", "tune-study-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	s, err := h.load(temp)
	if err != nil {
		return nil, err
	}
	p := search.Plan{Runs: budget, Aim: search.Aim{Others: 0.1}}
	if p.Goal, err = goal.Parse(h.Goal); err != nil {
		return nil, err
	}
	for _, text := range h.Keep {
		b, err := goal.ParseBound(text)
		if err != nil {
			return nil, err
		}
		p.Keep = append(p.Keep, b)
	}
	name := s.Scenario.Schedulers[0]
	file, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if p.Space, err = search.NewSpace(name, file, h.Over); err != nil {
		return nil, err
	}
	if p.History, err = search.Divide(s, nil); err != nil {
		return nil, err
	}
	rec := &record{History: h.Name, Developed: h.Developed, Best: -1}
	d := search.Design{Space: p.Space, Random: randomPoints, Seed: 1}
	sets := make([][]edit.Change, randomPoints)
	for i := range sets {
		sets[i] = d.Changes(i + 1)
	}
	start := time.Now()
	if rec.Random, err = search.Measure(ctx, p, false, sets...); err != nil {
		return nil, err
	}
	rec.Seconds[0] = time.Since(start).Seconds()
	for i, m := range rec.Random {
		if m.Kept && m.Change < 0 && (rec.Best < 0 || m.Change < rec.Random[rec.Best].Change) {
			rec.Best = i
		}
	}
	if rec.Best >= 0 {
		fresh, err := search.Measure(ctx, p, true, sets[rec.Best])
		if err != nil {
			return nil, err
		}
		rec.Fresh = &fresh[0]
	}
	start = time.Now()
	for p.Seed = 1; p.Seed <= seeds; p.Seed++ {
		a, err := search.Search(ctx, p)
		if err != nil {
			return nil, err
		}
		rec.Parts = fmt.Sprintf("searched: %s, in %d replays; validation: %s; confirmation: %s", strings.Join(a.Days, ", "), a.Replays,
			strings.Join(a.Validation, ", "), strings.Join(a.Confirmation, ", "))
		rec.Answers = append(rec.Answers, answer{p.Seed, a.Found, a.Sentence, a.Changes, a.Searched, a.Expected, a.Rejected, a.Refuted, a.Spent})
	}
	rec.Seconds[1] = time.Since(start).Seconds() / seeds
	return rec, nil
}

// words are a record in a line and more, for a terminal.
func (r *record) words() string {
	text := r.History + ": random "
	if r.Best < 0 {
		text += "none"
	} else {
		text += fmt.Sprintf("%+.1f %% (fresh %+.1f %% %v)", 100*r.Random[r.Best].Change, 100*r.Fresh.Change, r.Fresh.Kept)
	}
	text += fmt.Sprintf(", %d of %d keep the bounds; %.0f s, a search %.1f s\n  %s", r.Keep(), len(r.Random), r.Seconds[0], r.Seconds[1], r.Parts)
	for _, a := range r.Answers {
		text += fmt.Sprintf("\n  seed %d: %+.1f %% in the search; %s %s; rejected %v; refuted %v; %.0f runs", a.Seed, 100*a.Searched, a.Sentence, strings.Join(a.Changes, " "), a.Rejected, a.Refuted, a.Runs)
	}
	return text
}
