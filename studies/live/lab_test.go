package live

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/studies/harness"
)

func needLab(t *testing.T) context.Context {
	t.Helper()
	if os.Getenv("YARDMASTER_LAB_TESTS") == "" {
		t.Skip("needs Hadoop and a minute; set YARDMASTER_LAB_TESTS=1")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 12*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// TestLabAMs runs the miniature on real daemons. With the logged instants every decision must be right, or nearly: the log does not
// order a release and a pass in the same millisecond. On a busy computer there are more such races
// than the bar allows, so a run that misses is repeated; no run agrees by chance alone.
func TestLabAMs(t *testing.T) {
	ctx := needLab(t)
	var missed string
	for range 3 {
		if missed = amsOnce(ctx, t); missed == "" {
			return
		}
		t.Log(missed)
	}
	t.Error(missed)
}

// amsOnce returns the misses of one run of the miniature.
func amsOnce(ctx context.Context, t *testing.T) (missed string) {
	t.Helper()
	var log strings.Builder
	h := (&AMs{Size: Mini}).Study()
	h.Options = harness.Options{Repetitions: 1, Dir: t.TempDir(), Log: &log}
	if err := h.Record(ctx); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	_, records, err := h.Records()
	if err != nil {
		t.Fatal(err)
	}
	c, err := compare(ctx, records)
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := h.Report(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s%s", log.String(), text)
	if d := c.ours[instants][0].End; d.Missing > 0 || d.Median > maxError || d.P95 > maxError || d.Within5 < 0.95 {
		return fmt.Sprintf("with the instants of the log: %+v", d)
	}
	if d := c.ours[phases][0].End; d.Missing > 0 || d.MeanAbs > 0.15 {
		return fmt.Sprintf("with the phases of the heartbeats: %+v", d)
	}
	return ""
}

// TestLabMapReduce runs two small jobs, imports and simulates them.
func TestLabMapReduce(t *testing.T) {
	ctx := needLab(t)
	var log strings.Builder
	h := (&MapReduce{Small: true}).Study()
	h.Options = harness.Options{Repetitions: 1, Dir: t.TempDir(), Log: &log}
	if err := h.Record(ctx); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	runs, records, err := h.Records()
	if err != nil {
		t.Fatal(err)
	}
	all, err := mapreduceFactsOf(ctx, runs, records)
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := h.Report(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s%s", log.String(), text)
	f := all[0]
	for _, j := range f.Jobs { // the machine is busy with other tests: only the chain is tested
		if e := off(f.SimA.job[j], f.A.job[j]); math.Abs(e) > 0.5 {
			t.Errorf("%s: simulated %.1f s, measured %.1f s", j, f.SimA.job[j], f.A.job[j])
		}
	}
}

// TestLabSized runs the miniature under FIFO, and under FBQ with a steerer that is killed again and again. The gain must be there; its size is the
// study's matter.
func TestLabSized(t *testing.T) {
	ctx := needLab(t)
	var log strings.Builder
	h := (&Sized{Size: SizedMini, Kills: 4}).Study()
	h.Options = harness.Options{Repetitions: 1, Only: []string{"fifo", "fbq"}, Dir: filepath.Join(t.TempDir(), "sizes"), Log: &log}
	if err := h.Record(ctx); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	runs, records, err := h.Records()
	if err != nil {
		t.Fatal(err)
	}
	f, err := newSizedFacts(ctx, h.Dir, runs, records)
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := h.Report(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s%s", log.String(), text)
	if n := len(f.Kills()); f.Killed[0].Moves == 0 || n != 4 {
		t.Errorf("%d moves, %d kills", f.Killed[0].Moves, n)
	}
	fifo, err := f.Records[0].Figures()
	if err != nil {
		t.Fatal(err)
	}
	fbq, err := f.Killed[0].Figures()
	if err != nil {
		t.Fatal(err)
	}
	if !(fbq["mean"] < fifo["mean"]) {
		t.Errorf("the mean slowdown is %.1f under FIFO, and %.1f under FBQ, with a steerer that is killed", fifo["mean"], fbq["mean"])
	}
}

// TestLabSettings runs the miniature under the settings as they are and with room for adhoc, whose applications must gain, as was said before; how much is the
// study's matter.
func TestLabSettings(t *testing.T) {
	ctx := needLab(t)
	var log strings.Builder
	h := (&Settings{Size: SettingsMini}).Study()
	h.Options = harness.Options{Repetitions: 1, Only: []string{asItIs, "room for adhoc"}, Dir: filepath.Join(t.TempDir(), "settings"), Log: &log}
	if err := h.Record(ctx); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	runs, records, err := h.Records()
	if err != nil {
		t.Fatal(err)
	}
	list, err := liveChanges(h.Dir, runs, records)
	if err != nil {
		t.Fatal(err)
	}
	c := list[slices.IndexFunc(list, func(c *liveChange) bool { return c.Subject })]
	t.Logf("%sadhoc: %+.2f, predicted %+.2f (%+.2f to %+.2f)", log.String(), c.Is(), c.Said, c.Low, c.High)
	if !(c.Is() < -clearChange) || !(c.Said < -clearChange) {
		t.Errorf("the mean elapsed time in adhoc changes by %+.2f, predicted %+.2f: want less time", c.Is(), c.Said)
	}
}

// TestLabWatch runs the miniature: its interval means little, but the watch must pair applications and see a change for the worse.
func TestLabWatch(t *testing.T) {
	ctx := needLab(t)
	var log strings.Builder
	h := (&Watched{Apps: 12}).Study()
	h.Options = harness.Options{Repetitions: 1, Dir: filepath.Join(t.TempDir(), "watch"), Log: &log}
	if err := h.Record(ctx); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	_, list, err := h.Records()
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	r := list[0]
	t.Logf("%s\n%s", log.String(), r.Words)
	// On a busy machine containers are held for longer, so that not all applications have one of the same size before.
	if r.Figure.Apps != 12 || r.Figure.Pairs < 6 || r.Known() < 0.05 || r.Figure.Enough && r.Figure.Change < 0.05 || !strings.Contains(r.Words, r.Figure.Told()) {
		t.Errorf("known %+.3f, %+v", r.Known(), r.Figure)
	}
}

// TestLabSpark runs two small Spark applications, one with dynamic allocation, imports their logs and simulates them.
func TestLabSpark(t *testing.T) {
	ctx := needLab(t)
	var log strings.Builder
	h := (&Spark{Small: true}).Study()
	h.Options = harness.Options{Repetitions: 1, Only: []string{asItIs}, Dir: t.TempDir(), Log: &log}
	if err := h.Record(ctx); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	text, _, err := h.Report(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s%s", log.String(), text)
	_, records, err := h.Records()
	if err != nil || len(records) != 1 {
		t.Fatal(len(records), err)
	}
	r := records[0]
	jobs, err := readJobs(filepath.Join(r.dir, jobsFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs { // from its log, not from totals
		if j.Keep == nil || len(j.Stages) < 3 || (j.Keep.Dynamic != nil) != (j.User == "eva") {
			t.Errorf("%s: %d stages, %+v", j.Name, len(j.Stages), j.Keep)
		}
	}
	for _, a := range r.Apps { // the machine is busy with other tests: only the chain is tested
		s := r.Predicted[asItIs][a.Name]
		if math.Abs(off(s.Elapsed, a.Elapsed)) > 0.5 || math.Abs(off(s.Memory, a.Memory)) > 0.3 {
			t.Errorf("measured %+v, simulated %+v", a, s)
		}
	}
}
