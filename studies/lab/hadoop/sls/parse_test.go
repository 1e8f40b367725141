package sls

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/studies/evidence"
)

// log is a short run of two nodes and one job: the AM on node b, a map that was reserved first and a map that is killed
// by the preemption monitor, with noise in between.
const log = `0 y base 1000000
800 y node 127.1.0.1 5
900 y round
1000 y zero 1001000
1100 y web 40123
1200 y job 7 j001 3
1203 y add 7
1204 y ask 7 1
1310 y beat 127.1.0.2
1311 y pass 127.1.0.2
1312 AbstractContainerAllocator assignedContainer application attempt=appattempt_99_0007_000001 container=null queue=a clusterResource=<memory:1> type=OFF_SWITCH requestedPartition=
1313 RMContainerImpl container_99_0007_01_000001 Container Transitioned from NEW to ALLOCATED
1313 y done 127.1.0.2
1314 y ask 7 0
1314 RMContainerImpl container_99_0007_01_000001 Container Transitioned from ALLOCATED to ACQUIRED
1315 y got 7 1 127.1.0.2 0 1024 1
1316 y am 7
1900 y beat 127.1.0.1
1901 y pass 127.1.0.1
torn line
java.lang.NullPointerException: something
2200 y tick 7
2201 y call 7 3
2311 RMContainerImpl container_e17_99_0007_01_000002 Container Transitioned from NEW to RESERVED
2360 y beat 127.1.0.2
2361 y pass 127.1.0.2
2900 y beat 127.1.0.1
2901 y pass 127.1.0.1
2902 RMContainerImpl container_e17_99_0007_01_000002 Container Transitioned from RESERVED to ALLOCATED
3100 FiCaSchedulerApp Application application_99_0007 unreserved  on node host: 127.1.0.2:4 #containers=3 available=1, currently has 1
3200 y tick 7
3201 y call 7 0
3202 RMContainerImpl container_e17_99_0007_01_000002 Container Transitioned from ALLOCATED to ACQUIRED
3202 y got 7 2 127.1.0.1 20 2048 1
3500 y round
3501 y mark 7 2
3600 y kill 7 2
3601 RMContainerImpl container_e17_99_0007_01_000002 Container Transitioned from ACQUIRED to KILLED
4201 y end 7
4310 y rem 7
4400 y lost 7 FAILED
4401 y all 1 1 6543
`

func record(t *testing.T, text string) (*Record, error) {
	t.Helper()
	r := &Record{Beat: 1000, Nodes: []NodeRecord{{Name: "127.1.0.1", Rack: "r"}, {Name: "127.1.0.2", Rack: "r"}}}
	return r, parse(strings.NewReader(text), r)
}

func TestParse(t *testing.T) {
	got, err := record(t, log)
	if err != nil {
		t.Fatal(err)
	}
	want := &Record{
		Beat:  1000,
		Nodes: []NodeRecord{{"127.1.0.1", "r", 5, 900}, {"127.1.0.2", "r", 0, 310}},
		Jobs: []JobRecord{{
			ID: "j001", Priority: 3, Submit: 200, Added: 203, Asked: 204, AM: 313, Launched: 316, End: 3201, Removed: 3310,
		}},
		Containers: []ContainerRecord{
			{Num: 1, Node: 1, Mem: 1024, Cores: 1, Reserved: -1, Allocated: 313, Acquired: 314, Running: -1, Ended: -1, State: "ACQUIRED"},
			{Num: 2, Node: 0, Priority: 20, Mem: 2048, Cores: 1, Reserved: 1311, Allocated: 1902, Acquired: 2202, Running: -1, Ended: 2601, State: "KILLED"},
		},
		Kills:   []Kill{{At: 2501, Container: 1}, {At: 2600, Container: 1, Taken: true}},
		Lost:    []string{"j001 FAILED"},
		Machine: Machine{StartUp: 1, CPU: 6.543, SlipP50: 0, SlipP95: 50, SlipMax: 50},
	}
	want.Log = got.Log
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	var kinds strings.Builder
	var at []int64
	got.Log.Each(func(k byte, t int64, _ int32) {
		kinds.WriteByte(k)
		at = append(at, t)
	})
	if kinds.String() != "R+MBPBPTABPBPTCRE-" {
		t.Errorf("kinds %s", kinds.String())
	}
	if at[0] != -100 || at[1] != 203 || at[len(at)-1] != 3310 {
		t.Errorf("instants %v", at)
	}
}

func TestParseIncomplete(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":  {"", "no start of the trace"},
		"no end": {strings.Split(log, "4401")[0], "ends before its applications"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := record(t, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestPhase(t *testing.T) {
	first, late := phase([]int64{1340, 2310, 3330, 4310}, 1000)
	if first != 310+1000 || !cmp.Equal(late, []int64{30, 0, 20, 0}) {
		t.Errorf("first %d, late %v", first, late)
	}
}

func TestLoad(t *testing.T) {
	r, err := record(t, log)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "deep")
	run, err := evidence.Begin("").KeepJSON(dir, "r", r)
	if err != nil {
		t.Fatal(err)
	}
	back := &Record{}
	if err := evidence.Read(filepath.Join(dir, run.File), back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r, back); d != "" {
		t.Error(d)
	}
}

// Parsing any log neither panics nor makes a record with indices out of range.
func FuzzParse(f *testing.F) {
	f.Add(log)
	f.Add(strings.ReplaceAll(log, "7", "-1"))
	f.Fuzz(func(t *testing.T, text string) {
		r, _ := record(t, text)
		for _, c := range r.Containers {
			if int(c.Job) >= len(r.Jobs) || int(c.Node) >= len(r.Nodes) {
				t.Fatalf("%+v of %d jobs", c, len(r.Jobs))
			}
		}
		for _, k := range r.Kills {
			if int(k.Container) >= len(r.Containers) {
				t.Fatalf("%+v", k)
			}
		}
	})
}

func TestWriteTrace(t *testing.T) {
	var b bytes.Buffer
	err := WriteTrace(&b, []Job{{ID: "j", Type: "mapreduce", Start: 5, Queue: "q", User: "u", Tasks: []Task{{Duration: 9, Type: "map", Mem: 1, Cores: 1, Count: 3}}}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"job.id":"j","yarn.sls.am.type":"mapreduce","job.start.ms":5,"job.queue.name":"q","job.user":"u",` +
		`"job.tasks":[{"container.duration.ms":9,"container.type":"map","container.memory-mb":1,"container.vcores":1,"count":3}]}` + "\n"
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
}

func TestOptions(t *testing.T) {
	job, rack := []Job{{Start: 60_000, Tasks: []Task{{Duration: 10_000, Count: 6}}}}, []Rack{{Nodes: make([]Node, 2)}}
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"no jobs":        {Options{Racks: rack, Dir: "d", Fair: []byte{}}, "jobs and nodes"},
		"no scheduler":   {Options{Jobs: job, Racks: rack, Dir: "d"}, "either"},
		"two schedulers": {Options{Jobs: job, Racks: rack, Dir: "d", Fair: []byte{}, Capacity: []byte{}}, "either"},
		"no folder":      {Options{Jobs: job, Racks: rack, Fair: []byte{}}, "folder"},
		"good":           {Options{Jobs: job, Racks: rack, Fair: []byte{}, Dir: "d"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.o.withDefaults(true)
			switch {
			case c.want == "" && (err != nil || c.o.limit().Seconds() != 300+60+30):
				t.Errorf("got %v, limit %v", err, c.o.limit())
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v", err)
			}
		})
	}
}
