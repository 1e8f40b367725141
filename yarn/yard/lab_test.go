package yard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop/ha"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/rest"
	"github.com/yardmaster/yardmaster/yarn/yard"
)

// capacityXML has a queue in which one user may have all.
const capacityXML = `<?xml version="1.0"?>
<!-- a queue and another -->
<configuration>
  <property><name>yarn.scheduler.capacity.root.queues</name><value>batch,other</value></property>
  <property><name>yarn.scheduler.capacity.maximum-am-resource-percent</name><value>0.5</value></property>
  <property><name>yarn.scheduler.capacity.root.batch.capacity</name><value>60</value></property>
  <property><name>yarn.scheduler.capacity.root.batch.user-limit-factor</name><value>10</value></property>
  <property><name>yarn.scheduler.capacity.root.other.capacity</name><value>40</value></property>
</configuration>
`

// bench is a lab with a client.
type bench struct {
	*testing.T
	lab *hadoop.Cluster
	c   *rest.Client
	y   *yard.Yard
}

func up(t *testing.T, o hadoop.Options) *bench {
	t.Helper()
	if os.Getenv("YARDMASTER_LAB_TESTS") == "" {
		t.Skip("YARDMASTER_LAB_TESTS is not set")
	}
	o.Dir, o.Nodes = filepath.Join(t.TempDir(), "run"), 1
	began := time.Now()
	lab, err := hadoop.Up(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lab.Down(); err != nil {
			t.Error(err)
		}
	})
	t.Logf("Hadoop %s, %s: up in %.1f s", lab.Version, lab.Scheduler, time.Since(began).Seconds())
	c, err := rest.New(rest.Options{RM: []string{lab.RM()}, Auth: rest.User("yardmaster"), RMRate: 100, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdle)
	return &bench{T: t, lab: lab, c: c}
}

func (b *bench) open(o yard.Options) {
	b.Helper()
	o.Client = b.c
	if o.Queues == nil {
		o.Queues = []string{"batch"}
	}
	var err error
	if b.y, err = yard.New(b.Context(), o); err != nil {
		b.Fatal(err)
	}
	if err := b.y.CanAct(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Logf("%s: %s", b.y.Identity(), strings.Join(b.y.Notes(), "; "))
}

// submit starts applications of which only an AM of the size runs.
func (b *bench) submit(n, mb int) {
	b.Helper()
	for range n {
		res, err := b.c.Post(b.Context(), "make an application", "/ws/v1/cluster/apps/new-application", "application/json", nil)
		if err != nil {
			b.Fatal(err)
		}
		var id struct {
			ID string `json:"application-id"`
		}
		if err := json.Unmarshal([]byte(res.Answer), &id); err != nil {
			b.Fatal(err)
		}
		body, err := json.Marshal(map[string]any{
			"application-id": id.ID, "application-name": "master", "queue": "batch", "application-type": "YARN", "max-app-attempts": 1,
			"am-container-spec": map[string]any{"commands": map[string]string{"command": "sleep 600"}}, "resource": map[string]int{"memory": mb, "vCores": 1},
		})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := b.c.Post(b.Context(), "submit", "/ws/v1/cluster/apps", "application/json", body); err != nil {
			b.Fatal(err)
		}
	}
}

// seen waits until so many run and wait.
func (b *bench) seen(running, waiting int) steer.Snapshot {
	b.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		s, err := b.y.Snapshot(b.Context())
		started := 0
		for _, j := range s.Jobs {
			if j.Started {
				started++
			}
		}
		if err == nil && b.queue(&s).Running == running && b.queue(&s).Waiting == waiting && started == running {
			if len(s.Jobs) != running+waiting {
				b.Errorf("%d jobs are listed", len(s.Jobs))
			}
			return s
		}
		if time.Now().After(end) {
			b.Fatalf("want %d running and %d waiting: %v %+v", running, waiting, err, s)
		}
	}
}

// queue is the queue to which applications are submitted.
func (b *bench) queue(s *steer.Snapshot) *steer.Queue {
	for i := range s.Queues {
		if s.Queues[i].Name == "root.batch" {
			return &s.Queues[i]
		}
	}
	return &steer.Queue{}
}

// write changes the knob and waits until it is in force.
func (b *bench) write(v drive.Value) time.Duration {
	b.Helper()
	k := b.y.Knob()
	began := time.Now()
	if err := b.y.Write(b.Context(), k, v); err != nil {
		b.Fatal(err)
	}
	wrote := time.Now()
	for {
		in, err := b.y.InForce(b.Context(), k, v)
		if err != nil {
			b.Fatal(err)
		}
		if in {
			break
		}
		if time.Since(wrote) > 30*time.Second {
			b.Fatalf("%v is not in force after %v", v, time.Since(wrote))
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.Logf("%v: write %.3f s, in force %.3f s later", v, wrote.Sub(began).Seconds(), time.Since(wrote).Seconds())
	if got, err := b.y.Read(b.Context(), k); err != nil || got != v {
		b.Errorf("read back: %+v %v, want %+v", got, err, v)
	}
	return time.Since(wrote)
}

func (b *bench) found() drive.Value {
	b.Helper()
	v, err := b.y.Read(b.Context(), b.y.Knob())
	if err != nil {
		b.Fatal(err)
	}
	return v
}

func (b *bench) settings() string {
	b.Helper()
	p, err := b.c.SchedulerConf(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	var all []string
	for _, x := range p.List {
		all = append(all, x.Name+"="+x.Value)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// The real ResourceManager in all three ways: the knob is turned, AMs start, the setting goes out again and all is as it was.
func TestLabYard(t *testing.T) {
	for _, version := range []string{"3.4.2", "3.5.0"} {
		t.Run("REST "+version, func(t *testing.T) { labREST(t, version) })
	}
	t.Run("jobs and properties", labKnobs)
	t.Run("capacity-scheduler.xml", labCapacityFile)
	t.Run("fair-scheduler.xml", labFairFile)
	t.Run("the store fails", labStore)
	t.Run("two ResourceManagers", labPair)
}

func labREST(t *testing.T, version string) {
	b := up(t, hadoop.Options{Version: version, SchedulerXML: capacityXML})
	b.open(yard.Options{CPU: "host"})
	if b.y.Limit() != amlimit.Capacity || b.y.MinAllocation().Mem != 128 {
		t.Error(b.y.Limit(), b.y.MinAllocation())
	}
	before, found := b.settings(), b.found()
	if found.Set || found.Number != 0.5 {
		t.Error(found)
	}
	b.submit(6, 1024)
	s := b.seen(4, 2)
	q := b.queue(&s)
	if q.AMShare != 0.5 || q.AMs.Mem != 4096 || q.Capacity.Mem != 8192 || s.CPUIdle < 0 || s.CPUIdle > 1 || s.Nodes != 1 {
		t.Errorf("%+v", s)
	}
	marked := b.y.Value(b.y.Knob(), 0.625)
	marked.Mark = "machine:/a folder/of the journal; and more"
	took := b.write(marked)
	if took > time.Second {
		t.Error("not at once")
	}
	if got := b.found(); got.Mark != marked.Mark {
		t.Errorf("marked %q", got.Mark)
	}
	b.seen(5, 1)
	b.write(b.y.Value(b.y.Knob(), 0.0625)) // what runs stays
	if s := b.seen(5, 1); b.queue(&s).AMShare != 0.0625 {
		t.Error(b.queue(&s).AMShare)
	}
	b.write(b.y.Value(b.y.Knob(), 0.00333))
	if s := b.seen(5, 1); b.queue(&s).AMShare != 0.00333 {
		t.Error(b.queue(&s).AMShare)
	}
	b.write(found)
	if after := b.settings(); after != before {
		t.Errorf("settings differ:\n%s\n\n%s", before, after)
	}
	stranger, err := rest.New(rest.Options{RM: []string{b.lab.RM()}, Auth: rest.User("mallory"), RMRate: -1})
	if err != nil {
		t.Fatal(err)
	}
	y, err := yard.New(t.Context(), yard.Options{Client: stranger, Queues: []string{"root.batch"}, CPU: "rm"})
	if err != nil {
		t.Fatal(err)
	}
	if err := y.CanAct(t.Context()); err == nil {
		t.Error("a stranger may act")
	} else {
		t.Log(err)
	}
	err = y.Write(t.Context(), y.Knob(), y.Value(y.Knob(), 0.3))
	if err == nil || errorsIsFate(err) {
		t.Error(err)
	} else {
		t.Log(err)
	}
	if s, err := y.Snapshot(t.Context()); err != nil || s.CPUIdle < 0 || s.CPUIdle > 1 {
		t.Error(s.CPUIdle, err)
	}
	err = b.y.Write(t.Context(), b.y.Knob(), drive.Value{Text: "much", Set: true, Number: 0.3})
	if err == nil || errorsIsFate(err) || b.settings() != before {
		t.Error(err)
	} else {
		t.Log(err)
	}
}

// labStore has a ResourceManager's store fail when the change is in force already, as it may while the ResourceManager stops: the answer is 400, and the
// change was made.
func labStore(t *testing.T) {
	b := up(t, hadoop.Options{ConfStore: "fs", SchedulerXML: capacityXML})
	b.open(yard.Options{CPU: "host"})
	found := b.found()
	first, second := b.y.Value(b.y.Knob(), 0.3), b.y.Value(b.y.Knob(), 0.4)
	second.Mark = "machine:/journal"
	b.write(first)
	counted := filepath.Join(filepath.Dir(b.lab.Conf()), "confstore-fs", "ConfigVersion")
	if err := errors.Join(os.Rename(counted, counted+".away"), os.Mkdir(counted, 0o755)); err != nil {
		t.Fatal(err)
	}
	err := b.y.Write(t.Context(), b.y.Knob(), second)
	var refused *rest.StatusError
	if !errors.As(err, &refused) || refused.Status != 400 || !errorsIsFate(err) {
		t.Error(err)
	} else {
		t.Log(err)
	}
	if v := b.found(); v.Text != second.Text || v.Mark != second.Mark {
		t.Error("not made:", v)
	}
	if err := errors.Join(os.Remove(counted), os.Rename(counted+".away", counted)); err != nil {
		t.Fatal(err)
	}
	bad := rest.SchedulerChange{Update: []rest.QueueChange{{Queue: "root.batch", Settings: []rest.Setting{{Name: "capacity", Value: "99"}}}}}
	if _, err := b.c.ChangeScheduler(t.Context(), bad); err == nil || errors.As(err, new(*rest.OutcomeUnknownError)) {
		t.Error("refused by the scheduler:", err)
	} else {
		t.Log(err)
	}
	b.write(found)
}

func labCapacityFile(t *testing.T) {
	b := up(t, hadoop.Options{ConfStore: "file", SchedulerXML: capacityXML})
	cmd := b.lab.Java(t.Context(), 64, "org.apache.hadoop.yarn.client.cli.RMAdminCLI", "-refreshQueues")
	file := filepath.Join(b.lab.Conf(), "capacity-scheduler.xml")
	refresh := []string{"env"}
	for _, v := range cmd.Env {
		if strings.HasPrefix(v, "HADOOP_") || strings.HasPrefix(v, "JAVA_HOME") || strings.HasPrefix(v, "YARDMASTER_") {
			refresh = append(refresh, v)
		}
	}
	refresh = append(refresh, cmd.Args...)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b.open(yard.Options{CPU: "rm:cores=2", File: file, Refresh: refresh})
	found := b.found()
	b.submit(6, 1024)
	b.seen(4, 2)
	b.write(b.y.Value(b.y.Knob(), 0.625))
	b.seen(5, 1)
	b.open(yard.Options{File: file, Refresh: []string{"sh", "-c", "echo no rights >&2; exit 1"}})
	changed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.y.Write(t.Context(), b.y.Knob(), b.y.Value(b.y.Knob(), 0.3)); err == nil || errorsIsFate(err) || !strings.Contains(err.Error(), "no rights") {
		t.Error(err)
	} else {
		t.Log(err)
	}
	if now, err := os.ReadFile(file); err != nil || string(now) != string(changed) {
		t.Error("a change that was not taken over stayed in the file:", err)
	}
	b.open(yard.Options{File: file, Refresh: refresh})
	b.write(found)
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("%v: the file is not as it was:\n%s", err, after)
	}
}

func labFairFile(t *testing.T) {
	b := up(t, hadoop.Options{Scheduler: "fair"})
	file := filepath.Join(b.lab.Conf(), "fair-scheduler.xml")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	unnamed, err := yard.New(t.Context(), yard.Options{Client: b.c, Queues: []string{"batch"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := unnamed.CanAct(t.Context()); err == nil || !strings.Contains(err.Error(), "confirm it with --file "+file) {
		t.Error(err)
	}
	b.open(yard.Options{CPU: "host:nice-idle", File: file})
	if b.y.Limit() != amlimit.Fair || b.y.Spacing(b.y.Knob()) != 5*time.Second {
		t.Error(b.y.Limit())
	}
	found := b.found()
	b.submit(6, 1024)
	s := b.seen(4, 2)
	if q := b.queue(&s); q.AMShare != 0.5 || q.AMs.Mem != 4096 || q.Capacity.Mem != 8192 {
		t.Errorf("%+v", q)
	}
	var all []string
	for i, share := range []float64{0.625, 0.0625, 0.3} {
		took := b.write(b.y.Value(b.y.Knob(), share))
		all = append(all, fmt.Sprintf("%.1f s", took.Seconds()))
		s := b.seen(5, 1)
		if q := b.queue(&s); q.AMShare != share {
			t.Errorf("write %d: %+v", i, q)
		}
		if took < 4*time.Second || took > 17*time.Second {
			t.Errorf("in force after %v", took)
		}
	}
	t.Log("in force after", strings.Join(all, ", "))
	b.write(found)
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("%v: the file is not as it was:\n%s", err, after)
	}
}

func errorsIsFate(err error) bool { return errors.Is(err, drive.ErrOutcomeUnknown) }

// The settings are in ZooKeeper and outlive the one that took them; while the nodes are on their way to the other one nothing is seen.
func labPair(t *testing.T) {
	if os.Getenv("YARDMASTER_LAB_TESTS") == "" {
		t.Skip("YARDMASTER_LAB_TESTS is not set")
	}
	lab, err := ha.Up(t.Context(), filepath.Join(t.TempDir(), "run"), ha.Options{Pause: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lab.Down(); err != nil {
			t.Error(err)
		}
	})
	c, err := rest.New(rest.Options{RM: lab.RMs(), Auth: rest.User(ha.Admin), RMRate: -1, Timeout: 5 * time.Second, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, c: c}
	b.open(yard.Options{})
	id := b.y.Identity()
	if !strings.HasPrefix(id, "yarn:pair,") || strings.Count(id, ",") != 2 || !strings.HasSuffix(id, "/root.batch") {
		t.Error(id)
	}
	before, found := b.settings(), b.found()
	b.write(b.y.Value(b.y.Knob(), 0.125))
	if s, err := b.y.Snapshot(t.Context()); err != nil || s.Nodes != 1 {
		t.Fatal(s.Nodes, err)
	}
	active, _, err := lab.Roles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := lab.Kill(active); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	blind := map[string]int{}
	for {
		s, err := b.y.Snapshot(t.Context())
		if err == nil {
			if s.Nodes != 1 || b.queue(&s).AMShare != 0.125 {
				t.Errorf("%+v", s)
			}
			break
		}
		what := err.Error()
		if !strings.Contains(what, "no node is up") {
			what = "another reason"
		}
		if blind[what]++; time.Since(began) > 2*time.Minute {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Logf("%s was killed: seen again after %.1f s; in between: %v", active, time.Since(began).Seconds(), blind)
	b.write(found)
	if after := b.settings(); after != before {
		t.Errorf("settings differ:\n%s\n\n%s", before, after)
	}
}

// script is a policy that does what is written, by the number of the sample. A job "*" is the first one that it saw.
type script struct {
	do map[int][]steer.Action
	n  int
	id string
}

func (p *script) Step(seen *steer.Snapshot) (do []steer.Action, again unit.Time) {
	p.n++
	for _, a := range p.do[p.n] {
		if p.id == "" && len(seen.Jobs) > 0 {
			p.id = seen.Jobs[0].ID
		}
		if a.Job == "*" {
			a.Job = p.id
		}
		do = append(do, a)
	}
	return do, unit.Second / 2
}

// wall is a clock whose times can be written down.
type wall struct{ live.WallClock }

func (w wall) Now() time.Time { return w.WallClock.Now().Round(0) }

// Queues' properties and capacities, and a job's queue and priority, are changed by a driver of several queues and put back; what somebody else has changed
// stays, and what is not allowed is not done. With YARDMASTER_RECORD the run is kept in that file, for the replay in package rehearse.
func labKnobs(t *testing.T) {
	xml := strings.Replace(capacityXML, "batch,other", "batch,other,third", 1)
	xml = strings.Replace(xml, "<value>40</value>", "<value>30.0</value>", 1)
	for _, p := range [][2]string{{"batch.state", "RUNNING"}, {"third.capacity", "10"}} {
		xml = strings.Replace(xml, "</configuration>", "  <property><name>yarn.scheduler.capacity.root."+p[0]+"</name><value>"+p[1]+"</value></property>\n</configuration>", 1)
	}
	b := up(t, hadoop.Options{SchedulerXML: xml, Site: map[string]string{"yarn.cluster.max-application-priority": "10"}})
	b.open(yard.Options{Queues: []string{"other", "batch"}})
	before := b.settings()
	b.submit(1, 1024)
	job := b.seen(1, 0).Jobs[0].ID
	set := func(property string, x float64) steer.Action {
		return steer.Action{Kind: steer.SetQueue, Queue: "root.batch", Property: property, Value: x, Why: "test"}
	}
	shares := func(batch, other float64) steer.Action {
		return steer.SetCapacities("test", steer.Share{Queue: "root.batch", Value: batch}, steer.Share{Queue: "root.other", Value: other})
	}
	do := map[int][]steer.Action{
		1: {
			set("maximum-capacity", 90), set("user-limit-factor", 3), set("minimum-user-limit-percent", 50), set("maximum-am-resource-percent", 0.4), set("state", 0),
			shares(72.5, 17.5), {Kind: steer.SetPriority, Job: "*", Value: 4, Why: "test"}, {Kind: steer.MoveJob, Job: "*", Queue: "root.other", Why: "test"},
			{Kind: steer.SetQueue, Queue: "root.other", Property: "maximum-am-resource-percent", Value: 0.9, Why: "above the maximum"},
		},
		3: {set("maximum-am-resource-percent", 0.45), {Kind: steer.SetPriority, Job: "*", Value: 40, Why: "more than there is"}, shares(60, 30)},
		4: {
			shares(70, 30), set("capacity", 50), {Kind: steer.MoveJob, Job: "*", Queue: "root.third"}, {Kind: steer.KillJob, Job: "*"}, {Kind: steer.SetPriority, Job: "application_1_1", Value: 1},
			{Kind: steer.SetQueue, Queue: "root.third", Property: "maximum-capacity", Value: 50}, steer.SetCapacities("", steer.Share{Queue: "root.batch", Value: 65}, steer.Share{Queue: "root.third", Value: 5}),
		},
		6: {set("user-limit-factor", 4), shares(65, 25)},
	}
	j, err := live.OpenJournal(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	record := newRecord(t, map[string]any{"identity": b.y.Identity(), "queues": b.y.Queues(), "do": do})
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	count, samples := map[drive.EventKind]int{}, 0
	err = live.Run(ctx, live.Options{
		Engine: b.y, Clock: wall{}, Trace: record,
		Rules: drive.Rules{Act: true, Journal: j.Journal, Queues: b.y.Queues(), Bound: drive.Within(0.1, 0.8), New: func() (steer.Steerer, error) { return &script{do: do}, nil }},
		Observe: func(e drive.Event) {
			count[e.Kind]++
			switch {
			case e.Kind != drive.Decided:
				t.Log(e)
			case samples == 5: // somebody else
				_, err := b.c.ChangeScheduler(t.Context(), rest.SchedulerChange{Update: []rest.QueueChange{{Queue: "root.batch", Settings: []rest.Setting{{Name: "user-limit-factor", Value: "7"}}}}})
				if err != nil {
					t.Error(err)
				}
			case samples == 9:
				stop()
			}
			if e.Kind == drive.Decided {
				samples++
			}
		},
	})
	a, gone := b.c.App(t.Context(), job)
	if err != nil || gone != nil || len(j.Open()) > 0 || a.Queue != "root.batch" || a.Priority != 0 {
		t.Errorf("%v, %v; open %v; queue %s, priority %d", err, gone, j.Open(), a.Queue, a.Priority)
	}
	if count[drive.Asked] != 14 || count[drive.Taken] != 14 || count[drive.Refused] != 7 || count[drive.Foreign] != 1 {
		t.Errorf("%v", count)
	}
	if after := b.settings(); after != strings.Replace(before, "root.batch.user-limit-factor=10", "root.batch.user-limit-factor=7", 1) {
		t.Errorf("settings differ:\n%s\n\n%s", before, after)
	}
}

// newRecord keeps a run in the file that YARDMASTER_RECORD names: what there is to know beforehand, then a line for every request and its answer.
func newRecord(t *testing.T, head map[string]any) func(drive.Request, drive.Answer) {
	name := os.Getenv("YARDMASTER_RECORD")
	if name == "" {
		return nil
	}
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	out := json.NewEncoder(f)
	write := func(x any) {
		if err := out.Encode(x); err != nil {
			t.Error(err)
		}
	}
	write(head)
	return func(r drive.Request, a drive.Answer) {
		step := map[string]any{
			"op": r.Op, "knob": r.Knob, "value": r.Value, "entry": r.Entry, "event": r.Event.String(), "until": r.Until, "next": r.Next, "quiet": r.Quiet, "since": r.Since, "final": r.Final,
			"now": a.Now, "stop": a.Stop, "snapshot": a.Snapshot, "read": a.Value, "inForce": a.InForce,
		}
		if a.Err != nil {
			step["error"] = a.Err.Error()
			step["fate"], step["ended"], step["gone"] = errors.Is(a.Err, drive.ErrOutcomeUnknown), errors.Is(a.Err, drive.ErrEnded), errors.Is(a.Err, drive.ErrGone)
		}
		write(step)
	}
}
