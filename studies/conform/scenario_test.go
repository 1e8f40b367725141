package conform

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop/sls"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

func TestScenarios(t *testing.T) {
	all, again := Scenarios(), Scenarios()
	names := map[string]bool{}
	small, full, largestJobs, largestContainers := 0, 0, 0, int64(0)
	for i := range all {
		s := &all[i]
		t.Run(s.Name, func(t *testing.T) {
			if s.Digest() != again[i].Digest() {
				t.Error("not the same when made again")
			}
			if names[s.Name] {
				t.Error("name taken")
			}
			names[s.Name] = true
			check(t, s)
		})
		n := s.Counted()
		jobs, containers := int(n[0]), n[1]
		if s.Small {
			small++
		} else {
			full++
			largestJobs, largestContainers = max(largestJobs, jobs), max(largestContainers, containers)
		}
	}
	if small != 5 || full < 14 || largestJobs < 100 || largestContainers < 3000 {
		t.Errorf("%d small, %d full, largest %d jobs and %d containers", small, full, largestJobs, largestContainers)
	}
}

// check verifies that both sides interpret the scenario in the same way.
func check(t *testing.T, s *Scenario) {
	t.Helper()
	last := int64(-gap)
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.Start < last+gap || i > 0 && j.Start < begin {
			t.Errorf("job %s is submitted at %d, the one before at %d", j.ID, j.Start, last)
		}
		last = j.Start
		size := map[string]sls.Task{}
		for _, k := range j.Tasks {
			// SLS requests all tasks of a type with the size of the first.
			if f, ok := size[k.Type]; ok && (f.Mem != k.Mem || f.Cores != k.Cores) {
				t.Errorf("job %s has %ss of different sizes", j.ID, k.Type)
			}
			size[k.Type] = k
			if k.Duration < 500 || k.Mem > 8192 || k.Cores > 4 {
				t.Errorf("job %s: task %+v", j.ID, k)
			}
		}
	}
	jobs, err := s.workload()
	if err != nil {
		t.Fatal(err)
	}
	for i, j := range jobs {
		k := &s.Jobs[i]
		if j.User != k.User || j.Queue != k.Queue || j.Tasks()+1 != k.Containers() || j.Priority != k.Priority || ms(j.Submit) != k.Start ||
			k.AMMem > 0 && j.AM.Mem != k.AMMem {
			t.Errorf("job %s came back as %+v", k.ID, j)
		}
		hosts := 0
		for _, x := range k.Tasks {
			if x.Host != "" {
				hosts++
			}
		}
		for n := range j.Stages {
			if h := j.Stages[n].Hosts; h != nil {
				for _, row := range h.Of {
					hosts -= len(row)
				}
			}
		}
		if hosts != 0 {
			t.Errorf("job %s: %d hosts are missing", k.ID, hosts)
		}
	}
	if _, err := Scheduler(hadoop.Properties("", s.Site), string(s.Capacity), string(s.Fair)); err != nil {
		t.Error(err)
	}
	if _, err := conf.ReadSite(strings.NewReader(hadoop.Properties("", s.Site)), "site"); err != nil {
		t.Error(err)
	}
}

func TestNamed(t *testing.T) {
	for names, want := range map[string]int{"": 19, "small": 5, "all": 24, "locality,am-limit-small": 2} {
		if got, err := Named(names); err != nil || len(got) != want {
			t.Errorf("%q: %d scenarios, %v", names, len(got), err)
		}
	}
	if _, err := Named("nonsense"); err == nil || !strings.Contains(err.Error(), "one-queue") {
		t.Errorf("got %v", err)
	}
}

func TestRacks(t *testing.T) {
	got := racks(2, 3, 1, 2)
	want := []sls.Rack{
		{Name: "rack1", Nodes: []sls.Node{{Name: "127.1.1.1", Mem: 1, Cores: 2}, {Name: "127.1.1.2", Mem: 1, Cores: 2}}},
		{Name: "rack2", Nodes: []sls.Node{{Name: "127.1.2.1", Mem: 1, Cores: 2}}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if h := nodeAt(got, 5); h != "/rack2/127.1.2.1" {
		t.Error(h)
	}
}
