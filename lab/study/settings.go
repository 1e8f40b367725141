package study

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/experiment"
	"github.com/yardmaster/yardmaster/lab/evidence"
	"github.com/yardmaster/yardmaster/lab/hadoop"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/workload/jobfile"
	"github.com/yardmaster/yardmaster/yarn/edit"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// Settings is a study of changes of settings: two made by hand and one that tune found are predicted, then applied to a real ResourceManager over its
// REST interface, in turn and repeatedly.
type Settings struct {
	Size        SettingsSize
	Repetitions int      // of every arm, besides those already stored
	Only        []string // arms; empty: all
	Dir         string   // of the records; the page is beside it
	Work        string   // of the daemons; "": a temporary folder
	Binary      string   // the program; "": it is built
	Log         io.Writer
}

// SettingsSize is the size of the study.
type SettingsSize struct {
	Seconds        float64 // in which applications arrive
	Nodes, PerNode int     // containers
}

// Sizes of the study and of its miniature.
var (
	SettingsFull = SettingsSize{Seconds: 100, Nodes: 2, PerNode: 15}
	SettingsMini = SettingsSize{Seconds: 25, Nodes: 2, PerNode: 8}
)

const (
	asItIs         = "as it is"
	settingsSeries = "run"
	// clearChange is the smallest change with a direction.
	clearChange = 0.05
)

// tuned is what tune found on the study's own workload.
//
//go:embed tuned.txt
var tuned string

// settingsArm is a change of settings; the first one changes nothing.
type settingsArm struct {
	Name    string
	Changes []edit.Change
}

func (s *Settings) arms() ([]settingsArm, error) {
	arms := []settingsArm{{Name: asItIs}}
	add := func(name, words string) error {
		a := settingsArm{Name: name}
		for word := range strings.FieldsSeq(words) {
			c, err := edit.Parse(word)
			if err != nil {
				return err
			}
			a.Changes = append(a.Changes, c)
		}
		arms = append(arms, a)
		return nil
	}
	err := errors.Join(
		add("room for adhoc", "root.prod.capacity=40 root.batch.capacity=30 root.adhoc.capacity=30 root.adhoc.maximum-capacity=60"),
		add("batch capped", "root.batch.maximum-capacity=40 root.batch.user-limit-factor=1"),
		add("tuned", tuned))
	return arms, err
}

// made is the workload: small applications in adhoc, many of them, and larger ones in prod and batch, at the arrivals of Poisson processes.
func (s SettingsSize) made() []hadoop.Application {
	random := rand.New(rand.NewPCG(7, uint64(s.Nodes*s.PerNode)))
	var apps []hadoop.Application
	for _, q := range []struct {
		name  string
		users []string
		load  float64 // of the cluster
		count [2]int  // containers of an application
		hold  [2]int  // ms
	}{
		{"prod", []string{"etl", "reports"}, 0.40, [2]int{6, 14}, [2]int{3000, 9000}},
		{"batch", []string{"ana", "ben", "cho"}, 0.35, [2]int{8, 24}, [2]int{4000, 12000}},
		{"adhoc", []string{"dee", "eli", "fay", "gus"}, 0.17, [2]int{1, 5}, [2]int{2000, 5000}},
	} {
		work := float64(q.count[0]+q.count[1]) / 2 * float64(q.hold[0]+q.hold[1]) / 2000
		gap := work / (q.load * float64(s.Nodes*s.PerNode))
		for at := gap * random.ExpFloat64(); at < s.Seconds; at += gap * random.ExpFloat64() {
			n := q.count[0] + random.IntN(q.count[1]-q.count[0]+1)
			hold := hadoop.Millis(q.hold[0] + random.IntN(q.hold[1]-q.hold[0]))
			apps = append(apps, hadoop.Application{
				User: q.users[random.IntN(len(q.users))], Queue: "root." + q.name, Submit: hadoop.Millis(1000 * at),
				Containers: []hadoop.Group{{Count: n, MB: 1024, Priority: 1, Hold: hadoop.Holds{hold}}},
			})
		}
	}
	slices.SortStableFunc(apps, func(a, b hadoop.Application) int { return int(a.Submit - b.Submit) })
	for i := range apps {
		apps[i].ID = fmt.Sprintf("app-%03d", i)
	}
	return apps
}

// Record runs the arms in turn, rotated by one in each repetition.
func (s *Settings) Record(ctx context.Context) error {
	arms, err := s.arms()
	if err != nil {
		return err
	}
	names := make([]string, len(arms))
	for i := range arms {
		names[i] = arms[i].Name
	}
	r := rounds{s.Size.Nodes, s.Size.PerNode, queues("settings"), "root.prod", s.Repetitions, names, s.Only, s.Dir, settingsSeries, s.Work, s.Binary, s.Log}
	return r.run(ctx, func(c *hadoop.Cluster, _, arm string) (*SizedRecord, string, error) {
		rec, err := s.one(ctx, c, &arms[slices.Index(names, arm)])
		if err != nil {
			return nil, "", err
		}
		f, err := rec.Elapsed()
		return rec, fmt.Sprintf("mean elapsed: prod %.1f s, batch %.1f s, adhoc %.1f s", f["prod"], f["batch"], f["adhoc"]), err
	})
}

// one applies an arm's changes, runs the workload and takes them back.
func (s *Settings) one(ctx context.Context, c *hadoop.Cluster, a *settingsArm) (_ *SizedRecord, err error) {
	rec, err := newRecord(c, a.Name, s.Size.PerNode, s.Size.made())
	if err != nil {
		return nil, err
	}
	before, err := inForce(ctx, c)
	if err != nil {
		return nil, err
	}
	defer unchanged(ctx, c, before, &err)
	if len(a.Changes) > 0 {
		undo, e := undoing(before, a.Changes)
		if e != nil {
			return nil, e
		}
		if err := mutate(ctx, c, a.Changes); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, mutate(ctx, c, undo)) }()
		for _, x := range a.Changes {
			rec.Changes = append(rec.Changes, x.String())
		}
	}
	return rec, rec.play(ctx, c)
}

// mutate changes settings of the running scheduler, all at once.
func mutate(ctx context.Context, c *hadoop.Cluster, changes []edit.Change) error {
	rm, err := rest.New(rest.Options{RM: c.RMs(), Auth: rest.User(admin), RMRate: -1})
	if err != nil {
		return err
	}
	defer rm.CloseIdle()
	var all rest.SchedulerChange
	for _, x := range changes {
		all.Update = append(all.Update, rest.QueueChange{Queue: x.Queue, Settings: []rest.Setting{{Name: x.Property, Value: x.Value}}})
	}
	_, err = rm.ChangeScheduler(ctx, all)
	return err
}

// undoing are the changes that take others back.
func undoing(file string, changes []edit.Change) ([]edit.Change, error) {
	out := slices.Clone(changes)
	for i, x := range changes {
		was, set, err := edit.Value([]byte(file), x.Queue, x.Property)
		if err != nil || !set {
			return nil, errors.Join(err, fmt.Errorf("%s has no value to put back", x))
		}
		out[i].Value = was
	}
	return out, nil
}

func (r *SizedRecord) ends() map[string]int64 {
	end := map[string]int64{}
	for i := range r.Workload {
		end[r.Workload[i].ID] = int64(r.End[i])
	}
	return end
}

// Elapsed is that of the run.
func (r *SizedRecord) Elapsed() (experiment.Metrics, error) { return r.elapsed(r.ends()) }

// elapsed is the mean elapsed time of each queue's applications, in seconds.
func (r *SizedRecord) elapsed(end map[string]int64) (experiment.Metrics, error) {
	times := map[string][]float64{}
	for _, a := range r.Workload {
		if end[a.ID] < 0 {
			return nil, fmt.Errorf("%s has not ended", a.ID)
		}
		times[short(a.Queue)] = append(times[short(a.Queue)], float64(end[a.ID]-int64(a.Submit))/1000)
	}
	out := experiment.Metrics{}
	for queue, t := range times {
		out[queue] = result.Mean(t).Mean
	}
	return out, nil
}

// settingsFacts are the figures of all arms.
type settingsFacts struct {
	Kept                []evidence.Run
	Records             []*SizedRecord
	Arms, Queues        []string
	Changes             map[string][]string // of each arm
	Measured, Predicted *experiment.Runs
}

func (s *Settings) facts(ctx context.Context) (*settingsFacts, error) {
	f := &settingsFacts{Queues: []string{"prod", "batch", "adhoc"}, Changes: map[string][]string{}}
	var err error
	if f.Kept, f.Records, err = evidence.ReadSeries[SizedRecord](s.Dir, settingsSeries); err != nil {
		return nil, err
	}
	f.Arms, f.Measured, f.Predicted, err = figures(ctx, f.Records, func(ctx context.Context, r *SizedRecord, seed uint64) (experiment.Metrics, error) {
		f.Changes[r.Arm] = r.Changes
		if seed == 0 {
			return r.Elapsed()
		}
		out, err := r.predict(ctx, seed)
		if err != nil {
			return nil, err
		}
		return r.elapsed(out.End)
	})
	return f, err
}

// Change is the relative change of a queue's figure against that of the settings as they are.
func (f *settingsFacts) Change(of *experiment.Runs, arm, queue string) float64 {
	return of.Estimate(arm, queue).Mean/of.Estimate(asItIs, queue).Mean - 1
}

// Off is the predicted change less the measured one.
func (f *settingsFacts) Off(arm, queue string) float64 {
	return f.Change(f.Predicted, arm, queue) - f.Change(f.Measured, arm, queue)
}

// Spread is the cluster's own repeatability: the range of a queue's figures over the repetitions of an arm and of the settings as they are, whichever is
// greater, relative to their mean.
func (f *settingsFacts) Spread(arm, queue string) float64 {
	most := 0.0
	for _, a := range []string{arm, asItIs} {
		v := slices.DeleteFunc(f.Measured.Values(a, queue), math.IsNaN)
		most = max(most, (slices.Max(v)-slices.Min(v))/f.Measured.Estimate(a, queue).Mean)
	}
	return most
}

// Verdict says whether a prediction holds.
func (f *settingsFacts) Verdict(arm, queue string) string {
	is, said := f.Change(f.Measured, arm, queue), f.Change(f.Predicted, arm, queue)
	switch off := math.Abs(f.Off(arm, queue)); {
	case is*said < 0 && max(math.Abs(is), math.Abs(said)) > clearChange && off > f.Spread(arm, queue):
		return "**missed**: the other direction"
	case off > max(tolerance, f.Spread(arm, queue)):
		return "**missed**"
	}
	return "met"
}

// Met counts the predictions that hold, and all.
func (f *settingsFacts) Met() (met, all int) {
	for _, a := range f.Arms {
		for _, q := range f.Queues {
			if a == asItIs {
				continue
			}
			if all++; f.Verdict(a, q) == "met" {
				met++
			}
		}
	}
	return met, all
}

//go:embed settings.md.tmpl
var settingsPage string

// Report writes the page.
func (s *Settings) Report(ctx context.Context) (text, file string, err error) {
	f, err := s.facts(ctx)
	if err != nil {
		return "", "", err
	}
	file = filepath.Clean(s.Dir) + ".md"
	met, all := f.Met()
	r := f.Records[0]
	text, err = evidence.Page(settingsPage, file, map[string]any{
		"F": f, "First": r, "Met": met, "All": all, "Dir": filepath.Base(s.Dir), "Seeds": sizedSeeds, "Tolerance": 100 * tolerance, "Clear": 100 * clearChange,
		"Last": r.Workload[len(r.Workload)-1].Submit.Duration().Seconds(), "Queues": f.Queues, "AsItIs": asItIs,
	}, intervals)
	return text, file, err
}

// Export writes the study's workload, cluster and configuration as a scenario, for tune and compare.
func (s *Settings) Export(dir string) error {
	list, err := jobs(s.Size.made())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, "jobs.parquet"))
	if err != nil {
		return err
	}
	w := jobfile.NewWriter(f, jobfile.NewMeta("yardmaster lab", "the study of settings", nil))
	for _, j := range list {
		err = errors.Join(err, w.Write(j))
	}
	site := hadoop.Properties("", site(s.Size.PerNode<<10, 1024))
	cluster := "nodes:\n"
	for i := range s.Size.Nodes {
		cluster += fmt.Sprintf("  - {name: n%d, rack: r, memory: %dGB, cores: 1024}\n", i+1, s.Size.PerNode)
	}
	scenario := "workload: jobs.parquet\ncluster: cluster.yaml\nscheduler: capacity-scheduler.xml\nyarn:\n  clock: hadoop\n  yarn-site: yarn-site.xml\n"
	err = errors.Join(err, w.Close(), f.Close())
	for name, text := range map[string]string{"capacity-scheduler.xml": queues("settings"), "yarn-site.xml": site, "cluster.yaml": cluster, "scenario.yaml": scenario} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return err
}
