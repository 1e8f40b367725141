package synth

import (
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

func TestScaleTwice(t *testing.T) {
	base := all(t, simple(Arrivals{Kind: Poisson, Rate: 1}))[:1000]
	base[0].Observed, base[0].Deadline = &workload.Observed{}, base[0].Submit+unit.Hour
	src, err := Scale(base, ScaleOptions{Load: 2, Length: 3, Seed: 1, Period: unit.Hour})
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := workload.ReadAll(src)
	if err != nil || len(jobs) != 6000 {
		t.Fatalf("%d jobs, %v", len(jobs), err)
	}
	ids := map[string]bool{}
	for _, j := range jobs {
		if ids[j.ID] {
			t.Fatalf("two jobs are named %s", j.ID)
		}
		ids[j.ID] = true
		if j.Observed != nil && j.ID != base[0].ID || j.Deadline > 0 && j.Deadline-j.Submit != unit.Hour {
			t.Errorf("copy %s: observed %v, deadline %v after %v", j.ID, j.Observed, j.Deadline, j.Submit)
		}
	}
}

func TestPeriod(t *testing.T) {
	at := func(n int, last unit.Time) workload.Slice {
		s := make(workload.Slice, n)
		for i := range s {
			s[i] = &workload.Job{Submit: last * unit.Time(i+1) / unit.Time(n)}
		}
		return s
	}
	for _, c := range []struct {
		base workload.Slice
		want unit.Time
	}{
		{nil, unit.Hour},
		{at(1, 0), unit.Second},
		{at(100, 86399*unit.Second), unit.Day},
		{at(10, 100*unit.Second), 110 * unit.Second},
		{at(10, 2*unit.Hour+10*unit.Minute), 2*unit.Hour + 23*unit.Minute},
	} {
		if got := Period(c.base); got != c.want {
			t.Errorf("%d jobs: %v, want %v", len(c.base), got, c.want)
		}
	}
}

func TestScaleProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := genConfig(t)
		src, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		base, _ := workload.ReadAll(src)
		opt := ScaleOptions{
			Load: rapid.Float64Range(0.1, 5).Draw(t, "load"), Length: rapid.Float64Range(0.2, 4).Draw(t, "length"),
			Seed: rapid.Uint64().Draw(t, "seed"), Shift: unit.Time(rapid.Int64Range(1, 1e9).Draw(t, "shift")),
		}
		if rapid.Bool().Draw(t, "whole") {
			opt.Load, opt.Length = math.Ceil(opt.Load), math.Ceil(opt.Length)
		}
		read := func() workload.Slice {
			s, err := Scale(base, opt)
			if err != nil {
				t.Fatal(err)
			}
			jobs, err := workload.ReadAll(s)
			if err != nil {
				t.Fatal(err)
			}
			return jobs
		}
		jobs := read()
		if !reflect.DeepEqual(jobs, read()) {
			t.Fatal("the same seed gave other jobs")
		}
		var tasks, before int64
		last, ids := unit.Time(0), map[string]bool{}
		for _, j := range jobs {
			if j.Submit < last || ids[j.ID] {
				t.Fatalf("job %s at %v after %v, known: %v", j.ID, j.Submit, last, ids[j.ID])
			}
			last, ids[j.ID] = j.Submit, true
			tasks += j.Tasks()
		}
		for _, j := range base {
			before += j.Tasks()
		}
		if opt.Load == math.Floor(opt.Load) && opt.Length == math.Floor(opt.Length) {
			if n := int64(opt.Load * opt.Length); tasks != before*n || len(jobs) != len(base)*int(n) {
				t.Fatalf("%d tasks from %d, %d jobs from %d, want %d times", tasks, before, len(jobs), len(base), n)
			}
			return
		}
		// Fractions are coins and cuts: the count is within what they can do.
		most := int(math.Ceil(opt.Load) * math.Ceil(opt.Length) * float64(len(base)))
		least := int(math.Floor(opt.Load) * math.Floor(opt.Length) * float64(len(base)))
		if len(jobs) > most || len(jobs) < least {
			t.Fatalf("%d jobs from %d, want %d to %d", len(jobs), len(base), least, most)
		}
	})
}

func TestScaleIsFairOnAverage(t *testing.T) {
	base := all(t, simple(Arrivals{Kind: Poisson, Rate: 1}))
	for _, load := range []float64{0.3, 1.7, 2.5} {
		s, err := Scale(base, ScaleOptions{Load: load, Length: 1.5, Seed: 9})
		if err != nil {
			t.Fatal(err)
		}
		jobs, err := workload.ReadAll(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := float64(len(jobs)) / float64(len(base)) / 1.5; math.Abs(got-load) > 0.02*load {
			t.Errorf("load %v: %v times the jobs", load, got)
		}
		if len(s.wait.Items) > 0 {
			t.Errorf("%d jobs left", len(s.wait.Items))
		}
	}
	for _, opt := range []ScaleOptions{{Load: -1}, {Length: math.NaN()}, {Load: 1e9}, {Length: 1e6, Period: unit.Never / 10}} {
		if _, err := Scale(base, opt); err == nil {
			t.Errorf("%+v: taken", opt)
		}
	}
}
