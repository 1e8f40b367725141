package jhist

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/twmb/avro"
)

// The tests write their own files, with a schema that has the names and shapes of Hadoop's Events.avpr and only the fields
// that matter, plus some that do not.

const ns = "org.apache.hadoop.mapreduce.jobhistory."

// field is a name and a type in Avro's own writing.
type field struct{ name, typ string }

func rec(name string, fields ...field) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"type":"record","name":%q,"namespace":"org.apache.hadoop.mapreduce.jobhistory","fields":[`, name)
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":%q,"type":%s}`, f.name, f.typ)
	}
	return b.String() + "]}"
}

const (
	str, long, whole, truth = `"string"`, `"long"`, `"int"`, `"boolean"`
	maybe                   = `["null","string"]`
	someCounters            = `["null","JhCounters"]`
)

// schema is like Hadoop 3's; old leaves out what Hadoop 2 did not have.
func schema(old bool) string {
	counter := rec("JhCounter", field{"name", str}, field{"displayName", str}, field{"value", long})
	group := rec("JhCounterGroup", field{"name", str}, field{"displayName", str}, field{"counts", `{"type":"array","items":` + counter + `}`})
	counters := rec("JhCounters", field{"name", str}, field{"groups", `{"type":"array","items":` + group + `}`})
	started := []field{
		{"taskid", str}, {"taskType", str}, {"attemptId", str}, {"startTime", long}, {"trackerName", str}, {"httpPort", whole},
		{"shufflePort", whole}, {"containerId", str},
	}
	failed := []field{{"jobid", str}, {"finishTime", long}, {"finishedMaps", whole}, {"jobStatus", str}}
	if !old {
		started = append(started, field{"locality", maybe}, field{"avataar", maybe})
		failed = append(failed, field{"diagnostics", maybe})
	}
	ended := []field{{"taskid", str}, {"attemptId", str}, {"taskType", str}, {"finishTime", long}, {"hostname", str}, {"rackname", str}, {"counters", `"JhCounters"`}}
	ints := `{"type":"array","items":"int"}`
	union := []string{
		rec("JobFinished", field{"jobid", str}, field{"finishTime", long}, field{"totalCounters", counters}, field{"mapCounters", `"JhCounters"`}),
		rec("JobInfoChange", field{"jobid", str}, field{"submitTime", long}, field{"launchTime", long}),
		rec("JobInited", field{"jobid", str}, field{"launchTime", long}, field{"totalMaps", whole}, field{"totalReduces", whole}, field{"jobStatus", str}, field{"uberized", truth}),
		rec("AMStarted", field{"applicationAttemptId", str}, field{"startTime", long}, field{"containerId", str}, field{"nodeManagerHost", str}),
		rec("JobPriorityChange", field{"jobid", str}, field{"priority", str}),
		rec("JobQueueChange", field{"jobid", str}, field{"jobQueueName", str}),
		rec("JobSubmitted", field{"jobid", str}, field{"jobName", str}, field{"userName", str}, field{"submitTime", long},
			field{"acls", `{"type":"map","values":"string"}`}, field{"jobQueueName", str}, field{"workflowId", maybe}),
		rec("JobUnsuccessfulCompletion", failed...),
		rec("MapAttemptFinished", append(ended, field{"mapFinishTime", long}, field{"clockSplits", ints})...),
		rec("ReduceAttemptFinished", append(ended, field{"shuffleFinishTime", long}, field{"sortFinishTime", long})...),
		rec("TaskAttemptStarted", started...),
		rec("TaskAttemptUnsuccessfulCompletion", field{"taskid", str}, field{"taskType", str}, field{"attemptId", str}, field{"finishTime", long},
			field{"hostname", str}, field{"rackname", str}, field{"status", str}, field{"error", str}, field{"counters", someCounters}),
		rec("TaskFailed", field{"taskid", str}, field{"taskType", str}, field{"finishTime", long}, field{"error", str}, field{"status", str}, field{"counters", someCounters}),
		rec("TaskFinished", field{"taskid", str}, field{"taskType", str}, field{"finishTime", long}, field{"status", str}, field{"counters", `"JhCounters"`}),
		rec("TaskStarted", field{"taskid", str}, field{"taskType", str}, field{"startTime", long}, field{"splitLocations", str}),
	}
	kinds := `{"type":"enum","name":"EventType","symbols":["JOB_SUBMITTED","JOB_INITED","JOB_FINISHED","JOB_PRIORITY_CHANGED","JOB_QUEUE_CHANGED",
"JOB_FAILED","JOB_KILLED","JOB_INFO_CHANGED","TASK_STARTED","TASK_FINISHED","TASK_FAILED","MAP_ATTEMPT_STARTED","MAP_ATTEMPT_FINISHED",
"MAP_ATTEMPT_FAILED","MAP_ATTEMPT_KILLED","REDUCE_ATTEMPT_STARTED","REDUCE_ATTEMPT_FINISHED","REDUCE_ATTEMPT_FAILED","REDUCE_ATTEMPT_KILLED",
"CLEANUP_ATTEMPT_STARTED","AM_STARTED"]}`
	var all bytes.Buffer
	for i, u := range union {
		if i > 0 {
			all.WriteByte(',')
		}
		all.WriteString(u)
	}
	var line bytes.Buffer
	text := rec("Event", field{"type", kinds}, field{"event", "[" + all.String() + "]"})
	if err := json.Compact(&line, []byte(text)); err != nil {
		panic(err)
	}
	return line.String()
}

// happening is an event: its type, the record it is, and its fields.
type happening struct {
	kind, record string
	fields       map[string]any
}

func counters(pairs ...any) map[string]any {
	var counts []any
	for i := 0; i < len(pairs); i += 2 {
		counts = append(counts, map[string]any{"name": pairs[i], "displayName": "Number of things", "value": int64(pairs[i+1].(int))})
	}
	return map[string]any{"name": "COUNTERS", "groups": []any{
		map[string]any{"name": "empty", "displayName": "", "counts": []any{}},
		map[string]any{"name": "group", "displayName": "Group", "counts": counts},
	}}
}

// encode writes events in one of the two forms.
func encode(t testing.TB, text string, asJSON bool, events []happening) []byte {
	t.Helper()
	s, err := avro.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if asJSON {
		out.WriteString("Avro-Json\n" + text)
	} else {
		out.WriteString("Avro-Binary\n" + text + "\n")
	}
	for _, e := range events {
		v := map[string]any{"type": e.kind, "event": map[string]any{ns + e.record: e.fields}}
		if asJSON {
			line, err := s.EncodeJSON(v, avro.TaggedUnions())
			if err != nil {
				t.Fatalf("%s: %v", e.kind, err)
			}
			out.WriteString("\n")
			out.Write(line)
			out.WriteString("\n")
			continue
		}
		b, err := s.Encode(v)
		if err != nil {
			t.Fatalf("%s: %v", e.kind, err)
		}
		out.Write(b)
	}
	return out.Bytes()
}

const base = 1_700_000_000_000

// history is a job of two maps and one reduce with most of what can happen: a failed and a killed attempt, a queue move, a
// second AM that repeats what the first wrote.
func history(old bool) []happening {
	const job, app = "job_1700000000000_0007", "1700000000000_0007"
	type m = map[string]any
	task := func(kind byte, n int) string { return fmt.Sprintf("task_%s_%c_%06d", app, kind, n) }
	attempt := func(kind byte, n, try int) string { return fmt.Sprintf("attempt_%s_%c_%06d_%d", app, kind, n, try) }
	started := func(kind byte, n, try, at int, host, near string, container int) happening {
		typ := map[byte]string{'m': "MAP", 'r': "REDUCE"}[kind]
		f := m{
			"taskid": task(kind, n), "taskType": typ, "attemptId": attempt(kind, n, try), "startTime": int64(base + at), "trackerName": host,
			"httpPort": int32(8042), "shufflePort": int32(13562), "containerId": fmt.Sprintf("container_e17_%s_01_%06d", app, container),
		}
		if !old {
			f["locality"], f["avataar"] = near, "VIRGIN"
		}
		return happening{typ + "_ATTEMPT_STARTED", "TaskAttemptStarted", f}
	}
	mapDone := func(n, try, at int, host string) happening {
		return happening{"MAP_ATTEMPT_FINISHED", "MapAttemptFinished", m{
			"taskid": task('m', n), "attemptId": attempt('m', n, try), "taskType": "MAP", "finishTime": int64(base + at), "hostname": host,
			"rackname": "/r1", "counters": counters("HDFS_BYTES_READ", 1000, "MAP_OUTPUT_BYTES", 50, "MAP_OUTPUT_MATERIALIZED_BYTES", 60),
			"mapFinishTime": int64(base + at), "clockSplits": []any{int32(1), int32(2)},
		}}
	}
	lost := func(kind string, n, try, at int) happening {
		return happening{kind, "TaskAttemptUnsuccessfulCompletion", m{
			"taskid": task('m', n), "taskType": "MAP", "attemptId": attempt('m', n, try), "finishTime": int64(base + at), "hostname": "n1",
			"rackname": "/r1", "status": "FAILED", "error": "Exit code is 1", "counters": nil,
		}}
	}
	taskStarted := func(kind byte, n, at int, hosts string) happening {
		typ := map[byte]string{'m': "MAP", 'r': "REDUCE"}[kind]
		return happening{"TASK_STARTED", "TaskStarted", m{"taskid": task(kind, n), "taskType": typ, "startTime": int64(base + at), "splitLocations": hosts}}
	}
	taskDone := func(kind byte, n, at int) happening {
		typ := map[byte]string{'m': "MAP", 'r': "REDUCE"}[kind]
		return happening{"TASK_FINISHED", "TaskFinished", m{"taskid": task(kind, n), "taskType": typ, "finishTime": int64(base + at), "status": "SUCCEEDED", "counters": counters()}}
	}
	am := func(at int, host string) happening {
		return happening{"AM_STARTED", "AMStarted", m{
			"applicationAttemptId": "appattempt_" + app + "_000001", "startTime": int64(base + at),
			"containerId": "container_e17_" + app + "_01_000001", "nodeManagerHost": host,
		}}
	}
	return []happening{
		am(1500, "n3"),
		{"JOB_SUBMITTED", "JobSubmitted", m{
			"jobid": job, "jobName": "wörd-count", "userName": "ann", "submitTime": int64(base), "acls": m{"VIEW": "*"},
			"jobQueueName": "etl", "workflowId": "",
		}},
		{"JOB_QUEUE_CHANGED", "JobQueueChange", m{"jobid": job, "jobQueueName": "root.etl"}},
		{"JOB_INITED", "JobInited", m{"jobid": job, "launchTime": int64(base + 4000), "totalMaps": int32(2), "totalReduces": int32(1), "jobStatus": "INITED", "uberized": false}},
		{"JOB_INFO_CHANGED", "JobInfoChange", m{"jobid": job, "submitTime": int64(base), "launchTime": int64(base + 4000)}},
		taskStarted('m', 1, 4100, "n2,n3, n2"),
		taskStarted('m', 0, 4100, ""),
		taskStarted('r', 0, 4200, ""),
		started('m', 0, 0, 6000, "n1", "NODE_LOCAL", 2),
		started('m', 1, 0, 6100, "n1", "RACK_LOCAL", 3),
		lost("MAP_ATTEMPT_FAILED", 1, 0, 7000),
		am(1500, "n3"), // a second AM, with what it recovered
		am(8000, "n2"),
		{"JOB_PRIORITY_CHANGED", "JobPriorityChange", m{"jobid": job, "priority": "HIGH"}},
		started('m', 1, 0, 6100, "n1", "RACK_LOCAL", 3),
		lost("MAP_ATTEMPT_FAILED", 1, 0, 7000),
		started('m', 1, 1000, 9000, "n2", "NODE_LOCAL", 2),
		started('m', 1, 1001, 9500, "n1", "OFF_SWITCH", 3),
		mapDone(0, 0, 9000, "n1"),
		taskDone('m', 0, 9000),
		started('r', 0, 0, 9100, "n3", "OFF_SWITCH", 4),
		mapDone(1, 1000, 12000, "n2"),
		taskDone('m', 1, 12000),
		lost("MAP_ATTEMPT_KILLED", 1, 1001, 12010),
		{"REDUCE_ATTEMPT_FINISHED", "ReduceAttemptFinished", m{
			"taskid": task('r', 0), "attemptId": attempt('r', 0, 0), "taskType": "REDUCE", "finishTime": int64(base + 15000), "hostname": "n3",
			"rackname": "/r2", "counters": counters("REDUCE_SHUFFLE_BYTES", 120, "HDFS_BYTES_WRITTEN", 77),
			"shuffleFinishTime": int64(base + 12500), "sortFinishTime": int64(base + 12600),
		}},
		taskDone('r', 0, 15000),
		{"JOB_FINISHED", "JobFinished", m{
			"jobid": job, "finishTime": int64(base + 15050), "mapCounters": counters(),
			"totalCounters": counters("HDFS_BYTES_READ", 2000, "DATA_LOCAL_MAPS", 2, "RACK_LOCAL_MAPS", 1, "MB_MILLIS_MAPS", 6000*512, "MILLIS_MAPS", 6000, "VCORES_MILLIS_MAPS", 12000),
		}},
	}
}
