package spark

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/jobfile"
)

var update = flag.Bool("update", false, "rewrite golden files")

func report(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/report.log")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func parse(t testing.TB, text string) *App {
	t.Helper()
	a, err := Read(strings.NewReader(text), "log", nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The logs of real applications. Of Spark 4.3: joins, a broadcast, a cached RDD, a task that fails once. Of Spark 3.5: a join, a shuffle of
// a cached RDD.
func TestReport(t *testing.T) {
	for name, c := range map[string]struct {
		tasks  int
		failed bool
	}{"report": {52, true}, "spark35": {25, false}} {
		log, err := os.ReadFile("testdata/" + name + ".log")
		if err != nil {
			t.Fatal(err)
		}
		var tasks []Task
		a, err := Read(bytes.NewReader(log), name, func(x *Task) { tasks = append(tasks, *x) })
		if err != nil {
			t.Fatal(err)
		}
		j, notes, err := a.Job(Options{Base: a.Start})
		if err != nil {
			t.Fatal(err)
		}
		if len(tasks) != c.tasks || slices.ContainsFunc(tasks, func(x Task) bool { return x.Failed }) != c.failed || tasks[0].Executor != 0 {
			t.Errorf("%s: %d tasks, the first %+v", name, len(tasks), tasks[0])
		}
		got, err := json.MarshalIndent(map[string]any{"job": j, "notes": notes, "executors": a.Executors}, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(got, []byte("SECRET")) {
			t.Error("a property that is not on the list reached the output")
		}
		golden := "testdata/" + name + ".json"
		if *update {
			if err := os.WriteFile(golden, append(got, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), string(got)+"\n"); d != "" {
			t.Error(d)
		}
	}
}

// Whatever the log says, only what is meant to be kept is: everything else is replaced by a word, which must not come out.
func TestNothingElseIsKept(t *testing.T) {
	if !slices.IsSorted(Known) {
		t.Fatal("Known is not sorted")
	}
	kept := append([]string{"App Name", "App ID", "User", "Executor ID", "Host", "Event", "Reason", "Locality", "Task Type", "Spark Version", "spark.scheduler.pool"}, Known...)
	var poisoned bytes.Buffer
	for line := range bytes.Lines(report(t)) {
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(poison(v, "", kept))
		poisoned.Write(append(text, '\n'))
	}
	if !bytes.Contains(poisoned.Bytes(), []byte("POISON")) {
		t.Fatal("nothing is poisoned")
	}
	a, err := Read(&poisoned, "log", nil)
	if err != nil {
		t.Fatal(err)
	}
	j, notes, err := a.Job(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%+v %+v %+v %+v %+v", *a, j, j.Stages, notes, a.Executors); strings.Contains(text, "POISON") {
		t.Errorf("kept: %s", text[max(strings.Index(text, "POISON")-200, 0):])
	}
}

func poison(v any, key string, kept []string) any {
	switch x := v.(type) {
	case map[string]any:
		for k := range x {
			x[k] = poison(x[k], k, kept)
		}
	case []any:
		for i := range x {
			x[i] = poison(x[i], key, kept)
		}
	case string:
		if !slices.Contains(kept, key) && !strings.HasPrefix(key, "spark.sql.execution") {
			return "a POISON at POISON.py:1 " + x
		}
	}
	return v
}

func TestSettings(t *testing.T) {
	yarn := settings{"spark.master": "yarn", "spark.submit.deployMode": "client"}
	with := func(pairs ...string) settings {
		p := settings{}
		for k, v := range yarn {
			p[k] = v
		}
		for i := 0; i < len(pairs); i += 2 {
			p[pairs[i]] = pairs[i+1]
		}
		return p
	}
	box := func(mem, cores int64) unit.Resources { return unit.Resources{Mem: mem, Cores: cores} }
	for name, c := range map[string]struct {
		p            settings
		executor, am unit.Resources
	}{
		"defaults":        {yarn, box(1024+384, 1), box(512+384, 1)},
		"a tenth":         {with("spark.executor.memory", "8g", "spark.executor.cores", "4"), box(8192+819, 4), box(896, 1)},
		"set":             {with("spark.executor.memory", "8g", "spark.executor.memoryOverhead", "2g"), box(10240, 1), box(896, 1)},
		"older name":      {with("spark.yarn.executor.memoryOverhead", "600"), box(1624, 1), box(896, 1)},
		"factor":          {with("spark.executor.memory", "4096m", "spark.executor.memoryOverheadFactor", "0.5"), box(6144, 1), box(896, 1)},
		"least":           {with("spark.executor.minMemoryOverhead", "128m"), box(1024+128, 1), box(896, 1)},
		"off-heap":        {with("spark.memory.offHeap.enabled", "true", "spark.memory.offHeap.size", "1073741824"), box(1408+1024, 1), box(896, 1)},
		"python":          {with("spark.yarn.isPython", "true", "spark.executor.pyspark.memory", "512"), box(1408+512, 1), box(896, 1)},
		"not python":      {with("spark.executor.pyspark.memory", "512"), box(1408, 1), box(896, 1)},
		"AM":              {with("spark.yarn.am.memory", "1g", "spark.yarn.am.cores", "2"), box(1408, 1), box(1408, 2)},
		"cluster mode":    {with("spark.submit.deployMode", "cluster", "spark.driver.memory", "6g", "spark.driver.cores", "3"), box(1408, 1), box(6144+614, 3)},
		"Kubernetes":      {settings{"spark.master": "k8s://https://x", "spark.submit.deployMode": "cluster", "spark.kubernetes.resource.type": "python", "spark.executor.memory": "10g"}, box(10240+4096, 1), box(1024+409, 1)},
		"a pod's request": {settings{"spark.master": "k8s://https://x", "spark.submit.deployMode": "cluster", "spark.executor.cores": "4", "spark.kubernetes.executor.request.cores": "1500m", "spark.kubernetes.driver.request.cores": "0.5"}, box(1408, 2), box(1408, 1)},
		"standalone":      {settings{"spark.master": "spark://x:7077"}, box(1408, 7), unit.Resources{}},
		"nonsense":        {with("spark.executor.memory", "much", "spark.executor.cores", "-3", "spark.yarn.am.memory", "9999999999p"), box(1408, 1), box(896, 1)},
		"redacted values": {with("spark.executor.memory", "*********(redacted)"), box(1408, 1), box(896, 1)},
	} {
		cores := int64(1)
		if name == "standalone" {
			cores = 7
		}
		if got := c.p.executor(cores); got != c.executor {
			t.Errorf("%s: executors ask for %v, not %v", name, got, c.executor)
		}
		if got := c.p.am(); got != c.am {
			t.Errorf("%s: the AM asks for %v, not %v", name, got, c.am)
		}
	}
	k8s := "k8s://https://x"
	for name, c := range map[string]struct {
		p       settings
		version string
		want    workload.Keep
	}{
		"YARN":       {yarn, "3.5.0", workload.Keep{}},
		"Spark 3.0":  {settings{"spark.master": k8s}, "3.0.1", workload.Keep{Batch: 5, Pending: 5, Every: unit.Second}},
		"Spark 3.5":  {settings{"spark.master": k8s}, "3.5.1", workload.Keep{Batch: 5, Every: unit.Second}},
		"Spark 4.1":  {settings{"spark.master": k8s}, "4.1.0-preview1", workload.Keep{Batch: 10, Every: unit.Second}},
		"Spark 4.10": {settings{"spark.master": k8s}, "4.10.0", workload.Keep{Batch: 20, Every: unit.Second}},
		"set": {settings{"spark.master": k8s, "spark.kubernetes.allocation.batch.size": "7", "spark.kubernetes.allocation.batch.delay": "2500",
			"spark.kubernetes.allocation.maxPendingPods": "9"}, "4.0.0", workload.Keep{Batch: 7, Pending: 9, Every: 2500 * unit.Millisecond}},
	} {
		var got workload.Keep
		if c.p.batches(&got, c.version); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	if yarn.dynamic() != nil {
		t.Error("static allocation is dynamic")
	}
	d := with("spark.dynamicAllocation.enabled", "true", "spark.dynamicAllocation.minExecutors", "2", "spark.executor.instances", "5",
		"spark.dynamicAllocation.executorIdleTimeout", "30", "spark.dynamicAllocation.schedulerBacklogTimeout", "2s").dynamic()
	want := &workload.Dynamic{Min: 2, Initial: 5, Ratio: 1, Backlog: 2 * unit.Second, Sustained: 2 * unit.Second, Idle: 30 * unit.Second}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
}

// logOf writes a log of two executors with one slot each and of stages of one task. A stage is "JOB SQL PARENTS SUBMITTED ENDED".
func logOf(lines ...string) string {
	var b strings.Builder
	fmt.Fprintln(&b, `{"Event":"SparkListenerLogStart","Spark Version":"3.5.0"}`)
	fmt.Fprintln(&b, `{"Event":"SparkListenerEnvironmentUpdate","Spark Properties":{"spark.master":"yarn","spark.executor.instances":"2"}}`)
	fmt.Fprintln(&b, `{"Event":"SparkListenerApplicationStart","App Name":"a","App ID":"application_1_0001","Timestamp":1000,"User":"ann"}`)
	fmt.Fprintln(&b, `{"Event":"SparkListenerExecutorAdded","Timestamp":4000,"Executor ID":"1","Executor Info":{"Host":"n1","Total Cores":1}}`)
	fmt.Fprintln(&b, `{"Event":"SparkListenerExecutorAdded","Timestamp":5000,"Executor ID":"2","Executor Info":{"Host":"n2","Total Cores":1}}`)
	for _, l := range lines {
		fmt.Fprintln(&b, l)
	}
	fmt.Fprintln(&b, `{"Event":"SparkListenerApplicationEnd","Timestamp":99000}`)
	return b.String()
}

// sparkJob writes a Spark job of one stage with one task; sql < 0: outside of an SQL execution.
func sparkJob(id, sql int, from, to int64) string {
	p := "{}"
	if sql >= 0 {
		p = fmt.Sprintf(`{"spark.sql.execution.id":"%d"}`, sql)
	}
	return fmt.Sprintf(`{"Event":"SparkListenerJobStart","Job ID":%d,"Submission Time":%d,"Stage IDs":[%d],"Properties":%s}
`, id, from, id, p) + stageOf(id, 0, from, 1, "") + taskOf(id, 0, 0, 10*id, from, to, "Success") +
		fmt.Sprintf(`{"Event":"SparkListenerJobEnd","Job ID":%d,"Completion Time":%d}`, id, to)
}

func stageOf(id, attempt int, at int64, tasks int, rdds string) string {
	return fmt.Sprintf(`{"Event":"SparkListenerStageSubmitted","Stage Info":{"Stage ID":%d,"Stage Attempt ID":%d,"Stage Name":"count at x","Number of Tasks":%d,"RDD Info":[%s],"Parent IDs":[],"Submission Time":%d}}
`, id, attempt, tasks, rdds, at)
}

func taskOf(stage, attempt, partition, id int, from, to int64, reason string) string {
	return fmt.Sprintf(`{"Event":"SparkListenerTaskEnd","Stage ID":%d,"Stage Attempt ID":%d,"Task Type":"ResultTask","Task End Reason":{"Reason":"%s"},"Task Info":{"Task ID":%d,"Index":%d,"Partition ID":%d,"Launch Time":%d,"Executor ID":"1","Finish Time":%d,"Failed":%v}}
`, stage, attempt, reason, id, partition, partition, from, to, reason != "Success")
}

// What the driver waited for, by the order of submissions and ends.
func TestWaits(t *testing.T) {
	for name, c := range map[string]struct {
		jobs [][4]int64 // id, SQL execution, submitted, ended
		want [][]int    // by stage
	}{
		"one after another":           {[][4]int64{{0, -1, 10, 20}, {1, -1, 20, 30}, {2, -1, 31, 40}}, [][]int{nil, {0}, {1}}},
		"two threads":                 {[][4]int64{{0, -1, 10, 20}, {1, -1, 11, 30}, {2, -1, 21, 40}, {3, -1, 31, 50}}, [][]int{nil, nil, {0}, {1}}},
		"a barrier after two":         {[][4]int64{{0, -1, 10, 20}, {1, -1, 11, 30}, {2, -1, 35, 40}}, [][]int{nil, nil, {0, 1}}},
		"a thread that begins later":  {[][4]int64{{0, -1, 10, 20}, {1, -1, 21, 90}, {2, -1, 30, 40}, {3, -1, 41, 50}}, [][]int{nil, {0}, {0}, {2}}},
		"a third thread":              {[][4]int64{{0, -1, 10, 20}, {1, -1, 11, 90}, {2, -1, 21, 60}, {3, -1, 22, 50}}, [][]int{nil, nil, {0}, nil}},
		"stages of an SQL execution":  {[][4]int64{{0, 7, 10, 20}, {1, 7, 11, 30}, {2, 7, 31, 40}, {3, -1, 41, 50}}, [][]int{nil, nil, {0, 1}, {2}}},
		"an execution beside another": {[][4]int64{{0, 7, 10, 20}, {1, 8, 11, 30}, {2, 7, 21, 40}, {3, 8, 31, 50}}, [][]int{nil, nil, {0}, {1}}},
	} {
		var lines []string
		for _, j := range c.jobs {
			lines = append(lines, sparkJob(int(j[0]), int(j[1]), j[2]*1000, j[3]*1000))
		}
		j, _, err := parse(t, logOf(lines...)).Job(Options{})
		if err != nil {
			t.Fatal(name, err)
		}
		for i, s := range j.Stages {
			var got []int
			for _, e := range s.After {
				got = append(got, e.From)
			}
			if !slices.Equal(got, c.want[i]) {
				t.Errorf("%s: stage %d waits for %v, not %v", name, i, got, c.want[i])
			}
		}
	}
}

// A Spark job starts once, however often the log says so.
func TestSameJob(t *testing.T) {
	one := sparkJob(0, 7, 10_000, 20_000) + "\n"
	a := parse(t, logOf(strings.Repeat(one, 20_000)))
	if _, _, err := a.Job(Options{}); err != nil || len(a.jobs) != 1 || a.jobs[0].submit != 10_000 || a.jobs[0].end != 20_000 {
		t.Errorf("%d jobs, %v", len(a.jobs), err)
	}
}

// Delays count from the end of what a stage waits for, or from the driver's being ready: at 5 s here, when both executors are up.
func TestDelays(t *testing.T) {
	j, _, err := parse(t, logOf(sparkJob(0, -1, 8000, 20_000), sparkJob(1, -1, 21_500, 30_000))).Job(Options{Base: 500})
	if err != nil {
		t.Fatal(err)
	}
	if a, b, tail := j.Stages[0].Delay, j.Stages[1].Delay, j.Keep.Tail; a != 3*unit.Second || b != 1500*unit.Millisecond || tail != 69*unit.Second {
		t.Errorf("delays of %v and %v, a tail of %v", a, b, tail)
	}
	if j.Submit != 500*unit.Millisecond || j.Observed.Finish != 98_500*unit.Millisecond || j.Keep.Max != 2 {
		t.Errorf("%+v %+v", j, j.Observed)
	}
}

// Copies, retries of a stage and lost output count once. An attempt that failed makes its task longer, as Spark runs it again.
func TestRetries(t *testing.T) {
	text := logOf(`{"Event":"SparkListenerJobStart","Job ID":0,"Submission Time":6000,"Stage IDs":[0]}`,
		stageOf(0, 0, 6000, 3, "")+taskOf(0, 0, 0, 1, 6000, 7000, "Success")+taskOf(0, 0, 1, 2, 6000, 9000, "ExceptionFailure")+
			taskOf(0, 0, 1, 4, 9000, 12_000, "Success")+taskOf(0, 0, 2, 3, 7000, 8500, "Success")+taskOf(0, 0, 2, 3, 7000, 8500, "Resubmitted")+
			stageOf(0, 1, 13_000, 1, "")+taskOf(0, 1, 2, 5, 13_000, 15_000, "Success"))
	j, notes, err := parse(t, text).Job(Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := j.Stages[0]
	if want := []unit.Time{unit.Second, 6 * unit.Second, 1500 * unit.Millisecond}; s.Tasks != 3 || !slices.Equal(s.Length.Values, want) {
		t.Errorf("%d tasks of %v", s.Tasks, s.Length.Values)
	}
	if len(notes) != 2 || notes[0].Count != 1 || notes[1].Count != 1 {
		t.Errorf("%v", notes)
	}
	var seen []string
	if _, err := Read(strings.NewReader(text), "log", func(x *Task) { seen = append(seen, fmt.Sprint(*x)) }); err != nil || len(seen) != 5 {
		t.Errorf("%v %v: what was lost did not run again", seen, err)
	}
}

// A partition that never succeeded is no task that did.
func TestNeverDone(t *testing.T) {
	j, notes, err := parse(t, logOf(`{"Event":"SparkListenerJobStart","Job ID":0,"Submission Time":6000,"Stage IDs":[0]}`,
		stageOf(0, 0, 6000, 2, "")+taskOf(0, 0, 0, 1, 6000, 7000, "Success")+taskOf(0, 0, 1, 2, 6000, 9000, "ExceptionFailure")+taskOf(0, 0, 1, 3, 9000, 12_000, "ExceptionFailure"))).Job(Options{})
	if err != nil || j.Stages[0].Tasks != 1 || !slices.Equal(j.Stages[0].Length.Values, []unit.Time{unit.Second}) || !strings.Contains(fmt.Sprint(notes), "stages that did not finish") {
		t.Errorf("%+v, %v, %v", j, notes, err)
	}
}

// Before Spark 3.3 a later attempt of a stage did not say which partitions it ran: they fill the gaps.
func TestOldRetries(t *testing.T) {
	text := logOf(`{"Event":"SparkListenerJobStart","Job ID":0,"Submission Time":6000,"Stage IDs":[0]}`,
		stageOf(0, 0, 6000, 4, "")+taskOf(0, 0, 0, 1, 6000, 7000, "Success")+taskOf(0, 0, 1, 2, 6000, 9000, "FetchFailed")+taskOf(0, 0, 2, 3, 6000, 9000, "Success")+
			stageOf(0, 1, 13_000, 2, "")+taskOf(0, 1, 0, 5, 13_000, 15_000, "Success")+taskOf(0, 1, 1, 6, 13_000, 13_500, "Success")+
			taskOf(0, 1, 1, 7, 13_000, 14_000, "Success"))
	text = regexp.MustCompile(`"Partition ID":\d+,`).ReplaceAllString(text, "")
	j, notes, err := parse(t, text).Job(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []unit.Time{unit.Second, 2 * unit.Second, 3 * unit.Second, unit.Second / 2}; !slices.Equal(j.Stages[0].Length.Values, want) || len(notes) != 2 {
		t.Errorf("%v, %v", j.Stages[0].Length.Values, notes)
	}
}

// The first task of each slot is slower than the others, which tells the time for warming up; it is taken off.
func TestWarm(t *testing.T) {
	text := `{"Event":"SparkListenerJobStart","Job ID":0,"Submission Time":6000,"Stage IDs":[0]}` + "\n" + stageOf(0, 0, 6000, 4, "")
	at := int64(6000)
	for i, ms := range []int64{5000, 1000, 1100, 900} {
		text += taskOf(0, 0, i, i, at, at+ms, "Success")
		at += ms
	}
	failed := taskOf(0, 0, 0, 9, 1000, 3000, "ExceptionFailure")
	for text, first := range map[string]unit.Time{text: unit.Second, text + failed: 3 * unit.Second} {
		j, _, err := parse(t, logOf(text)).Job(Options{})
		if err != nil {
			t.Fatal(err)
		}
		if j.Keep.Warm != 4*unit.Second || j.Stages[0].Length.Values[0] != first {
			t.Errorf("%v, %v", j.Keep.Warm, j.Stages[0].Length.Values)
		}
	}
}

// A job lists no more lengths than its file may: its largest stages get a table of quantiles.
func TestManyTasks(t *testing.T) {
	a := parse(t, logOf(sparkJob(0, -1, 6000, 7000), sparkJob(1, -1, 8000, 9000)))
	s := a.stages[1]
	for i := range 1 << 20 {
		s.lengths = append(s.lengths, taskLength{int32(i + 1), uint32(i % 1000)})
	}
	j, _, err := a.Job(Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := j.Stages[1].Length
	if j.Stages[1].Tasks != 1<<20+1 || l.Kind != workload.Quantiles || len(l.Values) != quantiles || l.Values[500] != 499*unit.Millisecond {
		t.Errorf("%d tasks, %v of %d values, the median %v", j.Stages[1].Tasks, l.Kind, len(l.Values), l.Values[500])
	}
	if j.Stages[0].Length.Kind != workload.List {
		t.Error("the small stage has no list")
	}
}

// tangled has as many stages as a job may have, each of which waits for all before it: more edges and lengths than a file takes of one job.
func tangled(t testing.TB) *App {
	a := parse(t, logOf(sparkJob(0, -1, 6000, 7000)))
	for i := range workload.MaxStages {
		s := &stage{id: i}
		for k := range i {
			s.parents = append(s.parents, k)
		}
		for k := range 1000 {
			s.lengths = append(s.lengths, taskLength{int32(k), 1000})
		}
		a.stages[i] = s
	}
	return a
}

// Who reads logs can leave out the application that no file takes, before anything is written.
func TestTooLarge(t *testing.T) {
	if _, _, err := tangled(t).Job(Options{}); !errors.Is(err, jobfile.ErrTooLarge) {
		t.Error(err)
	}
}

// Executors start as fast as the log says; where it does not say when they were requested, as fast as the first one.
func TestStart(t *testing.T) {
	text := logOf(sparkJob(0, -1, 6000, 7000))
	for text, want := range map[string]unit.Time{
		text: 3 * unit.Second,
		strings.Replace(text, `"Executor Info":{"Host":"n2"`, `"Executor Info":{"Request Time":4500,"Host":"n2"`, 1): unit.Second / 2,
		strings.ReplaceAll(text, "ExecutorAdded", "Other"):                                                           0,
	} {
		if j, _, err := parse(t, text).Job(Options{}); err != nil || j.Keep.Start != want {
			t.Errorf("%v, %v, want %v", j.Keep.Start, err, want)
		}
	}
}

// When an application was submitted is a setting, with which its user could move the start of all others.
func TestSubmitted(t *testing.T) {
	const start = 2 * Early
	for at, want := range map[int64]int64{0: start, 1: start, start - Early - 1: start, start - Early: start - Early, start - 1: start - 1, start + 1: start} {
		a := newApp()
		a.Start, a.settings = start, settings{"spark.submit.deployMode": "cluster", "spark.app.submitTime": fmt.Sprint(at)}
		if got := a.Submitted(); got != want {
			t.Errorf("%d: submitted at %d, want %d", at, got, want)
		}
		if said := strings.Contains(fmt.Sprint(a.notes()), "not believed"); said != (at > 0 && at < start && want == start) {
			t.Errorf("%d: %v", at, a.notes())
		}
	}
}

// A stage reads what another has cached if both have as many tasks, and no more than are taken.
func TestCached(t *testing.T) {
	for _, c := range []struct {
		extra  [2]int64
		cached int
	}{{[2]int64{}, 1}, {[2]int64{5, 5}, 1}, {[2]int64{5, 0}, 0}, {[2]int64{workload.MaxCached, workload.MaxCached}, 0}} {
		a := parse(t, logOf(sparkJob(0, -1, 6000, 7000), sparkJob(1, -1, 8000, 9000)))
		a.stages[1].cachedBy = a.stages[0]
		a.stages[0].extra, a.stages[1].extra = c.extra[0], c.extra[1]
		if j, _, err := a.Job(Options{}); err != nil || j.Stages[1].Cached != c.cached {
			t.Errorf("%v: %v, %v", c, j, err)
		}
	}
}

// A log that was cut off at any byte is an application that has not ended, or no log; never a panic.
func TestCut(t *testing.T) {
	whole := report(t)
	for n := 0; n < len(whole); n += 997 {
		a, err := Read(bytes.NewReader(whole[:n]), "log", nil)
		if err != nil {
			if !errors.Is(err, ErrNoLog) || n > 2000 {
				t.Errorf("%d bytes: %v", n, err)
			}
			continue
		}
		if _, _, err := a.Job(Options{}); !errors.Is(err, ErrRunning) {
			t.Errorf("%d bytes: %v", n, err)
		}
		if j, notes, err := a.Job(Options{Running: true}); err == nil && (len(notes) == 0 || j.Observed.Finish <= 0) || err != nil && !errors.Is(err, ErrNoTasks) {
			t.Errorf("%d bytes: %v %v", n, notes, err)
		}
	}
}

// pack compresses as Spark's codecs do.
var packs = map[string]func([]byte) []byte{
	"plain": func(b []byte) []byte { return b },
	"gzip": func(b []byte) []byte {
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		_, _ = z.Write(b)
		_ = z.Close()
		return out.Bytes()
	},
	"zstd": func(b []byte) []byte {
		var out bytes.Buffer
		z, _ := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
		_, _ = z.Write(b)
		_ = z.Close()
		return out.Bytes()
	},
	"lz4": func(b []byte) (out []byte) {
		for part := range slices.Chunk(b, 32<<10) {
			room := make([]byte, lz4.CompressBlockBound(len(part)))
			n, _ := lz4.CompressBlock(part, room, nil)
			packed, token := room[:n], byte(0x20)
			if n == 0 || n >= len(part) {
				packed, token = part, 0x10
			}
			out = append(append(out, lz4Magic...), token|5)
			out = binary.LittleEndian.AppendUint32(out, uint32(len(packed)))
			out = binary.LittleEndian.AppendUint32(out, uint32(len(part)))
			out = append(append(out, 0, 0, 0, 0), packed...)
		}
		return append(append(append(out, lz4Magic...), 0x15), make([]byte, 12)...)
	},
	"snappy": func(b []byte) []byte {
		out := append(slices.Clone(snappyMagic), 0, 0, 0, 1, 0, 0, 0, 1)
		for part := range slices.Chunk(b, 32<<10) {
			packed := snappy.Encode(nil, part)
			out = append(binary.BigEndian.AppendUint32(out, uint32(len(packed))), packed...)
		}
		return out
	},
}

func fileOf(name string, data []byte) File {
	return File{name, int64(len(data)), func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}
}

// Every codec gives the same job; one that is cut off or damaged gives what came before.
func TestCodecs(t *testing.T) {
	want, _, err := parse(t, string(report(t))).Job(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, pack := range packs {
		data := pack(report(t))
		l := Log{name, []File{fileOf(name, data)}, false}
		a, err := l.Read(t.Context(), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if j, _, err := a.Job(Options{}); err != nil || cmp.Diff(want, j, cmp.AllowUnexported(unit.Extra{})) != "" {
			t.Errorf("%s: another job, %v", name, err)
		}
		cut := Log{name, []File{fileOf(name, data[:len(data)*9/10])}, false}
		if a, err := cut.Read(t.Context(), nil); name == "zstd" && !errors.Is(err, errDamaged) || name != "zstd" && (err != nil || a.End != 0 || len(a.jobs) == 0) {
			t.Errorf("%s, cut: %v", name, err) // zstd has all of it in one block
		}
		for i := range 200 {
			bad := slices.Clone(data)
			bad[i*len(bad)/200] ^= 0x55
			_, _ = (&Log{name, []File{fileOf(name, bad)}, false}).Read(t.Context(), nil)
		}
	}
	if _, err := (&Log{"a.lzf", []File{fileOf("a.lzf", []byte("ZV\x01..."))}, false}).Read(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "zstd") {
		t.Errorf("LZF: %v", err)
	}
}

// What a file's errors are is kept, but for that a connection ended: that is not the end of a log.
func TestBroken(t *testing.T) {
	gone := errors.New("the server is gone")
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, context.Canceled} {
		for name, open := range map[string]func() (io.ReadCloser, error){
			"opening": func() (io.ReadCloser, error) { return nil, fmt.Errorf("%w: %w", gone, end) },
			"reading": func() (io.ReadCloser, error) {
				return io.NopCloser(io.MultiReader(bytes.NewReader(report(t)[:20_000]), iotest.ErrReader(fmt.Errorf("%w: %w", gone, end)))), nil
			},
		} {
			l := Log{"log", []File{{"log", 0, func(context.Context) (io.ReadCloser, error) { return open() }}}, false}
			a, err := l.Read(t.Context(), nil)
			if a != nil || !errors.Is(err, gone) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.Canceled) != errors.Is(end, context.Canceled) {
				t.Errorf("%s ends with %v: %v", name, end, err)
			}
		}
	}
}

func TestBomb(t *testing.T) {
	bomb := packs["zstd"](append([]byte("{\n"), make([]byte, 256<<20)...))
	_, err := (&Log{"b", []File{fileOf("b", bomb)}, false}).Read(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "expands more than") {
		t.Errorf("%d bytes: %v", len(bomb), err)
	}
}

// A directory of an archive that would fill memory is refused, and so is a log that is unpacked without end.
func TestArchive(t *testing.T) {
	archive := func(files int) string {
		method := zip.Deflate
		if files >= 10 {
			method = zip.Store // each compressor costs more than its empty file
		}
		var out bytes.Buffer
		z := zip.NewWriter(&out)
		for i := range files {
			w, err := z.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("app_%06d", i), Method: method})
			if err != nil {
				t.Fatal(err)
			}
			if files < 10 {
				_, _ = w.Write(report(t))
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(t.TempDir(), "app.zip")
		if err := os.WriteFile(name, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for files, want := range map[int]string{3: "", 100_000: "too many files"} {
		logs, err := Local(archive(files)).Logs(t.Context())
		if err != nil || len(logs) != 1 {
			t.Fatal(logs, err)
		}
		logs[0].Files[0].Size = 0 // which not every place knows
		if _, err := logs[0].Read(t.Context(), nil); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d files: %v", files, err)
		}
	}
	c := &chain{ctx: t.Context(), name: "log", r: strings.NewReader("x"), n: maxLog}
	if _, err := io.ReadAll(c); err == nil || !strings.Contains(err.Error(), "more than 64 GiB") {
		t.Error(err)
	}
}

// repeated is n lines that are made as they are read.
type repeated struct {
	i, n int
	line func(i int) string
	left string
}

func (r *repeated) Read(p []byte) (int, error) {
	for ; r.left == ""; r.i++ {
		if r.i == r.n {
			return 0, io.EOF
		}
		r.left = r.line(r.i)
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

// What is kept of a log is bounded, however long it is: packed, it may be tiny.
func TestKept(t *testing.T) {
	parents, text := strings.Repeat("1,", maxParents), strings.Repeat("x", maxText)
	const start = `{"Event":"SparkListenerApplicationStart","App Name":"a","App ID":"a","Timestamp":1000}` + "\n"
	const mb, many = 1 << 20, maxEntries + 1000
	for name, c := range map[string]struct {
		n    int
		most int64
		line func(i int) string
	}{
		"parents": {1000, 24 * mb, func(i int) string {
			return fmt.Sprintf(`{"Event":"SparkListenerStageSubmitted","Stage Info":{"Stage ID":%d,"Submission Time":1000,"Parent IDs":[%s]}}`+"\n", i, parents)
		}},
		"jobs": {many, 96 * mb, func(i int) string {
			return fmt.Sprintf(`{"Event":"SparkListenerJobStart","Job ID":%d,"Submission Time":1000,"Stage IDs":[%d],"Properties":{"spark.scheduler.pool":"%s"}}`+"\n", i, i, text)
		}},
		"executors": {many, 128 * mb, func(i int) string {
			return fmt.Sprintf(`{"Event":"SparkListenerExecutorAdded","Timestamp":1000,"Executor ID":"%0256d","Executor Info":{"Host":"%s"}}`+"\n", i, text)
		}},
		"tasks of many stages": {many, 64 * mb, func(i int) string { return taskOf(i, 0, 0, i, 1000, 2000, "Success") }},
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		a, err := Read(io.MultiReader(strings.NewReader(start), &repeated{n: c.n, line: c.line}), name, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if got := int64(after.HeapAlloc) - int64(before.HeapAlloc); got > c.most || a.tally.beyond == 0 {
			t.Errorf("%s: %d MB are kept, at most %d; %d records left out", name, got/mb, c.most/mb, a.tally.beyond)
		} else {
			t.Logf("%s: %d MB", name, got/mb)
		}
		if len(a.Executors) > maxEntries || len(a.jobs) > maxEntries || len(a.stages) > maxEntries || a.listed > maxListed {
			t.Errorf("%s: %d executors, %d jobs, %d stages, %d listed", name, len(a.Executors), len(a.jobs), len(a.stages), a.listed)
		}
	}
	a := parse(t, logOf(sparkJob(0, -1, 6000, 7000)))
	a.listed = maxListed
	first := len(a.Executors[0].first)
	if a.began(&a.Executors[1], firstTask{id: 9}); first != 1 || len(a.Executors[1].first) != 0 || a.tally.beyond != 1 {
		t.Errorf("%+v, %+v", a.Executors, a.tally)
	}
}

func TestLongLine(t *testing.T) {
	var before, after runtime.MemStats
	line := `{"Event":"org.apache.spark.sql.execution.ui.SparkListenerSQLAdaptiveExecutionUpdate","x":"` + strings.Repeat("x", 100<<20) + "\"}\n"
	text := strings.Replace(string(report(t)), "\n", "\n"+line, 1)
	runtime.ReadMemStats(&before)
	a := parse(t, text)
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) >> 20; got > 16 || a.End == 0 {
		t.Errorf("a line that nobody wants takes %d MB", got)
	}
	wanted := strings.Replace(line, "SQLAdaptiveExecutionUpdate", "SQLExecutionStart", 1)
	a = parse(t, strings.Replace(string(report(t)), "\n", "\n"+wanted, 1))
	if a.tally.long != 1 || a.End == 0 {
		t.Errorf("%+v", a.tally)
	}
}

func TestLogs(t *testing.T) {
	var files []File
	for _, name := range []string{
		"logs/application_1_0001.inprogress", "logs/application_1_0001", "logs/application_1_0002_1.zstd.inprogress", "logs/.application_1_0001.crc", "logs/_SUCCESS",
		"logs/eventlog_v2_application_1_0003/appstatus_application_1_0003", "logs/eventlog_v2_application_1_0003/events_10_application_1_0003.zstd",
		"logs/eventlog_v2_application_1_0003/events_9_application_1_0003.zstd", "logs/eventlog_v2_application_1_0004/events_1_application_1_0004",
		"logs/eventlog_v2_application_1_0004/events_2_application_1_0004", "logs/eventlog_v2_application_1_0004/events_2_application_1_0004.compact",
		"logs/eventlog_v2_application_1_0004/events_3_application_1_0004",
	} {
		files = append(files, File{Name: name})
	}
	var got []string
	for _, l := range Logs(files) {
		text := fmt.Sprint(filepath.Base(l.Name), l.Compacted)
		for _, f := range l.Files {
			text += " " + filepath.Base(f.Name)[:min(8, len(filepath.Base(f.Name)))]
		}
		got = append(got, text)
	}
	want := []string{
		"eventlog_v2_application_1_0004true events_2 events_3", "eventlog_v2_application_1_0003false events_9 events_1",
		"application_1_0002_1.zstd.inprogressfalse applicat", "application_1_0001false applicat", "application_1_0001.inprogressfalse applicat",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func FuzzRead(f *testing.F) {
	for _, pack := range packs {
		f.Add(pack(report(f)[:4000]))
	}
	f.Add([]byte(logOf(sparkJob(0, 1, 6000, 7000), sparkJob(1, -1, 6500, 9000))))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := (&Log{"log", []File{fileOf("log", data)}, false}).Read(t.Context(), func(*Task) {})
		if err != nil {
			return
		}
		if j, _, err := a.Job(Options{Running: true}); err == nil && j.Validate() != nil {
			t.Errorf("an invalid job: %v", j.Validate())
		}
	})
}
