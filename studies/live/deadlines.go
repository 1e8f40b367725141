package live

import (
	"context"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/harness"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
	"github.com/yardmaster/yardmaster/studies/lab/steerer"
)

// deadlineArms are the ways to run the applications: the queues of each, the first of which takes them, and the settings of its steerer; none: it is not
// steered.
var deadlineArms = []struct {
	name   string
	queues []string
	set    []string
}{
	{"fifo", []string{"root.fifo"}, nil},
	{"priorities", []string{"root.priorities"}, []string{"interval=2s"}},
	{"max", withSlots("max"), []string{"interval=2s"}},
	{"min", withSlots("min"), []string{"interval=2s", "mode=min"}},
}

func withSlots(arm string) []string {
	list := []string{fmt.Sprintf("root.%s.%[1]s-batch", arm)}
	for i := range 5 {
		list = append(list, fmt.Sprintf("root.%s.%[1]s-deadlines.%[1]s-d%d", arm, i+1))
	}
	return list
}

// DeadlineRecord is the record of one run.
type DeadlineRecord struct {
	Hadoop string        `json:"hadoop"`
	At     time.Time     `json:"at"`
	Arms   []DeadlineArm `json:"arms"`
}

// DeadlineArm is what happened in an arm. Times are in seconds after the start of the workload.
type DeadlineArm struct {
	Name     string         `json:"name"`
	Command  []string       `json:"command,omitempty"`
	Apps     []DeadlineApp  `json:"apps"`
	Lines    []DeadlineLine `json:"lines,omitempty"` // of the steerer: decisions and changes
	Restored bool           `json:"restored"`        // the scheduler's configuration is what it was
}

// DeadlineApp is an application.
type DeadlineApp struct {
	ID     string  `json:"id"`
	Submit float64 `json:"submit"`
	Goal   float64 `json:"goal"`
	End    float64 `json:"end"`
}

// Late is its lateness; negative: it ended before its goal.
func (a DeadlineApp) Late() float64 { return a.End - a.Goal }

// DeadlineLine is one event of a steerer.
type DeadlineLine struct {
	At   float64 `json:"at"`
	Kind string  `json:"kind"`
	Knob string  `json:"knob,omitempty"`
	New  string  `json:"new,omitempty"` // its value
	Why  string  `json:"why"`
	Runs []int64 `json:"runs,omitempty"` // of a decision: containers of each application
}

// deadlineApps are the applications of an arm, and their goals: a long one whose tasks grow longer, a regular one and two short ones. Together they keep
// the arm's containers busy for 104 s; deterministic.
func deadlineApps(queue, arm string) (apps []hadoop.Application, goals []hadoop.Millis) {
	r := rand.New(rand.NewPCG(1, 4))
	phases := []float64{3.1, 4.2, 5.6, 9.1}
	for _, j := range []struct {
		id           string
		submit, goal hadoop.Millis // s
		tasks        int
		length       func(i int) float64
	}{
		{"J1", 0, 140, 240, func(i int) float64 { return phases[i/60] }},
		{"J2", 20, 75, 48, func(int) float64 { return 10 }},
		{"J3", 40, 25, 32, func(int) float64 { return 4 }},
		{"J4", 60, 25, 32, func(int) float64 { return 4 }},
	} {
		g := hadoop.Group{Count: j.tasks, MB: 1024, Vcores: 1}
		for i := range j.tasks {
			g.Hold = append(g.Hold, hadoop.Millis(1000*j.length(i)*(0.8+0.4*r.Float64())))
		}
		apps = append(apps, hadoop.Application{
			ID: arm + "-" + j.id, User: "ann", Queue: queue, Submit: 1000 * j.submit, Tags: []string{fmt.Sprintf("goal:%ds", j.goal)}, Containers: []hadoop.Group{g},
		})
		goals = append(goals, 1000*(j.submit+j.goal))
	}
	return apps, goals
}

// Deadlines declares a study that runs four applications with deadlines on real daemons, under FIFO and steered by deadline. All arms run at the same
// time, each in its own quarter of the cluster.
func Deadlines() *harness.Study[DeadlineRecord] {
	h := &harness.Study[DeadlineRecord]{
		Options: harness.Options{Repetitions: 3}, Folder: "deadlines-live", Series: "run", Ext: ".json", Together: true, Command: true,
		Lab: func() hadoop.Options { return fastLab(queues("deadlines"), 4, 20) }, Template: deadlinesPage,
		Facts: func(_ context.Context, runs []evidence.Run, _ []*DeadlineRecord) (map[string]any, template.FuncMap, error) {
			return map[string]any{"Last": runs[len(runs)-1].Number()}, nil, nil
		},
	}
	for _, a := range deadlineArms {
		h.Ways = append(h.Ways, a.name)
	}
	h.Run = func(ctx context.Context, now *harness.Run) (*DeadlineRecord, string, error) {
		rec, err := deadlinesOnce(ctx, now.Cluster, now.Bin, h.Selected())
		if err != nil {
			return nil, "", err
		}
		var b strings.Builder
		for _, a := range rec.Arms {
			fmt.Fprintf(&b, "\n%-10s", a.Name)
			for _, app := range a.Apps {
				fmt.Fprintf(&b, " %s %+.1f s", app.ID, app.Late())
			}
			fmt.Fprintf(&b, "; %d changes, restored %v", a.Count("asked"), a.Restored)
		}
		return rec, b.String(), nil
	}
	return h
}

// deadlinesOnce runs the selected arms at the same time.
func deadlinesOnce(ctx context.Context, c *hadoop.Cluster, bin string, selected []string) (*DeadlineRecord, error) {
	before, err := inForce(ctx, c)
	if err != nil {
		return nil, err
	}
	rec := &DeadlineRecord{Hadoop: c.Version, At: time.Now().UTC().Truncate(time.Second)}
	var all []hadoop.Application
	var goals []hadoop.Millis
	steerers := map[string]*steerer.Process{}
	for _, a := range deadlineArms {
		if !slices.Contains(selected, a.name) {
			continue
		}
		apps, g := deadlineApps(a.queues[0], a.name)
		all, goals = append(all, apps...), append(goals, g...)
		arm := DeadlineArm{Name: a.name}
		if a.set != nil {
			arm.Command = []string{"yarn", "steer", "--policy", "deadline", "--queue", strings.Join(a.queues, ","), "--act", "--per-hour", "3600"}
			for _, pair := range a.set {
				arm.Command = append(arm.Command, "--set", pair)
			}
			p, err := steerer.Start(bin, c.Dir, nil, append(slices.Clone(arm.Command), "--rm", c.RM(), "--user", admin, "--actuator", "rest", "--listen", "off",
				"--log-format", "json", "--journal", filepath.Join(c.Dir, "journal-"+a.name))...)
			if err != nil {
				return nil, err
			}
			defer p.End(p.Guards()...)
			if !p.Await(ctx, time.Minute, 0, "decided") {
				return nil, fmt.Errorf("the steerer of %s does not start: %s", a.name, p.Last())
			}
			steerers[a.name] = p
		}
		rec.Arms = append(rec.Arms, arm)
	}
	slices.SortStableFunc(all, func(a, b hadoop.Application) int { return int(a.Submit - b.Submit) })
	res, err := c.AMs(ctx, all, hadoop.AMsOptions{Heartbeat: 250 * time.Millisecond})
	if err != nil {
		return nil, err
	}
	var wg sync.WaitGroup
	for _, p := range steerers {
		wg.Go(func() { p.Stop(time.Minute) })
	}
	wg.Wait()
	ended, err := succeeded(all, res.Apps)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for i := range rec.Arms {
		arm := &rec.Arms[i]
		for k := range len(goals) / len(rec.Arms) {
			a := ended[fmt.Sprintf("%s-J%d", arm.Name, k+1)]
			names[a.App] = fmt.Sprintf("J%d", k+1)
			arm.Apps = append(arm.Apps, DeadlineApp{
				ID: names[a.App], Submit: float64(a.Submit-res.Zero) / 1000, Goal: float64(goals[k]) / 1000, End: float64(a.End-res.Zero) / 1000,
			})
		}
	}
	for i := range rec.Arms {
		if p := steerers[rec.Arms[i].Name]; p != nil {
			rec.Arms[i].read(p, time.UnixMilli(int64(res.Zero)), names)
		}
	}
	same := proc.Await(ctx, 20*time.Second, time.Second, func() bool {
		after, err := inForce(ctx, c)
		return err == nil && after == before
	})
	for i := range rec.Arms {
		rec.Arms[i].Restored = same
	}
	return rec, nil
}

// read takes the steerer's log, with the applications by their names.
func (a *DeadlineArm) read(p *steerer.Process, zero time.Time, names map[string]string) {
	var pairs []string
	for id, name := range names {
		pairs = append(pairs, id, name)
	}
	short := strings.NewReplacer(append(pairs, "root."+a.Name+"."+a.Name+"-deadlines.", "", "root."+a.Name+".", "")...)
	for _, l := range p.Lines() {
		if l.JSON == nil {
			continue
		}
		line := DeadlineLine{At: float64(l.At.Sub(zero).Milliseconds()) / 1000, Kind: l.Kind(), Knob: short.Replace(l.Field("knob")), New: short.Replace(l.Field("new")), Why: short.Replace(l.Field("why"))}
		if line.Kind == "decided" {
			line.Runs = make([]int64, len(a.Apps))
			for id, name := range names {
				if facts, ok := l.JSON[id].(map[string]any); ok {
					n, _ := facts["runs"].(float64)
					line.Runs[slices.IndexFunc(a.Apps, func(x DeadlineApp) bool { return x.ID == name })] = int64(n)
				}
			}
		}
		a.Lines = append(a.Lines, line)
	}
}

// Missed is how many applications were late.
func (a *DeadlineArm) Missed() (n int) {
	for _, x := range a.Apps {
		if x.Late() > 0 {
			n++
		}
	}
	return n
}

// Changes are the lines without samples that changed nothing.
func (a *DeadlineArm) Changes() []DeadlineLine {
	return slices.DeleteFunc(slices.Clone(a.Lines), func(l DeadlineLine) bool { return l.Kind == "decided" || l.Kind == "taken" })
}

// Held are the containers of each application about every ten seconds.
func (a *DeadlineArm) Held() (list []DeadlineLine) {
	next := 0.0
	for _, l := range a.Lines {
		if l.Kind == "decided" && l.At >= next && slices.Max(l.Runs) > 0 {
			list, next = append(list, l), l.At+9
		}
	}
	return list
}

// Count is how many lines of a kind there are.
func (a *DeadlineArm) Count(kind string) (n int) {
	for _, l := range a.Lines {
		if l.Kind == kind {
			n++
		}
	}
	return n
}

//go:embed deadlines.md.tmpl
var deadlinesPage string
