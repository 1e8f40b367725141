package scenario

import (
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

func TestParseExecutors(t *testing.T) {
	e, err := parseExecutors("job:a=b: c=dynamic=true,max=8,idle=10s,cached-idle=never,memory=8GB")
	if err != nil || e.Who != (Move{Kind: "job", Name: "a=b: c"}) || !*e.Do.Dynamic || *e.Do.Max != 8 || *e.Do.Idle != 10*unit.Second || *e.Do.CachedIdle != 0 || *e.Do.Memory != 8192 {
		t.Errorf("%+v %v", e, err)
	}
	if again, err := parseExecutors(e.String()); err != nil || again.String() != e.String() {
		t.Error(again, err)
	}
	for text, want := range map[string]string{
		"queue:etl":                        "does not say whose executors",
		"etl=max=3":                        "selects no jobs",
		"queue:etl=size=3":                 `no setting "size"`,
		"queue:etl=max=0":                  "max: ",
		"queue:etl=max=3,max=4":            "max is given twice",
		"queue:etl=instances=3,max=4":      "fixes the number of executors",
		"queue:etl=dynamic=false,idle=10s": "fixes the number of executors",
		"queue:etl=dynamic=maybe":          "dynamic: ",
		"queue:etl=min=4,max=3":            "min=4 is above max=3",
		"queue:etl=idle=never":             "may not idle for ever",
		"queue:etl=memory=1KB":             "no size of a container",
	} {
		if _, err := parseExecutors(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestEditExecutors(t *testing.T) {
	jobs := workload.Slice{
		{ID: "1", Name: "nightly", Queue: "root.etl", Keep: &workload.Keep{Ask: unit.Resources{Mem: 1024, Cores: 1}, Slots: 1, Max: 8}, Stages: []workload.Stage{{Tasks: 20}}},
		{ID: "2", Queue: "root.adhoc"},
	}
	edit := func(texts ...string) (workload.Slice, error) {
		var s Scenario
		for _, text := range texts {
			e, err := parseExecutors(text)
			if err != nil {
				t.Fatal(err)
			}
			s.Executors = append(s.Executors, e)
		}
		return s.edit(jobs)
	}
	for _, who := range []string{"job:1", "job:nightly", "queue:etl"} {
		got, err := edit(who+"=dynamic=true", who+"=max=5")
		if err != nil || got[0].Keep.Max != 5 || got[0].Keep.Dynamic.Initial != 5 || jobs[0].Keep.Max != 8 || jobs[0].Keep.Dynamic != nil {
			t.Errorf("%s: %+v %v", who, got[0].Keep, err)
		}
	}
	for text, want := range map[string]string{
		"job:3=max=5":              `no job of the workload has the job "3"`,
		"queue:adhoc=dynamic=true": "no job of queue adhoc keeps executors",
		"job:1=idle=10s":           "add dynamic=true",
	} {
		if _, err := edit(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
