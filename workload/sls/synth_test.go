package sls

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

func synth(t testing.TB, path string, opt SynthOptions) ([]*workload.Job, *SynthReader) {
	t.Helper()
	r := NewSynthReader(bytes.NewReader(file(t, path)), path, opt)
	jobs, err := workload.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return jobs, r
}

func TestSynthOldForm(t *testing.T) {
	jobs, r := synth(t, "testdata/synth-old.json", SynthOptions{TaskTime: unit.Second})
	if len(jobs) != 400 {
		t.Fatalf("%d jobs", len(jobs))
	}
	var big, early, late, maps, deadlines float64
	for i, j := range jobs {
		if i > 0 && j.Submit < jobs[i-1].Submit {
			t.Fatalf("job %d is submitted before the one ahead of it", i)
		}
		switch s := j.Submit.Seconds(); {
		case s >= 10 && s < 60:
			early++
		case s == 100: // the last bucket has no width
			late++
		default:
			t.Errorf("submitted at %v", s)
		}
		if j.Queue != "etl" || j.AM.Mem != 1024 {
			t.Errorf("%+v", j)
		}
		if j.Class != "big" {
			continue
		}
		big++
		m, rd := &j.Stages[0], &j.Stages[1]
		maps += float64(m.Tasks)
		if m.Ask != (unit.Resources{Mem: 2048, Cores: 1}) || rd.Ask != (unit.Resources{Mem: 1024, Cores: 2}) || rd.Tasks != 5 ||
			len(rd.After) != 1 || rd.After[0].SlowStart != 1 || m.Length.Kind != workload.LogNormal || m.Length.A != 10*unit.Second {
			t.Fatalf("%+v", j)
		}
		if j.Deadline > 0 {
			deadlines++
			if d := (j.Deadline - j.Submit).Seconds(); d < 400 || d > 900 {
				t.Errorf("deadline after %v s", d)
			}
		}
	}
	near := func(what string, got, want, within float64) {
		if math.Abs(got-want) > within {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	near("share of class big", big/400, 0.75, 0.1)
	near("share of the first bucket", early/(early+late), 0.5, 0.12)
	near("mean maps", maps/big, 50, 3)
	near("share with a deadline", deadlines/big, 0.5, 0.12)
	hasNotes(t, r.Notes(), "0 SYNTH: made 400 jobs", "0 SYNTH: task times are in units of 1 s", "0 SYNTH: the description speaks of 10 nodes, 4 a rack")

	again, _ := synth(t, "testdata/synth-old.json", SynthOptions{TaskTime: unit.Second})
	if d := cmp.Diff(jobs, again); d != "" {
		t.Error("the same seed gave other jobs", d)
	}
	others, _ := synth(t, "testdata/synth-old.json", SynthOptions{TaskTime: unit.Second, Options: Options{NoAM: true}, Seed: 1})
	if cmp.Equal(jobs[0].Stages[0].Tasks, others[0].Stages[0].Tasks) && cmp.Equal(jobs[1].Stages[0].Tasks, others[1].Stages[0].Tasks) && jobs[2].Submit == others[2].Submit {
		t.Error("another seed gave the same jobs")
	}
}

func TestSynthGeneric(t *testing.T) {
	jobs, _ := synth(t, "testdata/synth.json", SynthOptions{})
	counts := map[int64]int{}
	for _, j := range jobs {
		if len(j.Stages) != 3 || j.Stages[0].Name != "map" || j.Stages[1].Name != "check" || j.Stages[2].Name != "reduce" {
			t.Fatalf("%+v", j)
		}
		if d := cmp.Diff([]workload.Edge{{From: 0, SlowStart: 1}}, j.Stages[2].After); d != "" || len(j.Stages[1].After) != 0 {
			t.Error(d)
		}
		if j.Deadline == 0 || j.Stages[1].Ask.Mem != 1024 {
			t.Errorf("%+v", j)
		}
		counts[j.Stages[0].Tasks]++
	}
	if counts[4]+counts[8] != 50 || counts[8] < counts[4] || counts[4] == 0 {
		t.Errorf("numbers of maps %v", counts)
	}
	// Task times: two values evenly, and a normal distribution.
	length := func(stage int) (mean, sd float64) {
		var sum, squares float64
		const n = 20000
		for i := range int64(n) {
			v := float64(jobs[0].Stages[stage].Length.Draw(i, 1)) / float64(unit.Millisecond)
			sum += v
			squares += v * v
		}
		return sum / n, math.Sqrt(squares/n - sum/n*sum/n)
	}
	for stage, want := range map[int][2]float64{0: {20, 10}, 1: {5, 0}, 2: {20, 4}} {
		if m, sd := length(stage); math.Abs(m-want[0]) > 0.3 || math.Abs(sd-want[1]) > 0.3 {
			t.Errorf("stage %d: mean %v, deviation %v", stage, m, sd)
		}
	}
}

func TestSynthErrors(t *testing.T) {
	class := func(s string) string {
		return `{"num_jobs":1,"workloads":[{"workload_weight":1,"time_distribution":[{"time":1,"weight":1}],"job_classes":[{"class_weight":1,` + s + `}]}]}`
	}
	for name, c := range map[string]struct{ in, want string }{
		"empty":           {"", "f.json: empty"},
		"cut off":         {`{"num_jobs":1,`, "f.json:1: record 1: the data ends inside a value"},
		"no jobs":         {`{"workloads":[]}`, "num_jobs is missing"},
		"absurd jobs":     {`{"num_jobs":1e12}`, `"num_jobs": 1000000000000 is not between 0 and 5000000`},
		"no workload":     {`{"num_jobs":1}`, "no workload has a weight above 0"},
		"no class":        {`{"num_jobs":1,"workloads":[{"workload_weight":1}]}`, "has no class with a weight above 0"},
		"no time":         {`{"num_jobs":1,"workloads":[{"workload_weight":1,"job_classes":[{"class_weight":1}]}]}`, "has no time with a weight above 0"},
		"negative count":  {class(`"mtasks_avg":-4`), "f.json:1: record 1: -4 is not between 0 and"},
		"absurd count":    {class(`"tasks":[{"count":{"val":1e10}}]`), "1e+10 is not between 0 and"},
		"no value":        {class(`"tasks":[{"count":{"std":1}}]`), `a number is given by "val" or by "discrete"`},
		"distribution":    {class(`"duration":{"val":1,"std":1,"dist":"ZIPF"}`), `distribution "ZIPF" is not LOGNORM or NORM`},
		"weights":         {class(`"duration":{"discrete":[1,2],"weights":[1]}`), "1 weights for 2 discrete values"},
		"zero weights":    {class(`"duration":{"discrete":[1,2],"weights":[0,0]}`), "no discrete value has a weight above 0"},
		"second object":   {`{"num_jobs":0} {}`, "record 2: a second object"},
		"wrong type":      {class(`"duration":7`), `"duration": should be an object, not a number`},
		"too large":       {`{"num_jobs":0,"x":[` + strings.Repeat(strings.Repeat(" ", 1<<16)+"0,", 100) + "0]}", "is larger than 4194304 bytes"},
		"many task kinds": {class(`"tasks":[` + strings.Repeat(`{},`, 1030) + `{}]`), `"tasks": more than 1024 elements`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := workload.ReadAll(NewSynthReader(strings.NewReader(c.in), "f.json", SynthOptions{}))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "f.json") {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestWheel(t *testing.T) {
	w := newWheel([]float64{0, 1, 0, 3, 0})
	for u, want := range map[float64]int{0: 1, 0.2: 1, 0.25: 3, 0.9999: 3, 1: 3} {
		if got := w.pick(u); got != want {
			t.Errorf("pick(%v) = %d, want %d", u, got, want)
		}
	}
}
