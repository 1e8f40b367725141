package live

import (
	"context"
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/experiment"
)

// settingsSeries are earlier runs of the study of settings, whose predictions were not recorded: the page recomputes them, and says so.
const settingsSeries = "run"

// tunedArm is a change that tune had found, under the bound that no other queue's elapsed time rises by more than tunedBound.
const (
	tunedArm, tunedQueue = "tuned", "adhoc"
	tunedBound           = 0.10
)

// earlierFacts are the figures of those runs.
type earlierFacts struct {
	*armFigures
	Kept    []evidence.Run
	Records []*SizedRecord
	Queues  []string
	Changes map[string][]string // of each arm
}

// newEarlierFacts reads them; nil if there are none.
func newEarlierFacts(ctx context.Context, dir string) (*earlierFacts, error) {
	f := &earlierFacts{Queues: settingsQueues, Changes: map[string][]string{}}
	var err error
	if f.Kept, f.Records, err = evidence.ReadSeries[SizedRecord](dir, settingsSeries); err != nil || len(f.Records) == 0 {
		return nil, err
	}
	for _, r := range f.Records {
		f.Changes[r.Arm] = r.Changes
	}
	f.armFigures, err = figures(ctx, dir, f.Records, (*SizedRecord).Elapsed, func(r *SizedRecord, ctx context.Context, seed uint64) (experiment.Metrics, error) {
		out, err := r.predict(ctx, seed)
		if err != nil {
			return nil, err
		}
		return r.elapsed(out.End)
	})
	return f, err
}

// Change is the relative change of a queue's figure against that of the settings as they are.
func (f *earlierFacts) Change(of *experiment.Runs, arm, queue string) result.Estimate {
	return of.Relative(asItIs, arm, queue)
}

// Off is the predicted change less the measured one.
func (f *earlierFacts) Off(arm, queue string) float64 {
	return f.Change(f.Predicted, arm, queue).Mean - f.Change(f.Measured, arm, queue).Mean
}

// Verdict says whether a prediction holds. A change that breaks the bound it was found under is missed, however small the error.
func (f *earlierFacts) Verdict(arm, queue string) string {
	is, said := f.Change(f.Measured, arm, queue), f.Change(f.Predicted, arm, queue).Mean
	broken, runs := 0, 0
	for _, v := range f.Measured.Values(arm, queue) {
		if math.IsNaN(v) {
			continue
		}
		if runs++; v/f.Measured.Estimate(asItIs, queue).Mean-1 > tunedBound {
			broken++
		}
	}
	switch {
	case arm == tunedArm && queue != tunedQueue && is.Mean > tunedBound:
		return fmt.Sprintf("%s: above the bound of %+.0f %% in %d of %d runs", missed, 100*tunedBound, broken, runs)
	case is.Mean*said < 0 && (is.Low > clearChange || is.High < -clearChange):
		return string(missed) + ": the other direction"
	}
	return string(judge(said, is))
}
