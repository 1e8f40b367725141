package live

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"text/template"
	"time"

	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/harness"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/host"
	"github.com/yardmaster/yardmaster/whatif/watch"
	"github.com/yardmaster/yardmaster/yarn/edit"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// Watched lets `yarn apply` watch a change whose effect is known: the same applications run at the same time in a queue that is not changed and has room for
// them. What the watch has to compare with is another mix of small and large ones. They come one after the other, so that none waits for another: a mix with
// more large ones would otherwise be another load, too, and its effect that of the load.
type Watched struct {
	Apps int // before the change, and since
}

//go:embed watched.md.tmpl
var watchedPage string

// WatchedRecord is one repetition.
type WatchedRecord struct {
	Hadoop  string       `json:"hadoop"`
	Change  string       `json:"change"`
	Control float64      `json:"control_s"` // mean elapsed time of the applications without the change
	Since   float64      `json:"since_s"`   // and of the same ones with it
	Figure  watch.Figure `json:"figure"`    // what the watch reported
	Words   string       `json:"words"`     // what the command printed
}

// Known is the effect of the change on the applications that came after it.
func (r *WatchedRecord) Known() float64 { return r.Since/r.Control - 1 }

// Naive is what a comparison of all applications before and since says.
func (r *WatchedRecord) Naive() float64 { return r.Since/r.Figure.Plain - 1 }

// Covered says whether the interval holds the known effect.
func (r *WatchedRecord) Covered() bool {
	return r.Figure.Enough && r.Figure.Low <= r.Known() && r.Known() <= r.Figure.High
}

var watchedChange = edit.Change{Queue: "root.adhoc", Property: "maximum-capacity", Value: "25"}

func watchedQueues() string { return queues("a", "at once") }

// watchedApps are small and large applications of a user, in turn: one large of every so many. A large one needs two rounds under the changed settings.
func watchedApps(n, every int, user, queue string) (apps []hadoop.Application) {
	at := hadoop.Millis(0)
	for i := range n {
		a := hadoop.Application{ID: fmt.Sprintf("%s-small-%d", user, i), User: user, Queue: queue, Submit: at,
			Containers: []hadoop.Group{{Count: 1, MB: 1024, Priority: 1, Hold: hadoop.Holds{hadoop.Millis(600 + i*7919%200)}}}}
		at += 2500
		if i%every == every-1 {
			a.ID = fmt.Sprintf("%s-large-%d", user, i)
			a.Containers[0] = hadoop.Group{Count: 12, MB: 1024, Priority: 1, Hold: hadoop.Holds{hadoop.Millis(3000 + i*7919%200)}}
			at += 5000
		}
		apps = append(apps, a)
	}
	return apps
}

// Study declares it.
func (s *Watched) Study() *harness.Study[WatchedRecord] {
	return &harness.Study[WatchedRecord]{
		Options: harness.Options{Repetitions: 5}, Folder: "watch-live", Series: "watch", Command: true, Ready: warmUp(""), Template: watchedPage,
		Lab: func() hadoop.Options {
			o := fastLab(watchedQueues(), 2, 12)
			o.Site["yarn.resourcemanager.nodemanagers.heartbeat-interval-ms"] = "250"
			return o
		},
		Run: func(ctx context.Context, now *harness.Run) (*WatchedRecord, string, error) {
			rec, err := s.one(ctx, now.Cluster, now.Bin, fmt.Sprintf("%c", 'a'+now.Repetition-1))
			if err != nil {
				return nil, "", err
			}
			return rec, fmt.Sprintf("known %+.1f %%, reported %+.1f %% (%+.1f to %+.1f) of %d pairs, all against all %+.1f %%",
				100*rec.Known(), 100*rec.Figure.Change, 100*rec.Figure.Low, 100*rec.Figure.High, rec.Figure.Pairs, 100*rec.Naive()), nil
		},
		Facts: func(_ context.Context, _ []evidence.Run, list []*WatchedRecord) (map[string]any, template.FuncMap, error) {
			covered := 0
			for _, r := range list {
				if r.Covered() {
					covered++
				}
			}
			return map[string]any{"Covered": covered, "Last": list[len(list)-1]}, nil, nil
		},
	}
}

// one is a repetition; its users are no others'.
func (s *Watched) one(ctx context.Context, c *hadoop.Cluster, bin, name string) (*WatchedRecord, error) {
	o := hadoop.AMsOptions{Heartbeat: 250 * time.Millisecond, Threads: 64, HeapMB: 256}
	if _, err := c.AMs(ctx, watchedApps(s.Apps, 4, "user-"+name, "root.adhoc"), o); err != nil {
		return nil, err
	}
	rec := &WatchedRecord{Change: edit.Words([]edit.Change{watchedChange})}
	rm, err := client(c)
	if err != nil {
		return nil, err
	}
	defer rm.CloseIdle()
	info, err := rm.Info(ctx)
	if err != nil {
		return nil, err
	}
	rec.Hadoop = info.HadoopVersion
	undo, err := undoing(watchedQueues(), []edit.Change{watchedChange})
	if err != nil {
		return nil, err
	}
	journal, forget, err := host.Folder("", "journal")
	if err != nil {
		return nil, err
	}
	defer forget()
	var said bytes.Buffer
	apply := exec.CommandContext(ctx, bin, "yarn", "apply", "--rm", c.RM(), "--user", admin, "--journal", filepath.Join(journal, "j"), "--goal", "mean elapsed of root.adhoc",
		"--watch", fmt.Sprintf("%ds", 5*s.Apps+15), "--act", rec.Change)
	apply.Stdout, apply.Stderr = &said, &said
	if err := apply.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- apply.Wait() }()
	err = hadoop.Poll(ctx, 2*time.Minute, "waiting for the change", func() (stop bool, err error) {
		p, err := rm.SchedulerConf(ctx)
		if err != nil {
			return false, err
		}
		if x := p.Get("yarn.scheduler.capacity.root.adhoc.maximum-capacity"); x == nil || x.Value != watchedChange.Value {
			return false, errors.New("it is not made yet")
		}
		return true, nil
	})
	if err != nil {
		return nil, errors.Join(err, ctx.Err(), errors.New(said.String()))
	}
	since, control := watchedApps(s.Apps, 2, "user-"+name, "root.adhoc"), watchedApps(s.Apps, 2, "control-"+name, "root.batch")
	for i := range since {
		since[i].ID += "000" // another run of the same
	}
	both := slices.Concat(since, control)
	slices.SortStableFunc(both, func(a, b hadoop.Application) int { return cmp.Compare(a.Submit, b.Submit) })
	_, err = c.AMs(ctx, both, o)
	if err = errors.Join(err, <-ended); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, said.String())
	}
	if rec.Since, err = meanElapsed(ctx, rm, since); err != nil {
		return nil, err
	}
	if rec.Control, err = meanElapsed(ctx, rm, control); err != nil {
		return nil, err
	}
	rec.Words = said.String()
	if err := mutate(ctx, c, undo); err != nil {
		return nil, err
	}
	return rec, rec.read(filepath.Join(journal, "j", "applied.jsonl"))
}

// read reads what the watch recorded.
func (r *WatchedRecord) read(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	var last struct {
		Figures []watch.Figure `json:"figures"`
	}
	if err := json.Unmarshal(lines[len(lines)-1], &last); err != nil {
		return err
	}
	if len(last.Figures) != 1 {
		return fmt.Errorf("%s has %d figures", file, len(last.Figures))
	}
	r.Figure = last.Figures[0]
	return nil
}

// meanElapsed is the mean time from submission to end of applications by their names, in seconds, as the ResourceManager shows it: by the same clock as the watch.
func meanElapsed(ctx context.Context, rm *rest.Client, apps []hadoop.Application) (float64, error) {
	names := map[string]bool{}
	for i := range apps {
		names[apps[i].ID] = true
	}
	sum, n := 0.0, 0
	for a, err := range rm.Apps(ctx, rest.AppFilter{States: []string{"FINISHED"}}) {
		if err != nil {
			return 0, err
		}
		if names[a.Name] && a.FinalStatus == "SUCCEEDED" {
			sum, n = sum+float64(a.FinishedTime-a.StartedTime)/1000, n+1
		}
	}
	if n != len(apps) {
		return 0, fmt.Errorf("%d of %d applications have succeeded", n, len(apps))
	}
	return sum / float64(n), nil
}
