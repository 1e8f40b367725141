package live

import (
	"context"
	_ "embed"
	"fmt"
	"math"
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
	First   *SizedRecord
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

// settingsData are the figures of the page.
func settingsData(ctx context.Context, dir string, runs []evidence.Run, records []*SizedRecord) (map[string]any, template.FuncMap, error) {
	f := &settingsFacts{First: records[0]}
	var err error
	if f.Changes, err = liveChanges(dir, runs, records); err != nil {
		return nil, nil, err
	}
	for i := range settingsArms {
		f.Arms = append(f.Arms, &settingsArms[i])
	}
	earlier, err := newEarlierFacts(ctx, dir)
	return map[string]any{
			"F": f, "Old": earlier, "Seeds": sizedSeeds, "Replays": perturbed, "Tolerance": 100 * tolerance, "Clear": 100 * clearChange, "AsItIs": asItIs,
		}, template.FuncMap{
			"interval": intervals["interval"], "seconds": func(v float64) string { return fmt.Sprintf("%.1f", v) },
			"change": func(e result.Estimate) string {
				return fmt.Sprintf("%+.1f %% (%+.1f to %+.1f)", 100*e.Mean, 100*e.Low, 100*e.High)
			},
		}, err
}
