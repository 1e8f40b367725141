package jhist

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// want is what history holds.
func want(old bool) *Job {
	near := func(s string) string {
		if old {
			return ""
		}
		return s
	}
	at := func(n Millis) Millis { return base + n }
	moved := Moved{HDFSRead: 1000}
	return &Job{
		ID: "job_1700000000000_0007", Name: "wörd-count", User: "ann", Queue: "root.etl", Priority: "HIGH", Submit: at(0), Launch: at(4000),
		Finish: at(15050), Status: "SUCCEEDED", Events: 27,
		AMs: []AM{
			{at(1500), "container_e17_1700000000000_0007_01_000001"},
			{at(8000), "container_e17_1700000000000_0007_01_000001"},
		},
		Maps: []Task{
			{Number: 0, Attempts: []Attempt{
				{Start: at(6000), Finish: at(9000), Outcome: Succeeded, Locality: near("NODE_LOCAL"), Moved: moved},
			}},
			{Number: 1, Hosts: []string{"n2", "n3"}, Attempts: []Attempt{
				{Start: at(6100), Finish: at(7000), Outcome: Failed, Locality: near("RACK_LOCAL")},
				{Number: 1000, Start: at(9000), Finish: at(12000), Outcome: Succeeded, Locality: near("NODE_LOCAL"), Moved: moved},
				{Number: 1001, Start: at(9500), Finish: at(12010), Outcome: Killed, Locality: near("OFF_SWITCH")},
			}},
		},
		Reduces: []Task{{Number: 0, Attempts: []Attempt{{
			Start: at(9100), Finish: at(15000), ShuffleFinished: at(12500), Outcome: Succeeded, Locality: near("OFF_SWITCH"),
			Moved: Moved{Shuffled: 120, HDFSWritten: 77},
		}}}},
		Totals: Counters{Moved: Moved{HDFSRead: 2000}, MemoryMillisMaps: 6000 * 512, SlotMillisMaps: 6000, CoreMillisMaps: 12000},
	}
}

func TestParse(t *testing.T) {
	var p Parser
	for _, asJSON := range []bool{false, true} {
		for _, old := range []bool{false, true} {
			t.Run(fmt.Sprintf("json=%v,old=%v", asJSON, old), func(t *testing.T) {
				file := encode(t, schema(old), asJSON, history(old))
				for name, r := range map[string]io.Reader{
					"whole": bytes.NewReader(file), "byte by byte": iotest.OneByteReader(bytes.NewReader(file)),
				} {
					got, err := p.Parse(r)
					if err != nil {
						t.Fatal(name, err)
					}
					if diff := cmp.Diff(want(old), got, cmpopts.EquateEmpty()); diff != "" {
						t.Errorf("%s: %s", name, diff)
					}
				}
			})
		}
	}
}

func TestSuccessful(t *testing.T) {
	j := want(false)
	if a := j.Maps[1].Successful(); a == nil || a.Number != 1000 {
		t.Errorf("the successful attempt is %v", a)
	}
	if a := (&Task{Attempts: []Attempt{{Outcome: Failed}}}).Successful(); a != nil {
		t.Errorf("a task without one has %v", a)
	}
}

func TestFailedJob(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		events := history(false)[:12]
		events = append(events, happening{"JOB_FAILED", "JobUnsuccessfulCompletion", map[string]any{
			"jobid": "job_1700000000000_0007", "finishTime": int64(base + 9), "finishedMaps": int32(0), "jobStatus": "FAILED", "diagnostics": "Task failed",
		}})
		j, err := new(Parser).Parse(bytes.NewReader(encode(t, schema(false), asJSON, events)))
		if err != nil {
			t.Fatal(err)
		}
		if j.Status != "FAILED" || j.Finish != base+9 || len(j.Maps) != 2 {
			t.Errorf("%+v", j)
		}
	}
}

// A file that is cut between two events is one of a job that did not end; within an event it is an error.
func TestCut(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		whole := encode(t, schema(false), asJSON, history(false))
		refused := 0
		var p Parser
		for n := 0; n < len(whole)-1; n += 29 {
			j, err := p.Parse(bytes.NewReader(whole[:n]))
			switch {
			case err != nil:
				refused++
			case j.Status == "SUCCEEDED" && !asJSON:
				t.Errorf("cut at %d of %d: the job has ended", n, len(whole))
			}
		}
		if refused < 100 {
			t.Errorf("only %d cuts were seen", refused)
		}
	}
}

func TestRefused(t *testing.T) {
	s := schema(false)
	other := history(false)
	other[2].fields = map[string]any{"jobid": "job_1_2", "jobQueueName": "x"}
	for name, c := range map[string]struct{ file, want string }{
		"empty":        {"", "ends before"},
		"other file":   {"PAR1\nxyz\n", "is this a .jhist file?"},
		"html":         {"<!DOCTYPE html>\n<html>\n", "is this a .jhist file?"},
		"no schema":    {"Avro-Binary\n", "schema"},
		"bad schema":   {"Avro-Binary\n{]\n\x00\x00", "schema"},
		"plain schema": {"Avro-Binary\n\"long\"\n\x00\x00", "record"},
		"no bytes":     {"Avro-Binary\n\"null\"\n\x00\x00", "no bytes"},
		"no events":    {"Avro-Binary\n" + s + "\n", "no event names a job"},
		"long line":    {"Avro-Binary\n" + strings.Repeat("x", MaxSchema+1), "bytes"},
		"json":         {"Avro-Json\n" + s + "\n{\"type\":1}", "no type"},
		"json list":    {"Avro-Json\n" + s + "\n[1,2]", "damaged"},
		"two jobs":     {string(encode(t, s, false, other)), "those before"},
		"odd task": {
			"Avro-Json\n" + s + "\n" + `{"type":"TASK_STARTED","event":{"` + ns + `TaskStarted":{"taskid":"task_1_m","taskType":"MAP"}}}`, "not the id of a task",
		},
		"odd attempt": {
			"Avro-Json\n" + s + "\n" + `{"type":"MAP_ATTEMPT_STARTED","event":{"` + ns + `TaskAttemptStarted":{"attemptId":"attempt_1_2_m_0000_x"}}}`, "not the id of an attempt",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := new(Parser).Parse(strings.NewReader(c.file))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v: want %q in it", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
}

// An endless event does not take endless memory.
func TestHuge(t *testing.T) {
	s := schema(false)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for name, r := range map[string]io.Reader{
		"json":   io.MultiReader(strings.NewReader("Avro-Json\n"+s+"\n{\"type\":\""), io.LimitReader(letters{}, 1<<32)),
		"binary": io.MultiReader(strings.NewReader("Avro-Binary\n"+s+"\n\x00\x0c\xfe\xff\xff\xff\x0f"), io.LimitReader(letters{}, 1<<32)),
	} {
		if _, err := new(Parser).Parse(r); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 100<<20 {
		t.Errorf("%d MB were allocated", n>>20)
	}
}

type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func FuzzBinary(f *testing.F) { fuzz(f, false) }
func FuzzJSON(f *testing.F)   { fuzz(f, true) }

func fuzz(f *testing.F, asJSON bool) {
	// Most of a file is its schema; what is fuzzed is what follows it, and now and then the whole.
	header := encode(f, schema(false), asJSON, nil)
	for _, n := range []int{3, 9, 27} {
		f.Add(encode(f, schema(false), asJSON, history(false)[:n])[len(header):])
	}
	f.Add(encode(f, schema(false), asJSON, history(false)[:5]))
	f.Add([]byte("Avro-Binary\n\"null\"\n"))
	var p Parser
	f.Fuzz(func(t *testing.T, b []byte) {
		if !bytes.HasPrefix(b, []byte("Avro-")) {
			b = append(bytes.Clone(header), b...)
		}
		j, err := p.Parse(bytes.NewReader(b))
		if err != nil {
			return
		}
		if j.ID == "" {
			t.Fatal("a job without an id")
		}
		for _, list := range [][]Task{j.Maps, j.Reduces} {
			for i := range list {
				if i > 0 && list[i].Number <= list[i-1].Number {
					t.Fatal("tasks out of order")
				}
				_ = list[i].Successful()
			}
		}
	})
}

func TestFileName(t *testing.T) {
	got, err := ParseFileName("job_1794703776429_0016-1794704142118-alice-Sleep+job%2D2-1794704159300-4-1-SUCCEEDED-root.prod-1794704146491.jhist")
	if err != nil {
		t.Fatal(err)
	}
	exp := FileName{
		JobID: "job_1794703776429_0016", Submit: 1794704142118, User: "alice", JobName: "Sleep job-2", Finish: 1794704159300, Maps: 4, Reduces: 1,
		Status: "SUCCEEDED", Queue: "root.prod", Start: 1794704146491,
	}
	if diff := cmp.Diff(exp, got); diff != "" {
		t.Error(diff)
	}
	if _, err := ParseFileName("job_1_2-3-u-n-4-1-0-FAILED.jhist"); err != nil {
		t.Errorf("an older name: %v", err)
	}
	for _, bad := range []string{"", "job_1_2.jhist", "job_1_2-x-u-n-4-1-0-FAILED.jhist", "job_1_2_conf.xml", "a-1-u-n-4-1-0-F.jhist"} {
		if _, err := ParseFileName(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func FuzzFileName(f *testing.F) {
	f.Add("job_1_2-3-u-n-4-1-0-FAILED-q-5.jhist")
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := ParseFileName(s); err == nil && !strings.HasPrefix(n.JobID, "job_") {
			t.Fatal(n)
		}
	})
}

func TestReadConf(t *testing.T) {
	const file = `<?xml version="1.0"?><configuration>
<property><name>a.b</name><value>x &amp; y</value><final>false</final></property>
<property><name>empty</name></property>
<property><name>not.wanted</name><value>1</value></property>
<property>
 <name>mapreduce.map.memory.mb</name>
 <value>512</value></property>
</configuration>`
	wanted := func(n string) bool { return n != "not.wanted" }
	got, err := ReadConf(strings.NewReader(file), wanted)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a.b": "x & y", "mapreduce.map.memory.mb": "512"}, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "<html>", file[:len(file)-30]} {
		if _, err := ReadConf(strings.NewReader(bad), wanted); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func FuzzReadConf(f *testing.F) {
	f.Add("<configuration><property><name>a</name><value>b</value></property></configuration>")
	f.Fuzz(func(_ *testing.T, s string) {
		_, _ = ReadConf(strings.NewReader(s), func(string) bool { return true })
	})
}

func BenchmarkParse(b *testing.B) {
	file := encode(b, schema(false), false, history(false))
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	var p Parser
	for b.Loop() {
		if _, err := p.Parse(bytes.NewReader(file)); err != nil {
			b.Fatal(err)
		}
	}
}
