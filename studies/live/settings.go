package live

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/studies/harness"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/yarn/edit"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// Settings is a study of changes of settings. In each repetition real daemons run unmanaged applications and MapReduce jobs under the present settings.
// From the history of that run the simulator predicts what each change would do; the predictions are stored; then each change is applied over
// the ResourceManager's REST interface, and the same applications run again.
type Settings struct {
	Size      SettingsSize
	histories sync.Map // names of the records of histories, by repetition
}

// SettingsSize is the size of the study.
type SettingsSize struct {
	Seconds        float64 // in which applications arrive
	Nodes, PerNode int     // containers
	Jobs           int     // of MapReduce
}

// Sizes of the study and of its miniature.
var (
	SettingsFull = SettingsSize{Seconds: 85, Nodes: 2, PerNode: 15, Jobs: 4}
	SettingsMini = SettingsSize{Seconds: 8, Nodes: 2, PerNode: 8}
)

const (
	asItIs = "as it is"
	// liveSeries are the runs of the study, and historySeries the histories of those under the settings as they are.
	liveSeries, historySeries = "live", "history"
	// clearChange is the smallest change with a direction.
	clearChange = 0.05
)

// settingsArm is a change of settings; the first one changes nothing.
type settingsArm struct {
	Name    string
	Queue   string // whose elapsed time the change is about
	Changes []edit.Change
}

// Words describe the change; "": there is none.
func (a *settingsArm) Words() string {
	if len(a.Changes) == 0 {
		return ""
	}
	words := make([]string, len(a.Changes))
	for i, c := range a.Changes {
		words[i] = c.String()
	}
	return fmt.Sprintf("%s: `%s`", a.Name, strings.Join(words, " "))
}

var settingsArms = []settingsArm{
	{Name: asItIs},
	newSettingsArm("room for adhoc", "adhoc", "root.prod.capacity=40 root.batch.capacity=30 root.adhoc.capacity=30 root.adhoc.maximum-capacity=60"),
	newSettingsArm("batch capped", "batch", "root.prod.capacity=60 root.batch.capacity=25 root.batch.maximum-capacity=30"),
	newSettingsArm("less for prod", "prod", "root.prod.capacity=30 root.prod.maximum-capacity=45 root.batch.capacity=55"),
}

func newSettingsArm(name, queue, changes string) settingsArm {
	a := settingsArm{Name: name, Queue: queue}
	for word := range strings.FieldsSeq(changes) {
		c, err := edit.Parse(word)
		if err != nil {
			panic("study: " + err.Error()) // a constant of this file
		}
		a.Changes = append(a.Changes, c)
	}
	return a
}

func armIndex(name string) int {
	return slices.IndexFunc(settingsArms, func(a settingsArm) bool { return a.Name == name })
}

// made is the workload: small applications in adhoc, many of them, and larger ones in prod and batch, at the arrivals of Poisson processes.
func (s SettingsSize) made(seed uint64) []hadoop.Application {
	random := rand.New(rand.NewPCG(seed, uint64(s.Nodes*s.PerNode)))
	var apps []hadoop.Application
	for _, q := range []struct {
		name  string
		users []string
		load  float64 // of the cluster
		count [2]int  // containers of an application
		hold  [2]int  // ms
	}{
		{"prod", []string{"etl", "reports"}, 0.40, [2]int{6, 14}, [2]int{3000, 9000}},
		{"batch", []string{"ana", "ben", "cho"}, 0.30, [2]int{8, 24}, [2]int{4000, 12000}},
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

// jobs are the MapReduce jobs beside them: they sleep, so that they take as long on a busy computer.
func (s SettingsSize) jobs() (list []hadoop.Job) {
	for i := range s.Jobs {
		q := [][2]string{{"batch", "ana"}, {"prod", "etl"}, {"adhoc", "dee"}, {"batch", "cho"}}[i%4]
		list = append(list, hadoop.Job{
			ID: fmt.Sprintf("sleep-%d", i+1), Kind: "sleep", User: q[1], Queue: q[0], Submit: hadoop.Millis(1000 * s.Seconds * float64(i) / float64(s.Jobs)),
			Maps: 3, Reduces: i % 2, MapTime: 14_000, ReduceTime: 5000, MapMB: 1024, ReduceMB: 1024, AMMB: 1024,
		})
	}
	return list
}

// Study declares it. In each repetition, which has arrivals of its own, the settings as they are come first; the changes follow in an order that rotates.
func (s *Settings) Study() *harness.Study[SizedRecord] {
	h := &harness.Study[SizedRecord]{
		Options: harness.Options{Repetitions: 5}, Folder: "settings-live", First: asItIs, Key: func(r *SizedRecord) (string, int) { return r.Arm, r.Repetition },
		Lab: func() hadoop.Options {
			o := lab(queues("settings"), s.Size.Nodes, s.Size.PerNode)
			o.History = s.Size.Jobs > 0
			return o
		}, Nice: -10, Command: true, Run: s.run, Series: liveSeries, Template: settingsPage,
	}
	for i := range settingsArms {
		h.Ways = append(h.Ways, settingsArms[i].Name)
	}
	h.Ready = func(ctx context.Context, bench *harness.Bench) error {
		if s.Size == SettingsMini { // it asks only for the direction
			return nil
		}
		return warmUp("root.prod")(ctx, bench)
	}
	h.Facts = func(ctx context.Context, runs []evidence.Run, records []*SizedRecord) (map[string]any, template.FuncMap, error) {
		return settingsData(ctx, h.Dir, runs, records)
	}
	return h
}

func (s *Settings) run(ctx context.Context, now *harness.Run) (*SizedRecord, string, error) {
	rec, err := s.one(ctx, now, &settingsArms[armIndex(now.Way)])
	if err != nil {
		return nil, "", err
	}
	f, err := rec.Elapsed()
	return rec, fmt.Sprintf("mean elapsed: prod %.1f s, batch %.1f s, adhoc %.1f s", f["prod"], f["batch"], f["adhoc"]), err
}

// one runs the workload under an arm. Without changes it stores the history of that run; the others predict from it, store that, apply their changes, run and take
// them back.
func (s *Settings) one(ctx context.Context, now *harness.Run, a *settingsArm) (_ *SizedRecord, err error) {
	c := now.Cluster
	rec, err := newRecord(now, s.Size.made(uint64(now.Repetition)), s.Size.PerNode)
	if err != nil {
		return nil, err
	}
	before, err := inForce(ctx, c)
	if err != nil {
		return nil, err
	}
	defer unchanged(ctx, c, before, &err)
	if len(a.Changes) == 0 {
		rec.Conf = before
		if err = rec.play(ctx, c, s.Size.jobs()); err == nil {
			var history string
			history, err = rec.history(ctx, now)
			s.histories.Store(now.Repetition, history)
		}
		return rec, err
	}
	found, ok := s.histories.Load(now.Repetition)
	if !ok {
		return nil, fmt.Errorf("a change is predicted from the history of the run %q of its repetition, which was not asked for", asItIs)
	}
	p := Prediction{History: found.(string)}
	history := filepath.Join(now.Dir, p.History)
	for _, x := range a.Changes {
		p.Changes = append(p.Changes, x.String())
	}
	if p.AsItIs, err = replays(ctx, history, nil); err == nil {
		p.Replays, err = replays(ctx, history, a.Changes)
	}
	if err == nil {
		rec.Prediction, err = p.keep(now)
	}
	if err != nil {
		return nil, fmt.Errorf("predicting: %w", err)
	}
	undo, err := undoing(before, a.Changes)
	if err != nil {
		return nil, err
	}
	if err := mutate(ctx, c, a.Changes); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, mutate(ctx, c, undo)) }()
	if rec.Conf, err = inForce(ctx, c); err != nil {
		return nil, err
	}
	rec.Changes = p.Changes
	return rec, rec.play(ctx, c, s.Size.jobs())
}

// mutate changes settings of the running scheduler, all at once.
func mutate(ctx context.Context, c *hadoop.Cluster, changes []edit.Change) error {
	rm, err := client(c)
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
	for _, j := range r.Jobs {
		end[j.ID] = int64(j.End)
	}
	return end
}

// Elapsed is that of the run.
func (r *SizedRecord) Elapsed() (experiment.Metrics, error) { return r.elapsed(r.ends()) }

// elapsed is the mean elapsed time of each queue's applications, in seconds.
func (r *SizedRecord) elapsed(end map[string]int64) (experiment.Metrics, error) {
	var all queueTimes
	for _, a := range r.Workload {
		all.add(a.ID, a.Queue, int64(a.Submit), end[a.ID])
	}
	for _, j := range r.Jobs {
		all.add(j.ID, j.Queue, int64(j.Submit), end[j.ID])
	}
	return all.means()
}

// exportSeed draws the arrivals of Export.
const exportSeed = 7

// Export writes the study's workload, cluster and configuration as a scenario, for tune and compare.
func (s *Settings) Export(dir string) error {
	list, err := jobs(s.Size.made(exportSeed))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := writeJobs(filepath.Join(dir, jobsFile), list, "the study of settings"); err != nil {
		return err
	}
	site := hadoop.Properties("", site(s.Size.PerNode<<10, 1024))
	cluster := "nodes:\n"
	for i := range s.Size.Nodes {
		cluster += fmt.Sprintf("  - {name: n%d, rack: r, memory: %dGB, cores: 1024}\n", i+1, s.Size.PerNode)
	}
	scenario := "workload: jobs.parquet\ncluster: cluster.yaml\nscheduler: capacity-scheduler.xml\nyarn:\n  clock: hadoop\n  yarn-site: yarn-site.xml\n"
	for name, text := range map[string]string{"capacity-scheduler.xml": queues("settings"), "yarn-site.xml": site, "cluster.yaml": cluster, "scenario.yaml": scenario} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return err
}
