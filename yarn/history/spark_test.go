package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/spark"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// sparkApp is application 1: its AM of 512 MiB lives from 2 s to 102.6 s, its two executors of 1,024 MiB from 8 s to 102 s, and they are
// registered from 18 s and 20 s on. So an executor starts, and ends, within 11 s and 500 ms.
func sparkApp(with string) string {
	mem, cores := 512*100.6+1024*(94+94), 100.6+94+94
	return fmt.Sprintf(`{"apps":{"app":[{"id":"application_1700000000000_0001","user":"bob","name":"sums","queue":"root.prod","state":"FINISHED","finalStatus":"SUCCEEDED",
 "applicationType":"SPARK","priority":3,"startedTime":%d,"launchTime":%d,"finishedTime":%d,"memorySeconds":%d,"vcoreSeconds":%d%s}]}}`, ms0, ms0+2000, ms0+102_000, int64(mem), int64(cores), with)
}

// sparkLog is its event log, in which some texts are replaced by others.
func sparkLog(replace ...string) string {
	at := func(s float64) int64 { return ms0 + int64(s*1000) }
	lines := []string{
		`{"Event":"SparkListenerLogStart","Spark Version":"4.3.0"}`,
		`{"Event":"SparkListenerEnvironmentUpdate","Spark Properties":{"spark.master":"yarn","spark.submit.deployMode":"client","spark.executor.instances":"2","spark.executor.cores":"2",` +
			`"spark.executor.memory":"512m","spark.executor.memoryOverhead":"300m","spark.yarn.am.memory":"256m","spark.yarn.am.memoryOverhead":"256m","spark.yarn.queue":"root.forged"}}`,
		fmt.Sprintf(`{"Event":"SparkListenerBlockManagerAdded","Block Manager ID":{"Executor ID":"driver","Host":"h","Port":1},"Timestamp":%d}`, at(7)),
		fmt.Sprintf(`{"Event":"SparkListenerApplicationStart","App Name":"sums","App ID":"application_1700000000000_0001","Timestamp":%d,"User":"bob"}`, at(-3)),
	}
	for i, s := range []float64{18, 20} {
		lines = append(lines, fmt.Sprintf(`{"Event":"SparkListenerExecutorAdded","Timestamp":%d,"Executor ID":"%d","Executor Info":{"Host":"n%d","Total Cores":2}}`, at(s), i+1, i+1))
	}
	stage := `{"Stage ID":0,"Stage Attempt ID":0,"Stage Name":"collect at secret.py:7","Number of Tasks":2,"RDD Info":[],"Parent IDs":[]`
	lines = append(
		lines,
		fmt.Sprintf(`{"Event":"SparkListenerJobStart","Job ID":0,"Submission Time":%d,"Stage Infos":[%s}],"Stage IDs":[0],"Properties":{}}`, at(21), stage),
		fmt.Sprintf(`{"Event":"SparkListenerStageSubmitted","Stage Info":%s,"Submission Time":%d},"Properties":{}}`, stage, at(21)),
	)
	for i := range 2 {
		lines = append(lines, fmt.Sprintf(`{"Event":"SparkListenerTaskEnd","Stage ID":0,"Stage Attempt ID":0,"Task Type":"ResultTask","Task End Reason":{"Reason":"Success"},"Task Info":{"Task ID":%d,"Index":%d,`+
			`"Attempt":0,"Partition ID":%d,"Launch Time":%d,"Executor ID":"%d","Host":"h","Locality":"PROCESS_LOCAL","Speculative":false,"Finish Time":%d,"Failed":false,"Killed":false}}`, i, i, i, at(21), i+1, at(100)))
	}
	lines = append(
		lines,
		fmt.Sprintf(`{"Event":"SparkListenerStageCompleted","Stage Info":%s,"Submission Time":%d,"Completion Time":%d}}`, stage, at(21), at(100)),
		fmt.Sprintf(`{"Event":"SparkListenerJobEnd","Job ID":0,"Completion Time":%d,"Job Result":{"Result":"JobSucceeded"}}`, at(100)),
		fmt.Sprintf(`{"Event":"SparkListenerApplicationEnd","Timestamp":%d}`, at(101.5)),
	)
	return strings.NewReplacer(replace...).Replace(strings.Join(lines, "\n") + "\n")
}

// withLogs imports application 1 with logs, by name.
func withLogs(t *testing.T, apps string, logs map[string]string) (*Summary, *workload.Job, Options) {
	t.Helper()
	a := capacityAnswers()
	a["/ws/v1/cluster/apps"] = apps
	o := served(t, a)
	dir := t.TempDir()
	for name, text := range logs {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	o.History, o.Logs = false, Local(dir)
	sum, jobs := imported(t, o)
	if len(jobs) != 1 {
		t.Fatalf("%d jobs", len(jobs))
	}
	return sum, jobs[0], o
}

const id1 = "application_1700000000000_0001"

// The ResourceManager says whose the application is and when it ran, the log what it did.
func TestSparkLog(t *testing.T) {
	for name, logs := range map[string]map[string]string{
		"plain":   {id1: sparkLog()},
		"rolling": {"eventlog_v2_" + id1 + "/events_1_" + id1: sparkLog(), "eventlog_v2_" + id1 + "/appstatus_" + id1: ""},
		"both":    {id1: sparkLog(), id1 + ".inprogress": "", id1 + ".rm.json": "{}", "README": "x"},
	} {
		sum, j, _ := withLogs(t, sparkApp(""), logs)
		if j.Keep == nil || j.Keep.Ask != (unit.Resources{Mem: 812, Cores: 2}) || j.Keep.Max != 2 || j.AM.Mem != 512 || len(j.Stages) != 1 || j.Stages[0].Tasks != 2 {
			t.Fatalf("%s: %+v: %v", name, j, sum.Notes)
		}
		if j.User != "bob" || j.Queue != "root.prod" || j.Priority != 3 || j.Submit != 0 || j.Observed.Finish != 102*unit.Second || j.AMStart.Seconds() < 5.2 || j.AMStart.Seconds() > 5.3 {
			t.Errorf("%s: %+v", name, j)
		}
		if c := sum.Calibration; c.AMStart != j.AMStart || c.AMSamples != 1 {
			t.Errorf("%s: %+v", name, c)
		}
		text := fmt.Sprint(sum.Notes, sum.Assumptions)
		for _, want := range []string{"stage by stage", "how long they take to start"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in %s", name, want, text)
			}
		}
		for _, not := range []string{"spark: submitted when", "spark: an executor starts"} {
			if strings.Contains(text, not) {
				t.Errorf("%s: %q is in %s", name, not, text)
			}
		}
	}
}

// manyTasks are more ends of tasks of 79 s than two executors with two slots had time for in 80 s.
func manyTasks() (text string) {
	for i := range 6 {
		text += fmt.Sprintf(`{"Event":"SparkListenerTaskEnd","Stage ID":0,"Task End Reason":{"Reason":"Success"},"Task Info":{"Partition ID":%d,"Launch Time":%d,"Finish Time":%d}}`+"\n", i+2, ms0+21_000, ms0+100_000)
	}
	return text
}

// idleDriver are stages each of which was submitted at the end and over long before, one after another.
func idleDriver() (text string) {
	for i := 1; i <= 4; i++ {
		text += fmt.Sprintf(`{"Event":"SparkListenerStageSubmitted","Stage Info":{"Stage ID":%d,"Number of Tasks":1,"Parent IDs":[%d],"Submission Time":%d}}`+"\n", i, i-1, ms0+101_000) +
			fmt.Sprintf(`{"Event":"SparkListenerTaskEnd","Stage ID":%d,"Task End Reason":{"Reason":"Success"},"Task Info":{"Partition ID":0,"Launch Time":%d,"Finish Time":%d}}`+"\n", i, ms0+21_000, ms0+22_000)
	}
	return text
}

// If the place of the logs does not answer, its applications do not become totals for ever: the next import goes on.
func TestNoAnswer(t *testing.T) {
	a := capacityAnswers()
	a["/ws/v1/cluster/apps"] = sparkApp("")
	o := served(t, a)
	opens, answers := false, false
	src := func(context.Context) iter.Seq2[spark.File, error] {
		return func(yield func(spark.File, error) bool) {
			yield(spark.File{Name: id1, Open: func(context.Context) (io.ReadCloser, error) {
				switch gone := fmt.Errorf("read: %w", spark.ErrNoAnswer); {
				case !opens:
					return nil, gone
				case !answers: // it breaks off
					return io.NopCloser(io.MultiReader(strings.NewReader(sparkLog()[:2000]), iotest.ErrReader(gone))), nil
				}
				return io.NopCloser(strings.NewReader(sparkLog())), nil
			}}, nil)
		}
	}
	o.History, o.Logs = false, Logs(src, "there")
	for range 2 {
		if _, err := Run(context.Background(), o); !errors.Is(err, spark.ErrNoAnswer) {
			t.Errorf("it opens: %v: %v", opens, err)
		}
		opens = true
	}
	answers = true
	if sum, jobs := imported(t, o); len(jobs) != 1 || jobs[0].Keep == nil {
		t.Errorf("%v", sum.Notes)
	}
}

// Whatever a log says, its application keeps its owner, its times and what it held: a log that contradicts them is refused.
func TestForgedSparkLogs(t *testing.T) {
	alone, none := "", map[string]string{}
	_, totals, _ := withLogs(t, sparkApp(alone), none)
	plain, _ := json.Marshal(totals)
	at := func(s float64) string { return fmt.Sprint(ms0 + int64(s*1000)) }
	for name, c := range map[string]struct {
		logs map[string]string
		want string
	}{
		"another user's":   {map[string]string{id1: sparkLog(`"User":"bob"`, `"User":"eve"`)}, `names user "eve"`},
		"another id":       {map[string]string{id1: sparkLog(id1, "application_1700000000000_0002")}, "the log is of"},
		"later":            {map[string]string{id1: sparkLog(at(101.5), at(500))}, "times"},
		"earlier":          {map[string]string{id1: sparkLog(at(-3), at(-7200))}, "times"},
		"early executors":  {map[string]string{id1: sparkLog(`"Timestamp":`+at(18), `"Timestamp":`+at(-100))}, "from before"},
		"larger executors": {map[string]string{id1: sparkLog("512m", "3g")}, "were held for"},
		"smaller ones":     {map[string]string{id1: sparkLog("512m", "1m", "300m", "1m")}, "vcore-seconds"},
		"huge executors":   {map[string]string{id1: sparkLog("512m", "900g")}, "larger containers"},
		"too many cores":   {map[string]string{id1: sparkLog(`cores":"2"`, `cores":"99"`)}, "larger containers"},
		"long tasks":       {map[string]string{id1: sparkLog(`"Launch Time":`, `"Launch Time":1,"Was":`)}, "times"},
		"many tasks":       {map[string]string{id1: sparkLog() + manyTasks()}, "its tasks took"},
		"an idle driver":   {map[string]string{id1: sparkLog() + idleDriver()}, "its driver worked"},
		"a huge AM":        {map[string]string{id1: sparkLog(`"256m"`, `"4g"`)}, "were held for"},
		"no executors":     {map[string]string{id1: sparkLog("SparkListenerExecutorAdded", "SparkListenerExecutorLost")}, "no executor"},
		"no tasks":         {map[string]string{id1: sparkLog("SparkListenerTaskEnd", "SparkListenerTaskOdd")}, "no task"},
		"twice":            {map[string]string{id1: sparkLog(), id1 + "_2": sparkLog()}, "several logs"},
		"empty":            {map[string]string{"eventlog_v2_" + id1 + "/appstatus_" + id1: ""}, "no events"},
		"nonsense":         {map[string]string{id1: strings.Repeat("\x00{[", 1000)}, "cannot be used"},
	} {
		sum, j, _ := withLogs(t, sparkApp(alone), c.logs)
		if got, _ := json.Marshal(j); string(got) != string(plain) {
			t.Errorf("%s: the application became %s", name, got)
		}
		if text := fmt.Sprint(sum.Notes); !strings.Contains(text, "stay totals") || !strings.Contains(text, c.want) {
			t.Errorf("%s: %q is not in %s", name, c.want, text)
		}
	}
}

// A log in HDFS is its writer's: one of another user does not even count as a second one.
func TestSparkLogsInHDFS(t *testing.T) {
	entry := func(name, owner string) string {
		return fmt.Sprintf(`{"pathSuffix":%q,"type":"FILE","length":1,"owner":%q}`, name, owner)
	}
	for name, c := range map[string]struct {
		list string
		kept bool
	}{
		"his own":        {entry(id1, "bob"), true},
		"and another's":  {entry(id1, "bob") + "," + entry(id1+"_2", "eve"), true},
		"only another's": {entry(id1+"_2", "eve"), false},
	} {
		a := capacityAnswers()
		a["/ws/v1/cluster/apps"] = sparkApp("")
		a["/webhdfs/v1/logs"] = `{"FileStatuses":{"FileStatus":[` + c.list + `]}}`
		a["/webhdfs/v1/logs/"+id1], a["/webhdfs/v1/logs/"+id1+"_2"] = sparkLog(), sparkLog("collect", "forged")
		o := served(t, a)
		o.History, o.Logs = false, WebHDFS(o.Client.Files(), "/logs")
		sum, jobs := imported(t, o)
		if len(jobs) != 1 || (jobs[0].Keep != nil) != c.kept || strings.Contains(jobs[0].Stages[0].Name, "forged") {
			t.Errorf("%s: %+v: %v", name, jobs[0], sum.Notes)
		}
	}
}

// Stages of a program are named after its files, which an anonymised import does not show.
func TestAnonymisedSparkLog(t *testing.T) {
	a := capacityAnswers()
	a["/ws/v1/cluster/apps"] = sparkApp("")
	o := served(t, a)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, id1), []byte(sparkLog()), 0o644); err != nil {
		t.Fatal(err)
	}
	o.History, o.Logs, o.Anonymise = false, Local(dir), true
	_, jobs := imported(t, o)
	if text, _ := json.Marshal(jobs); jobs[0].Keep == nil || strings.Contains(string(text), "secret") || strings.Contains(string(text), "bob") || strings.Contains(string(text), "sums") {
		t.Errorf("%s", text)
	}
}

// A log whose end is missing soon after its application's end is read by the next import; later it is taken as it is.
func TestSparkLogWithoutEnd(t *testing.T) {
	a := capacityAnswers()
	a["/ws/v1/cluster/apps"] = sparkApp("")
	o := served(t, a)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, id1+".inprogress"), []byte(sparkLog("SparkListenerApplicationEnd", "SparkListenerOther")), 0o644); err != nil {
		t.Fatal(err)
	}
	o.History, o.Logs = false, Local(dir)
	later := o.Now
	o.Now = time.UnixMilli(ms0 + 150_000)
	if _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "not complete yet") {
		t.Errorf("too early: %v", err)
	}
	o.Now = later
	if sum, jobs := imported(t, o); jobs[0].Keep == nil {
		t.Errorf("%v", sum.Notes)
	}
}

// An executor's start is what makes the job hold the ResourceManager's memory-seconds, within two percent.
func TestExecutorStart(t *testing.T) {
	site := conf.DefaultSite()
	site.MinAllocation.Mem = 512
	b := &builder{names: &names{}, site: site}
	a := &app{
		ID: id1, User: "bob", Started: ms0, Launch: ms0 + 2000, Finished: ms0 + 102_000, MemorySeconds: 244019, CoreSeconds: 288, Status: "SUCCEEDED",
	}
	for _, cores := range []int64{288, 476} { // by a calculator that knows memory only, and by one that counts two vcores an executor
		a.CoreSeconds = cores
		j, err := b.spark(a, readLog(t, sparkLog()), &tally{})
		if err != nil {
			t.Fatal(err)
		}
		held := 512*100.6 + 1024*(j.Keep.Start.Seconds()+aroundExecutor/1000.0)*2 + 1024*(83.5+81.5)
		if math.Abs(held/float64(a.MemorySeconds)-1) > 0.02 || math.Abs(j.Keep.Start.Seconds()-10.75) > 0.1 {
			t.Errorf("executors start in %v, the job holds %.0f MiB-s of %d", j.Keep.Start, held, a.MemorySeconds)
		}
	}
	a.CoreSeconds = 900
	if _, err := b.spark(a, readLog(t, sparkLog()), &tally{}); err == nil {
		t.Error("the vcore-seconds are of other containers")
	}
}

func readLog(t testing.TB, text string) *spark.App {
	t.Helper()
	a, err := spark.Read(strings.NewReader(text), "log", nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Whatever order logs are read in, the same one says why they cannot be used.
func TestLeftOut(t *testing.T) {
	for _, names := range [][]string{{"a", "b", "c"}, {"c", "a", "b"}, {"b", "c", "a"}} {
		var l leftOut
		for _, name := range names {
			l.add(name, fmt.Errorf("%s is odd", name))
		}
		if l.n != 3 || l.err.Error() != "a: a is odd" {
			t.Errorf("%v: %d, %v", names, l.n, l.err)
		}
	}
}

// A place that names logs with their folders, as an object store does, is a folder of logs too.
func TestLogsElsewhere(t *testing.T) {
	for name, fits := range map[string]bool{
		"a/b/" + id1: true, "a/eventlog_v2_" + id1 + "/events_1_" + id1: true, "eventlog_v2_" + id1 + "/events_1_" + id1 + ".zstd": true, "x/eventlog_v2_/y": false,
	} {
		a := capacityAnswers()
		a["/ws/v1/cluster/apps"] = sparkApp("")
		o := served(t, a)
		src := func(context.Context) iter.Seq2[spark.File, error] {
			return func(yield func(spark.File, error) bool) {
				f := spark.File{Name: name, Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(sparkLog())), nil }}
				if yield(f, nil) { // and a copy elsewhere
					f.Name = "copy/" + name
					yield(f, nil)
				}
			}
		}
		o.History, o.Logs = false, Logs(src, "there")
		if sum, jobs := imported(t, o); (jobs[0].Keep != nil) != fits {
			t.Errorf("%s: %v", name, sum.Notes)
		}
	}
}

// Of what was held beyond the executors' registration, their start explains no more than the time until they registered.
func TestRequests(t *testing.T) {
	at := func(s float64) int64 { return ms0 + int64(s*1000) }
	for name, c := range map[string]struct {
		executors    []spark.Executor
		start        unit.Time // by what was held
		dynamic      *workload.Dynamic
		want, amWant unit.Time
	}{
		"at once":        {[]spark.Executor{{Added: at(18)}, {Added: at(18)}}, 10 * unit.Second, nil, 10 * unit.Second, 5 * unit.Second},
		"requested late": {[]spark.Executor{{Added: at(20)}, {Added: at(20)}}, 10 * unit.Second, nil, 10 * unit.Second, 7 * unit.Second},
		"waited":         {[]spark.Executor{{Added: at(90)}, {Added: at(90)}}, 10 * unit.Second, nil, 10 * unit.Second, 9 * unit.Second},
		"too many held":  {[]spark.Executor{{Added: at(16)}, {Added: at(20)}}, 14 * unit.Second, nil, 10 * unit.Second, 5 * unit.Second},
		"asked":          {[]spark.Executor{{Asked: at(9), Added: at(20)}, {Added: at(80)}}, 10 * unit.Second, &workload.Dynamic{}, 10 * unit.Second, 7 * unit.Second},
		"not known":      {[]spark.Executor{{Added: at(6)}}, 10 * unit.Second, nil, 10 * unit.Second, 0},
	} {
		log := readLog(t, sparkLog())
		log.Executors = c.executors
		j := &workload.Job{Keep: &workload.Keep{Max: 2, Start: c.start, Dynamic: c.dynamic}}
		requests(j, &app{Launch: at(2), Finished: at(102)}, log)
		if j.Keep.Start != c.want || j.AMStart != c.amWant {
			t.Errorf("%s: executors start in %v, the AM in %v: want %v, %v", name, j.Keep.Start, j.AMStart, c.want, c.amWant)
		}
	}
}

// Whatever a log says, joining it neither fails badly nor changes whose the application is.
func FuzzSparkJoin(f *testing.F) {
	for _, text := range []string{sparkLog(), sparkLog("512m", "0"), sparkLog(`"300m"`, `"0"`, `"512m"`, `"0"`), sparkLog("client", "cluster"), sparkLog("18000", "-1")} {
		f.Add(text, int64(244019), int64(288), int64(0))
	}
	f.Fuzz(func(t *testing.T, text string, mem, cores, least int64) {
		log, err := spark.Read(strings.NewReader(text), "log", nil)
		if err != nil {
			return
		}
		site := conf.DefaultSite()
		site.MinAllocation.Mem = min(max(least, 0), 4096)
		a := &app{ID: id1, User: "bob", Queue: "q", Started: ms0, Launch: ms0 + 2000, Finished: ms0 + 102_000, MemorySeconds: mem, CoreSeconds: cores, Status: "SUCCEEDED"}
		j, err := (&builder{names: &names{}, site: site}).spark(a, log, &tally{})
		if err != nil {
			return
		}
		if err := j.Validate(); err != nil || j.ID != id1 || j.User != "bob" || j.Queue != "q" || j.Keep.Start <= 0 || j.Keep.Start > unit.FromSeconds(maxExecutorStart) {
			t.Errorf("%v: %+v %+v", err, j, j.Keep)
		}
	})
}
