package scenario

import (
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

func TestParseMove(t *testing.T) {
	for text, want := range map[string]Move{
		"user:ana=root.adhoc": {"user", "ana", "root.adhoc"},
		"user:ana root.adhoc": {"user", "ana", "root.adhoc"},
		"class:a=b=root.x":    {"class", "a=b", "root.x"},
		"queue:root.a=root.b": {"queue", "root.a", "root.b"},
	} {
		if m, err := parseMove(text); err != nil || m != want {
			t.Errorf("%q: %+v %v", text, m, err)
		}
	}
	for _, text := range []string{"ana=root.adhoc", "user:ana", "user:=x", "user:ana=", "group:x=y", "=", "user:ana=x "} {
		if m, err := parseMove(text); err == nil || !strings.Contains(err.Error(), "write user:NAME=QUEUE") {
			t.Errorf("%q: %+v %v", text, m, err)
		}
	}
}

// asked is a small scenario with settings.
func asked(t *testing.T, settings ...string) (*Setup, error) {
	t.Helper()
	s := Default()
	s.Workload, s.Cluster, s.Schedulers = []string{"synth:demo"}, "6x2/3", []string{"fifo"}
	for _, text := range settings {
		name, v, _ := strings.Cut(text, "=")
		set, ok := Find(name)
		if !ok {
			t.Fatal(name)
		}
		if err := s.Apply(set, []string{v}); err != nil {
			t.Fatal(err)
		}
	}
	return s.Resolve()
}

func TestLoseRack(t *testing.T) {
	setup, err := asked(t, "nodes=+3", "lose-rack=/rack2@1h+5m", "lose-node=node9@2h")
	if err != nil {
		t.Fatal(err)
	}
	want := []sim.Loss{{Node: "node9", At: 2 * unit.Hour}}
	for _, n := range []string{"node3", "node4", "node8"} {
		want = append(want, sim.Loss{Node: n, At: unit.Hour, For: 5 * unit.Minute})
	}
	if got := setup.Model.Losses; len(got) != len(want) || len(setup.Scenario.Model.Losses) != 1 {
		t.Fatal(got)
	}
	for i, l := range setup.Model.Losses {
		if l != want[i] {
			t.Errorf("%+v, want %+v", l, want[i])
		}
	}
	if all := strings.Join(setup.Assumptions, "\n"); !strings.Contains(all, "rack /rack2 is lost 60 min after the start, for 5 min") {
		t.Error(all)
	}
	for setting, want := range map[string]string{
		"lose-rack=r2@1h":    `its racks are "rack1" to "rack3"`,
		"lose-rack=rak2@1h":  `did you mean "rack2"?`,
		"lose-node=node7@1h": `no node "node7"`,
		"nodes=-6":           "would leave 0 of 6 nodes",
	} {
		if _, err := asked(t, setting); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", setting, err)
		}
	}
}

func TestMove(t *testing.T) {
	before, err := asked(t)
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := before.Workload.Read(1)
	if err != nil {
		t.Fatal(err)
	}
	user := jobs[0].User
	setup, err := asked(t, "move=user:"+user+"=root.there")
	if err != nil {
		t.Fatal(err)
	}
	moved, err := setup.Workload.Read(1)
	if err != nil || len(moved) != len(jobs) {
		t.Fatal(len(moved), err)
	}
	for i, j := range moved {
		if want := jobs[i]; j.User == user && j.Queue != "root.there" || j.User != user && j.Queue != want.Queue || j.ID != want.ID {
			t.Fatalf("%+v, was %+v", j, want)
		}
	}
	if setup, err = asked(t, "move=user:"+user+"x=root.there"); err != nil {
		t.Fatal(err)
	}
	if _, err := setup.Workload.Read(1); err == nil || !strings.Contains(err.Error(), `no job of the workload has the user "`+user+`x"; did you mean "`+user+`"?`) {
		t.Error(err)
	}
}

// The first move that selects a job applies; those after it still count as used.
func TestMovesInOrder(t *testing.T) {
	jobs := workload.Slice{{ID: "1", User: "a", Class: "c"}, {ID: "2", User: "b", Queue: "root.x.default"}}
	jobs[0].Stages = []workload.Stage{{Tasks: 8}}
	s := Scenario{Moves: []Move{{"user", "a", "q1"}, {"class", "c", "q2"}, {"queue", "default", "q3"}}, Gangs: []Move{{Kind: "class", Name: "c"}}}
	got, err := s.edit(jobs)
	if err != nil || got[0].Queue != "q1" || got[1].Queue != "q3" || jobs[0].Queue != "" {
		t.Error(got, err)
	}
	if got[0].Stages[0].Gang != 8 || jobs[0].Stages[0].Gang != 0 {
		t.Error("no gang, or the shared job is one", got[0], jobs[0])
	}
	s.Gangs[0].Name = "d"
	if _, err := s.edit(jobs); err == nil || !strings.Contains(err.Error(), `gang class:d: no job of the workload has the class "d"`) {
		t.Error(err)
	}
}

// A variant of a resized cluster is resized once, and what it moves or loses adds to what the scenario does.
func TestEditsInVariants(t *testing.T) {
	base, err := asked(t, "nodes=+3", "lose-rack=rack1@1h")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]struct{ nodes, losses int }{
		"heartbeat=1s": {9, 3}, "lose-rack=rack2@2h": {9, 6}, "nodes=+6": {12, 4}, "network=racks:node=1Gbit,uplink=1Gbit": {9, 3}, "a move: move queue:default root.x": {9, 3},
	} {
		v, err := ParseVariant(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := base.Variant(v)
		if err != nil || len(got.Cluster.Nodes) != want.nodes || len(got.Model.Losses) != want.losses {
			t.Errorf("%s: %d nodes, %d losses, %v", text, len(got.Cluster.Nodes), len(got.Model.Losses), err)
		}
	}
	if base.Cluster.Network != nil || len(base.Cluster.Nodes) != 9 {
		t.Errorf("a variant changed the base: %v", base.Cluster)
	}
}
