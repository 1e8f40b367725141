package hostile

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/cluster/clusterfile"
	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/internal/parq"
	"github.com/yardmaster/yardmaster/internal/yamlfile"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/sim/mapreduce/modelfile"
	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/whatif/tune"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/google"
	"github.com/yardmaster/yardmaster/workload/jobfile"
	"github.com/yardmaster/yardmaster/workload/rumen"
	"github.com/yardmaster/yardmaster/workload/sls"
	"github.com/yardmaster/yardmaster/workload/spark"
	"github.com/yardmaster/yardmaster/workload/swim"
	"github.com/yardmaster/yardmaster/workload/table"
	"github.com/yardmaster/yardmaster/workload/trace"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/jhist"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// size of the texts: large enough that a reader whose memory grows with the square of them fails, small enough that such a
// failure does not take the machine with it.
const size = 64 << 10

// fixed is what a reader may allocate whatever it reads: buffers, and refusals that come with a limit of their own.
const fixed = 4 << 20

// reader is one reader and what is thrown at it. It may allocate each bytes for every byte it is given, and fixed.
type reader struct {
	name  string
	each  int64
	texts map[string]string
	read  func(data []byte)
}

// No reader uses memory out of proportion to what it is given, whatever that is.
func TestReadersTakeMemoryInProportion(t *testing.T) {
	for _, r := range readers(t) {
		t.Run(r.name, func(t *testing.T) {
			var worst int64
			for name, text := range r.texts {
				got := Allocated(func() { r.read([]byte(text)) })
				worst = max(worst, got/int64(len(text)))
				if most := fixed + r.each*int64(len(text)); got > most {
					t.Errorf("%s: %d bytes make it allocate %d MB, %d each; at most %d MB", name, len(text), got>>20, got/int64(len(text)), most>>20)
				}
			}
			t.Logf("at most %d bytes for each", worst)
		})
	}
}

func readers(t *testing.T) []reader {
	list := []reader{
		{"yaml", 1024, YAML(size), func(b []byte) { _, _ = yamlfile.Parse("f", b) }},
		{"scenario", 1024, YAML(size), func(b []byte) { _, _ = scenario.Parse("f", b) }},
		{"model", 1024, YAML(size), func(b []byte) { _, _ = modelfile.Parse("f", b) }},
		{"cluster", 1024, clusters(), func(b []byte) { _, _ = clusterfile.Parse("f", b) }},
		{"topology", 128, JSON(size, "children"), func(b []byte) { _, _ = rumen.ReadTopology(bytes.NewReader(b), "f", cluster.Unit) }},
		{"sls nodes", 128, JSON(size, "nodes"), func(b []byte) { _, _ = sls.ReadNodes(bytes.NewReader(b), "f") }},

		{"swim", 128, Lines(size, "\t", 6), source(func(r io.Reader) workload.Source {
			s, err := swim.NewReader(r, "f", swim.Default())
			return or(s, err)
		})},
		{"google", 128, Lines(size, ",", 8), source(func(r io.Reader) workload.Source {
			f, err := input.NewFile(r, "f", input.Limits{})
			if err != nil {
				return nil
			}
			s, err := google.OpenParts([]google.Part{{File: f}}, google.Options{})
			return or(s, err)
		})},
		{"rumen", 128, JSON(size, "mapTasks", "mapTasks.attempts", "jobProperties"), source(func(r io.Reader) workload.Source { return rumen.NewReader(r, "f", rumen.Options{}) })},
		{"sls", 128, JSON(size, "job.tasks"), source(func(r io.Reader) workload.Source { return sls.NewReader(r, "f", sls.Options{}) })},
		{"synth", 256, JSON(size, "workloads", "job_classes"), source(func(r io.Reader) workload.Source { return sls.NewSynthReader(r, "f", sls.SynthOptions{}) })},
		{"table", 256, tables(), source(func(r io.Reader) workload.Source {
			f, err := input.NewFile(r, "f", input.Limits{})
			if err != nil {
				return nil
			}
			in := table.New(table.Options{Ask: cluster.Unit})
			if in.AddText(f) != nil || in.End() != nil {
				return nil
			}
			return in
		})},
		{"columns", 128, parquets(t), func(b []byte) {
			in, err := parq.NewTable(bytes.NewReader(b), int64(len(b)))
			if err != nil || in.Choose([]int{0, 1, 2, 3, 5}) != nil {
				return
			}
			for err == nil {
				_, err = in.Next()
			}
		}},
		{"jobs", 128, parquets(t), func(b []byte) {
			if r, err := jobfile.NewReader(bytes.NewReader(b), int64(len(b)), "f"); err == nil {
				drain(r)
			}
		}},
		{"spark", 256, logs(), func(b []byte) {
			if a, err := spark.Read(bytes.NewReader(b), "f", nil); err == nil {
				_, _, _ = a.Job(spark.Options{Running: true})
			}
		}},

		{"xml", 128, XML(size, "configuration"), func(b []byte) { _, _ = conf.ReadXML(bytes.NewReader(b), "f") }},
		{"properties", 128, XML(size, "configuration"), func(b []byte) { _, _ = conf.ReadProperties(bytes.NewReader(b), "f") }},
		{"capacity scheduler", 256, XML(size, "configuration"), func(b []byte) { _, _ = conf.ReadCapacity(bytes.NewReader(b), "f") }},
		{"hadoop 1 capacity", 128, XML(size, "configuration"), func(b []byte) { _, _ = conf.ReadCapacity1(bytes.NewReader(b), "f") }},
		{"fair scheduler", 256, XML(size, "allocations"), func(b []byte) { _, _ = conf.ReadFair(bytes.NewReader(b), "f") }},
		{"job configuration", 32, XML(size, "configuration"), func(b []byte) { _, _ = jhist.ReadConf(bytes.NewReader(b), func(string) bool { return true }) }},
		{"job history", 256, histories(), func(b []byte) { _, _ = new(jhist.Parser).Parse(bytes.NewReader(b)) }},

		{"shards", 1024, shards(), func(b []byte) { _, _ = tune.Merge(map[string]io.Reader{"f": bytes.NewReader(b)}, io.Discard) }},
		{"findings", 1024, JSON(size, "studies", "seeds", "failures"), func(b []byte) { _, _ = experiment.ReadJSON(bytes.NewReader(b)) }},
		{"journal", 512, journals(), journal(t)},
	}
	return append(list, answers(t)...)
}

// shards are files of a sweep, one that announces more than it has among them.
func shards() map[string]string {
	const head = `{"points":1000001}` + "\n"
	out := map[string]string{"nothing": head, "points": number(head, `{"point":%d}`+"\n", "", size), "one point": fill(head, `{"point":1}`+"\n", "", size)}
	for name, text := range JSON(size, "changes", "by_queue", "metrics.wait", "jobs") {
		out[name], out["point "+name] = text, head+text+"\n"
	}
	return out
}

// tables are lines behind a header that fits them, and without one.
func tables() map[string]string {
	out := map[string]string{}
	for _, mark := range []string{",", "|", "\t"} {
		head := strings.Join([]string{"id", "user", "submit", "seconds", "stage", "after"}, mark) + "\n"
		for name, text := range Lines(size, mark, 6) {
			out[mark+" "+name], out[mark+" with a header: "+name] = text, head+text
		}
		out[mark+" stages"] = number(head, strings.Join([]string{"a", "a", "1", "1", "%d", "b"}, mark)+"\n", "", size)
		out[mark+" jobs of stages"] = number(head, strings.Join([]string{"%d", "a", "1", "1", "s", ""}, mark)+"\n", "", size)
		out[mark+" quotes"] = fill(head, `"`, "", size)
	}
	return out
}

// logs are event logs of Spark: many events of each kind, and hostile values in those of one.
func logs() map[string]string {
	const start = `{"Event":"SparkListenerApplicationStart","App Name":"a","App ID":"a","Timestamp":1000}` + "\n"
	event := func(name, members string) string { return `{"Event":"SparkListener` + name + `",` + members + "}\n" }
	task := event("TaskEnd", `"Stage ID":%[1]d,"Task End Reason":{"Reason":"Success"},"Task Info":{"Task ID":%[1]d,"Index":%[1]d,"Launch Time":1000,"Finish Time":2000,"Executor ID":"1"}`)
	out := map[string]string{
		"executors": number(start, event("ExecutorAdded", `"Timestamp":1000,"Executor ID":"%d","Executor Info":{"Host":"n","Total Cores":1000000}`), "", size),
		"jobs":      number(start, event("JobStart", `"Job ID":%[1]d,"Submission Time":1000,"Stage IDs":[%[1]d]`)+task, "", size),
		"one job": fill(start+event("ExecutorAdded", `"Timestamp":1000,"Executor ID":"1"`)+fmt.Sprintf(task, 0),
			event("JobStart", `"Job ID":0,"Submission Time":1000,"Stage IDs":[0],"Properties":{"spark.sql.execution.id":"1"}`)+event("JobEnd", `"Job ID":0,"Completion Time":1000`), "", size),
		"stages":    number(start, event("StageSubmitted", `"Stage Info":{"Stage ID":%d,"Number of Tasks":1000000000000}`), "", size),
		"tasks":     number(start, strings.Replace(task, `"Stage ID":%[1]d`, `"Stage ID":1`, 1), "", size),
		"SQL":       number(start, `{"Event":"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart","executionId":%d,"time":1000}`+"\n", "", size),
		"unpersist": number(start, event("UnpersistRDD", `"RDD ID":%d`), "", size),
		"no events": number("", "%d\n", "", size),
	}
	for name, text := range JSON(size, "Stage Info", "Stage Info.RDD Info", "Stage Info.Parent IDs") {
		out["stage "+name] = start + `{"Event":"SparkListenerStageSubmitted",` + strings.TrimPrefix(text, "{") + "\n"
	}
	for name, text := range JSON(size, "Stage Infos", "Stage IDs", "Properties", "Executor Info.Executor Info") {
		out["job "+name] = start + `{"Event":"SparkListenerJobStart",` + strings.TrimPrefix(text, "{") + "\n"
	}
	return out
}

// clusters are descriptions of nodes, small ones of many among them.
func clusters() map[string]string {
	out := YAML(size)
	for p, text := range JSON(size, "children", "nodes") {
		out["JSON "+p] = text
	}
	out["names"] = number("groups:\n- {racks: [r], memory: 1, cores: 1, names: [", "n%d,", "]}\n", size)
	out["nodes"] = number("nodes:\n", "- {name: n%d, rack: r, memory: 1, cores: 1}\n", "", size)
	out["groups"] = fill("groups:\n", "- {count: 1, memory: 1, cores: 1}\n", "", size)
	return out
}

// parquets are Parquet files, damaged ones, and what only looks like one.
func parquets(t *testing.T) map[string]string {
	var b bytes.Buffer
	w := jobfile.NewWriter(&b, jobfile.NewMeta("t", "t", nil))
	j := workload.Job{ID: "a", Stages: []workload.Stage{{Name: "s", Tasks: 1, Length: workload.Fixed(1), Ask: cluster.Unit}}}
	for range 200 {
		if err := w.Write(&j); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	good := b.String()
	out := map[string]string{"sound": good}
	length := len(good) - 8 // where the footer's length stands
	for _, n := range []uint32{0, 1, 1 << 20, 1<<31 - 1, 1<<32 - 1} {
		out["footer of "+string(rune('a'+n%26))] = good[:length] + string(binary.LittleEndian.AppendUint32(nil, n)) + "PAR1"
	}
	for i := 4; i < len(good)-8; i += 1 + len(good)/200 { // a byte of each part of it
		damaged := []byte(good)
		damaged[i] = 0xff
		out["byte "+string(rune(i))] = string(damaged)
	}
	footer := strings.Repeat("\x19\xfc\xff\xff\xff\x0f", size/6) // lists of structures without end
	out["footer of lists"] = "PAR1" + footer + string(binary.LittleEndian.AppendUint32(nil, uint32(len(footer)))) + "PAR1"
	return out
}

// histories are job histories: hostile schemas, and hostile events under sound ones.
func histories() map[string]string {
	out := map[string]string{}
	for name, text := range JSON(size, "event", "event.org.apache.hadoop.mapreduce.jobhistory.JobSubmitted.conf") {
		out["events "+name] = "Avro-Json\n{}\n" + text
		out["schema "+name] = "Avro-Binary\n" + text + "\n\x00"
	}
	many := string(binary.AppendVarint(nil, 1<<40)) // so many elements follow, it says
	for name, schema := range map[string]string{
		"nulls": `{"type":"array","items":"null"}`, "empty records": `{"type":"array","items":{"type":"record","name":"r","fields":[]}}`, "empty texts": `{"type":"array","items":{"type":"fixed","name":"f","size":0}}`,
		"integers": `{"type":"array","items":"int"}`, "map": `{"type":"map","values":"null"}`, "bytes": `"bytes"`, "text": `"string"`, "fixed": `{"type":"fixed","name":"f","size":1000000000000}`,
		"itself": `{"type":"record","name":"r","fields":[{"name":"r","type":"r"}]}`, "lists of itself": `{"type":"record","name":"r","fields":[{"name":"r","type":{"type":"array","items":"r"}}]}`,
	} {
		record := `{"type":"record","name":"top","fields":[{"name":"a","type":` + schema + `}]}`
		out[name] = "Avro-Binary\n" + record + "\n" + many + strings.Repeat("\x00", size)
		out["many "+name] = "Avro-Binary\n" + record + "\n" + strings.Repeat("\x02", size)
		out["most "+name] = "Avro-Binary\n" + record + "\n" + strings.Repeat("\xfe\xff\xff\x0f", size/4)
	}
	return out
}

func journals() map[string]string {
	out := JSON(size)
	for name, text := range Lines(size, " ", 3) {
		out["lines "+name] = text
	}
	return out
}

func journal(t *testing.T) func([]byte) {
	dir := t.TempDir()
	return func(b []byte) {
		if err := os.WriteFile(filepath.Join(dir, "journal.jsonl"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, _ = live.ReadJournal(dir)
	}
}

// answers are the reads of a client of servers that answer with whatever they like.
func answers(t *testing.T) []reader {
	var text []byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text)
	}))
	t.Cleanup(srv.Close)
	c, err := rest.New(rest.Options{RM: []string{srv.URL}, History: srv.URL, NameNodes: []string{srv.URL}, Retries: -1, RMRate: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdle)
	ctx := t.Context()
	queues := JSON(size, "scheduler.schedulerInfo.queues.queue", "scheduler.schedulerInfo.rootQueue.childQueues.queue")
	queues["a long name"] = fill(`{"scheduler":{"schedulerInfo":{"queueName":"`+strings.Repeat("q", size/2)+`","queues":{"queue":[`, `{"a":    0},`, `{}]}}}}`, size)
	properties := JSON(size, "property", "properties")
	maps.Copy(properties, XML(size, "configuration"))
	list := []reader{
		{"info", 128, JSON(size, "clusterInfo"), func([]byte) { _, _ = c.Info(ctx) }},
		{"metrics", 128, JSON(size, "clusterMetrics"), func([]byte) { _, _ = c.Metrics(ctx) }},
		{"scheduler", 256, queues, func([]byte) { _, _ = c.Scheduler(ctx) }},
		{"nodes", 256, JSON(size, "nodes.node"), all(c.Nodes(ctx))},
		{"applications", 256, JSON(size, "apps.app"), all(c.Apps(ctx, rest.AppFilter{}))},
		{"applications with long texts", 1, longTexts(), all(c.Apps(ctx, rest.AppFilter{}))},
		{"application", 128, JSON(size, "app"), func([]byte) { _, _ = c.App(ctx, "application_1_0001") }},
		{"nodes without the object around them", 256, JSON(size, "node"), all(c.Nodes(ctx))},
		{"conf", 256, properties, func([]byte) { _, _ = c.Conf(ctx) }},
		{"scheduler-conf", 256, properties, func([]byte) { _, _ = c.SchedulerConf(ctx) }},
		{"history jobs", 256, JSON(size, "jobs.job"), all(c.History().Jobs(ctx, rest.JobFilter{}))},
		{"AM's tasks", 256, JSON(size, "tasks.task"), all(c.AM("application_1_0001").Tasks(ctx, "job_1_0001"))},
		{"counters", 256, JSON(size, "jobCounters.counterGroup", "jobCounters.counterGroup.counter"), func([]byte) { _, _ = c.History().Counters(ctx, "job_1_0001") }},
		{"files", 256, JSON(size, "FileStatuses.FileStatus"), all(c.Files().List(ctx, "/"))},
	}
	for i := range list {
		read := list[i].read
		list[i].name = "answer: " + list[i].name
		list[i].read = func(b []byte) { text = b; read(b) }
	}
	return list
}

// longTexts are lists of applications with texts of some megabytes, of which a reader keeps little.
func longTexts() map[string]string {
	const n = 128 * size
	out := map[string]string{}
	for name, unit := range map[string]string{"plain": "x", "escapes": `\u0000`, "quotes": `\"`, "characters": "é", "broken": "\x80"} {
		out[name] = fill(`{"apps":{"app":[{"id":"application_1_0001","name":"`, unit, `","user":"u"}]}}`, n)
		out[name+" as a key"] = fill(`{"apps":{"app":[{"id":"application_1_0001","`, unit, `":1}]}}`, n)
	}
	out["many"] = fill(`{"apps":{"app":[{"id":"application_1_0001","tags":["`+strings.Repeat("x", n/2)+`"`, `,"`+strings.Repeat("y", 2*size)+`"`, `]}]}}`, n)
	return out
}

func all[T any](list iter.Seq2[T, error]) func([]byte) {
	return func([]byte) {
		for range list { //nolint:revive // an error ends it
		}
	}
}

func source(open func(io.Reader) workload.Source) func([]byte) {
	return func(b []byte) {
		if s := open(bytes.NewReader(b)); s != nil {
			drain(s)
		}
	}
}

func or[S workload.Source](s S, err error) workload.Source {
	if err != nil {
		return nil
	}
	return s
}

func drain(s workload.Source) {
	for {
		if _, err := s.Next(); err != nil {
			return
		}
	}
}

// A file that unfolds without end is read in little memory and refused.
func TestBombsAreRefused(t *testing.T) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	for range 1024 {
		if _, err := z.Write(make([]byte, 64<<10)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "bomb")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func() error{
		"cluster": func() error { _, err := trace.OpenCluster(path); return err },
		"lines": func() error {
			f, err := input.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = io.Copy(io.Discard, f)
			return err
		},
	} {
		var err error
		got := Allocated(func() { err = read() })
		if err == nil || !strings.Contains(err.Error(), "expands more than") {
			t.Errorf("%s: %v", name, err)
		}
		if most := int64(16 << 20); got > most {
			t.Errorf("%s: %d bytes make it allocate %d MB; at most %d MB", name, b.Len(), got>>20, most>>20)
		}
	}
}
