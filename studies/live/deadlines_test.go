package live

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/studies/harness"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/host"
	"github.com/yardmaster/yardmaster/studies/lab/steerer"
)

// TestLabDeadlines runs the four applications on real daemons: the max-scheduler meets what first in, first out misses, and leaves no trace. The
// computer is busy with other tests, so a run in which an application is late is repeated.
func TestLabDeadlines(t *testing.T) {
	ctx := needLab(t)
	h := Deadlines()
	h.Options = harness.Options{Repetitions: 1, Only: []string{"fifo", "max"}, Dir: t.TempDir()}
	for try := 1; ; try++ {
		var log strings.Builder
		h.Log = &log
		err := h.Record(ctx)
		t.Log(log.String())
		if err != nil {
			t.Fatal(err)
		}
		_, list, err := h.Records()
		if err != nil {
			t.Fatal(err)
		}
		arms := list[len(list)-1].Arms
		for i := range arms {
			a := &arms[i]
			for _, l := range a.Lines {
				t.Logf("%s %6.1f %s %s %s", a.Name, l.At, l.Kind, l.Knob, l.Why)
			}
			if !a.Restored {
				t.Errorf("%s: the configuration is not what it was", a.Name)
			}
		}
		late := 0.0
		for _, app := range arms[1].Apps {
			late = max(late, app.Late())
		}
		if late <= 2 && arms[0].Missed() > arms[1].Missed() {
			return
		}
		t.Logf("try %d: max mode is up to %.1f s late and misses %d, first in, first out %d", try, late, arms[1].Missed(), arms[0].Missed())
		if try == 3 {
			t.Fatal("no run was in time")
		}
	}
}

// TestLabGoalTags has eight applications of one user claim a goal of a second: under a steerer with its defaults they cost others no more than without the tags.
// Both ways run at the same time, each in its own quarter of the cluster. A run that a busy computer has disturbed is repeated.
func TestLabGoalTags(t *testing.T) {
	ctx := needLab(t)
	bin, remove, err := host.Program(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	c, down, err := hadoop.UpIn(ctx, "", Deadlines().Lab())
	if err != nil {
		t.Fatal(err)
	}
	defer down()
	arms := map[string][]string{"max": nil, "min": {"goal:1s"}} // quarters with slots, and eve's tags
	for try := 1; ; try++ {
		var all []hadoop.Application
		for arm, tags := range arms {
			app := func(id, user string, submit hadoop.Millis, tasks int, length hadoop.Millis, tags ...string) {
				g := hadoop.Group{Count: tasks, MB: 1024, Vcores: 1, Hold: slices.Repeat([]hadoop.Millis{length}, tasks)}
				all = append(all, hadoop.Application{ID: arm + "-" + id, User: user, Queue: withSlots(arm)[0], Submit: submit, Tags: tags, Containers: []hadoop.Group{g}})
			}
			app("ann", "ann", 3000, 40, 5000, "goal:60s")
			app("bob", "bob", 4000, 20, 5000)
			for i := range 8 {
				app(fmt.Sprint("eve", i), "eve", 0, 15, 4000, tags...)
			}
		}
		slices.SortStableFunc(all, func(a, b hadoop.Application) int { return int(a.Submit - b.Submit) })
		var steerers []*steerer.Process
		for arm := range arms {
			p, err := steerer.Start(bin, c.Dir, nil, "yarn", "steer", "--policy", "deadline", "--queue", strings.Join(withSlots(arm), ","), "--act", "--per-hour", "3600",
				"--set", "interval=2s", "--rm", c.RM(), "--user", admin, "--actuator", "rest", "--listen", "off", "--log-format", "json",
				"--journal", filepath.Join(c.Dir, fmt.Sprint("tags-", arm, try)))
			if err != nil {
				t.Fatal(err)
			}
			defer p.End(p.Guards()...)
			if !p.Await(ctx, time.Minute, 0, "decided") {
				t.Fatalf("the steerer of %s does not start: %s", arm, p.Last())
			}
			steerers = append(steerers, p)
		}
		res, err := c.AMs(ctx, all, hadoop.AMsOptions{Heartbeat: 250 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range steerers {
			p.Stop(time.Minute)
		}
		ended, err := succeeded(all, res.Apps)
		if err != nil {
			t.Fatal(err)
		}
		took := func(id string) float64 { return float64(ended[id].End-ended[id].Submit) / 1000 }
		held := true
		for _, user := range []string{"ann", "bob"} {
			plain, tagged := took("max-"+user), took("min-"+user)
			t.Logf("try %d: %s takes %.1f s beside eve's applications without tags, %.1f s beside those with a goal of a second", try, user, plain, tagged)
			held = held && tagged <= 1.2*plain+2
		}
		if held {
			return
		}
		if try == 3 {
			t.Fatal("the tags cost others more than the applications without them")
		}
	}
}

// The pages are what their records give.
func TestLivePages(t *testing.T) {
	dir, copied := filepath.Join("..", "..", "docs", "studies"), t.TempDir()
	deadlines, sizes, settings, eta, watch := Deadlines(), new(Sized).Study(), new(Settings).Study(), new(ETA).Study(), new(Watched).Study()
	for _, study := range []struct {
		folder string
		*harness.Options
		report func(context.Context) (string, string, error)
	}{
		{deadlines.Folder, &deadlines.Options, deadlines.Report}, {sizes.Folder, &sizes.Options, sizes.Report}, {settings.Folder, &settings.Options, settings.Report},
		{eta.Folder, &eta.Options, eta.Report}, {watch.Folder, &watch.Options, watch.Report},
	} {
		study.Dir = filepath.Join(copied, study.folder)
		if err := os.CopyFS(study.Dir, os.DirFS(filepath.Join(dir, study.folder))); err != nil { // pages and pictures are written
			t.Fatal(err)
		}
		text, _, err := study.report(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, study.folder+".md")
		if want, err := os.ReadFile(file); err != nil || string(want) != text {
			t.Errorf("%s is not what its records give (%v): go run ./studies, with --offline", file, err)
		}
	}
}
