package sim_test

import (
	"context"
	"io"
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// poisson yields jobs of one stage with exponential gaps.
type poisson struct {
	seed  uint64
	gap   float64 // mean, seconds
	jobs  int
	tasks func(i int) int64
	len   workload.Lengths
	i     int
	at    float64
}

func (p *poisson) Next() (*workload.Job, error) {
	if p.i == p.jobs {
		return nil, io.EOF
	}
	p.at += -math.Log(1-workload.Uniform01(p.seed, uint64(p.i))) * p.gap
	n := int64(1)
	if p.tasks != nil {
		n = p.tasks(p.i)
	}
	p.i++
	return &workload.Job{ID: "j", Submit: unit.FromSeconds(p.at), Stages: []workload.Stage{{Tasks: n, Ask: cluster.Unit, Length: p.len}}}, nil
}

// meanSink averages over the jobs after a warm-up.
type meanSink struct {
	skip           int64
	n              float64
	wait, slowdown float64
}

func (m *meanSink) Job(r *sim.JobRecord) {
	if r.Seq < m.skip {
		return
	}
	m.n++
	m.wait += (r.Start - r.Job.Submit).Seconds()
	if r.Alone > 0 {
		m.slowdown += (r.Finish - r.Job.Submit).Seconds() / r.Alone.Seconds()
	}
}
func (m *meanSink) Sample(*sim.Sample) {}

// replicate runs several seeds and returns the mean of a figure and the half width of its 99 % interval.
func replicate(t *testing.T, reps int, scheduler string, containers int, noAlone bool, src func(seed uint64) workload.Source, figure func(*meanSink) float64) (mean, half float64) {
	t.Helper()
	// Quantiles 0.995 of Student's t for 9 to 29 degrees of freedom, thinned.
	quantile := map[int]float64{10: 3.250, 12: 3.106, 16: 2.947, 20: 2.861, 30: 2.756}[reps]
	if quantile == 0 {
		t.Fatalf("no quantile for %d replications", reps)
	}
	var sum, sq float64
	for r := range reps {
		seed := workload.Seed(77, uint64(r))
		sink := &meanSink{skip: 500}
		_, err := sim.Run(context.Background(), sim.Config{
			Cluster: cluster.Uniform(containers, 1, cluster.Unit), Source: src(seed), Seed: seed, Sink: sink, NoAlone: noAlone,
			NewPolicy: func() (policy.Policy, error) { return all.Policies.New(policy.Spec{Name: scheduler}) },
		})
		if err != nil {
			t.Fatal(err)
		}
		x := figure(sink)
		sum += x
		sq += x * x
	}
	n := float64(reps)
	mean = sum / n
	return mean, quantile * math.Sqrt((sq/n-mean*mean)/(n-1))
}

func erlangC(c int, a float64) float64 {
	term, sum := 1.0, 1.0
	for k := 1; k < c; k++ {
		term *= a / float64(k)
		sum += term
	}
	last := term * a / float64(c) * float64(c) / (float64(c) - a)
	return last / (sum + last)
}

// Queueing theory as oracle: the mean wait under FIFO.
func TestTheoryWaits(t *testing.T) {
	if testing.Short() {
		t.Skip("many jobs")
	}
	service := 10.0
	for _, c := range []struct {
		name       string
		containers int
		rho        float64
		length     workload.Lengths
		want       float64
	}{
		{"M/M/1 rho 0.5", 1, 0.5, workload.Lengths{Kind: workload.Exponential, A: 10 * unit.Second}, 0.5 / (1 - 0.5) * service},
		{"M/M/1 rho 0.8", 1, 0.8, workload.Lengths{Kind: workload.Exponential, A: 10 * unit.Second}, 0.8 / (1 - 0.8) * service},
		{"M/M/3 rho 0.7", 3, 0.7, workload.Lengths{Kind: workload.Exponential, A: 10 * unit.Second}, erlangC(3, 2.1) * service / (3 - 2.1)},
		{"M/M/20 rho 0.9", 20, 0.9, workload.Lengths{Kind: workload.Exponential, A: 10 * unit.Second}, erlangC(20, 18) * service / (20 - 18)},
		// Pollaczek-Khinchine: rho (1 + cv^2) / (2 (1 - rho)) times the mean service.
		{"M/D/1 rho 0.8", 1, 0.8, workload.Fixed(10 * unit.Second), 0.8 / (2 * 0.2) * service},
		{"M/G/1 uniform rho 0.7", 1, 0.7, workload.Lengths{Kind: workload.Uniform, A: 0, B: 20 * unit.Second}, 0.7 * (1 + 1.0/3) / (2 * 0.3) * service},
		{"M/G/1 lognormal cv 1.5 rho 0.6", 1, 0.6, workload.Lengths{Kind: workload.LogNormal, A: 10 * unit.Second, P: 1.5}, 0.6 * (1 + 2.25) / (2 * 0.4) * service},
	} {
		mean, half := replicate(t, 20, "fifo", c.containers, true, func(seed uint64) workload.Source {
			return &poisson{seed: seed, gap: service / c.rho / float64(c.containers), jobs: 40_000, len: c.length}
		}, func(m *meanSink) float64 { return m.wait / m.n })
		t.Logf("%-32s mean wait %.3f s +- %.3f, theory %.3f", c.name, mean, half, c.want)
		if math.Abs(mean-c.want) > half {
			t.Errorf("%s: mean wait %.3f s +- %.3f (99 %%), theory says %.3f", c.name, mean, half, c.want)
		}
	}
}

// Under Fair with many tiny tasks a cluster is a processor-sharing server: mean slowdown 1/(1-rho), whatever the sizes.
func TestTheoryProcessorSharing(t *testing.T) {
	if testing.Short() {
		t.Skip("many tasks")
	}
	const containers, mean = 10, 500
	for _, rho := range []float64{0.4, 0.6} {
		for _, sizes := range []string{"uniform", "exponential"} {
			got, half := replicate(t, 10, "fair", containers, false, func(seed uint64) workload.Source {
				return &poisson{
					seed: seed, gap: mean * 0.1 / containers / rho, jobs: 3500, len: workload.Fixed(100 * unit.Millisecond),
					tasks: func(i int) int64 {
						u := workload.Uniform01(^seed, uint64(i))
						if sizes == "uniform" {
							return int64(100 + u*800)
						}
						return int64(100 - math.Log(1-u)*(mean-100))
					},
				}
			}, func(m *meanSink) float64 { return m.slowdown / m.n })
			want := 1 / (1 - rho)
			t.Logf("rho %.1f %-12s mean slowdown %.3f +- %.3f, theory %.3f", rho, sizes, got, half, want)
			if math.Abs(got-want) > half {
				t.Errorf("rho %.1f, %s: mean slowdown %.3f +- %.3f (99 %%), theory says %.3f", rho, sizes, got, half, want)
			}
		}
	}
}
