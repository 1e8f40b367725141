package live

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"text/template"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/studies/evidence"
)

//go:embed settings.md.tmpl
var settingsPage string

// settingsFacts are the figures of the page.
type settingsFacts struct {
	Changes []*liveChange
	First   *SizedRecord // nil: nothing was run
	Arms    []*settingsArm
}

// About are the changes of the queues that an arm is about, or of all others.
func (f *settingsFacts) About(subject bool) []*liveChange {
	return slices.DeleteFunc(slices.Clone(f.Changes), func(c *liveChange) bool { return c.Subject != subject })
}

// Count counts the changes whose direction is right, whose size is right, and which are inside their intervals, of the queues that an arm is about or of all others.
func (f *settingsFacts) Count(subject bool) (n struct{ All, Direction, Size, Inside int }) {
	for _, c := range f.About(subject) {
		n.All++
		if !c.Turned() {
			n.Direction++
		}
		if c.Sized() {
			n.Size++
		}
		if c.Inside() {
			n.Inside++
		}
	}
	return n
}

// Replayed are the relative errors of replays of the histories as they were.
func (f *settingsFacts) Replayed() (list []float64) {
	for _, c := range f.Changes {
		list = append(list, math.Abs(c.Replayed/c.Before-1))
	}
	return list
}

// Report writes the page.
func (s *Settings) Report(ctx context.Context) (text, file string, err error) {
	f := &settingsFacts{}
	if f.Changes, f.First, err = s.live(); err != nil {
		return "", "", err
	}
	arms, err := settingsArms()
	if err != nil {
		return "", "", err
	}
	for i := range arms {
		f.Arms = append(f.Arms, &arms[i])
	}
	earlier, err := s.earlier(ctx)
	if err != nil {
		return "", "", err
	}
	if f.First == nil && earlier == nil {
		return "", "", errors.New("there are no records; run the study without --offline first")
	}
	file = filepath.Clean(s.Dir) + ".md"
	text, err = evidence.Page(settingsPage, file, map[string]any{
		"F": f, "Old": earlier, "Dir": filepath.Base(s.Dir), "Seeds": sizedSeeds, "Replays": perturbed, "Tolerance": 100 * tolerance, "Clear": 100 * clearChange, "AsItIs": asItIs,
	}, template.FuncMap{
		"interval": intervals["interval"], "seconds": func(v float64) string { return fmt.Sprintf("%.1f", v) },
		"change": func(e result.Estimate) string {
			return fmt.Sprintf("%+.1f %% (%+.1f to %+.1f)", 100*e.Mean, 100*e.Low, 100*e.High)
		},
	})
	return text, file, err
}
