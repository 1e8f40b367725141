package synth

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Resampling draws a random sample of a workload's jobs and gives them other submit times. The zero value leaves a workload as it is.
type Resampling struct {
	Jobs     int // drawn without replacement; 0: all
	Arrivals Respread
}

// IsZero reports whether it changes nothing.
func (r Resampling) IsZero() bool { return r == Resampling{} }

func (r Resampling) String() string {
	parts := []string{"all jobs"}
	if r.Jobs > 0 {
		parts[0] = fmt.Sprintf("a random sample of %s", unit.Count(int64(r.Jobs), "job"))
	}
	if r.Arrivals.How != "" {
		parts = append(parts, "arrivals "+r.Arrivals.String())
	}
	return strings.Join(parts, ", ")
}

// Respread says how jobs arrive, in place of their submit times.
type Respread struct {
	How  string    // batch (all at 0), uniform (in the first Time), exponential (with mean gap Time, in random order), Resampled; "": as they are
	Time unit.Time // the parameter
}

// ParseRespread reads "batch", "resampled", "uniform:90m", "exponential:14s" or "trace".
func ParseRespread(s string) (Respread, error) {
	how, of, timed := strings.Cut(s, ":")
	switch how {
	case "", "trace", "batch", Resampled:
		if timed {
			return Respread{}, fmt.Errorf("%q: %s takes no time", s, how)
		}
		if how == "trace" {
			how = ""
		}
		return Respread{How: how}, nil
	case "uniform", "exponential":
		t, err := unit.ParseTime(of)
		if err != nil || t <= 0 {
			return Respread{}, fmt.Errorf("%q: want %s:TIME, as in %s:1h", s, how, how)
		}
		return Respread{How: how, Time: t}, nil
	}
	return Respread{}, fmt.Errorf("%q is none of trace, batch, resampled, uniform:TIME and exponential:MEAN", s)
}

func (r Respread) String() string {
	if r.Time > 0 {
		return r.How + ":" + strconv.FormatFloat(r.Time.Seconds(), 'g', -1, 64) + "s"
	}
	return r.How
}

// Apply resamples a workload, which is not modified. Jobs keep their names; deadlines move with submit times.
func (r Resampling) Apply(base workload.Slice, seed uint64) (workload.Slice, error) {
	if r.IsZero() {
		return base, nil
	}
	if r.Jobs > len(base) {
		return nil, fmt.Errorf("a sample of %d jobs: the workload has %d", r.Jobs, len(base))
	}
	random := rand.New(rand.NewPCG(seed, 0x726573616d706c65)) // "resample"
	out := slices.Clone(base)
	if r.Jobs > 0 {
		chosen := random.Perm(len(base))[:r.Jobs]
		slices.Sort(chosen)
		out = out[:r.Jobs]
		for i, k := range chosen {
			out[i] = base[k]
		}
	}
	switch r.Arrivals.How {
	case "":
		return out, nil
	case Resampled:
		return resample(out, random)
	}
	if r.Arrivals.How == "exponential" {
		random.Shuffle(len(out), func(i, k int) { out[i], out[k] = out[k], out[i] })
	}
	at := 0.0
	for i, job := range out {
		j := *job // jobs are shared
		switch r.Arrivals.How {
		case "uniform":
			at = random.Float64() * float64(r.Arrivals.Time)
		case "exponential":
			at += random.ExpFloat64() * float64(r.Arrivals.Time)
		}
		if at > float64(unit.Never)/2 {
			return nil, fmt.Errorf("arrivals %v: too long", r.Arrivals)
		}
		j.Submit, j.Observed = unit.Time(math.Round(at)), nil
		if j.Deadline > 0 {
			j.Deadline += j.Submit - job.Submit
		}
		out[i] = &j
	}
	slices.SortStableFunc(out, func(a, b *workload.Job) int { return cmp.Compare(a.Submit, b.Submit) })
	return out, nil
}
