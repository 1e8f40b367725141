// Package sizing answers how many racks of scale-up machines to buy for a workload and a budget: it labels jobs by the machines that run them
// faster, trains a classifier on them, and simulates every mix of racks that costs about the same.
package sizing

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy/hybrid"
	"github.com/yardmaster/yardmaster/policy/hybrid/classify"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Labeller says which machines run a job faster: it plays the job alone, on one scale-up machine and on scale-out machines of the same price.
type Labeller struct {
	up, out *sim.Alone
	About   string // the two
}

// NewLabeller takes a machine of either kind and the number of scale-out machines that one scale-up machine is compared with.
func NewLabeller(up, out cluster.Node, machines int, m sim.Model, seed uint64) (*Labeller, error) {
	if up.Room.IsZero() || out.Room.IsZero() || machines < 1 {
		return nil, fmt.Errorf("one machine of %v against %d of %v", up.Room, machines, out.Room)
	}
	alone := func(n cluster.Node, count int) *sim.Alone {
		c := cluster.Uniform(count, 1, n.Room)
		for i := range c.Nodes {
			c.Nodes[i].Speed = n.Speed
		}
		return sim.NewAlone(c, m, seed)
	}
	return &Labeller{
		up: alone(up, 1), out: alone(out, machines),
		About: fmt.Sprintf("1 scale-up machine of %v against %s of %v", up.Room, unit.Count(int64(machines), "scale-out machine"), out.Room),
	}, nil
}

// Machines are the source's: 24 containers at the speed of cluster.ScaleUpSpeed, and 8 at speed 1.
func Machines() (up, out cluster.Node) {
	up = cluster.Node{Room: cluster.Unit.Times(24), Kind: cluster.ScaleUp, Speed: cluster.ScaleUpSpeed()}
	return up, cluster.Node{Room: cluster.Unit.Times(8), Kind: "scale-out"}
}

// Reference is the source's equipment: one machine against five.
func Reference() *Labeller {
	up, out := Machines()
	l, err := NewLabeller(up, out, 5, sim.Model{}, 1)
	if err != nil {
		panic("sizing: " + err.Error())
	}
	return l
}

// Times are how long a job takes on either side; 0: it cannot run there. seq is its arrival number.
func (l *Labeller) Times(j *workload.Job, seq int64) (up, out unit.Time) {
	return l.up.Once(j, seq), l.out.Once(j, seq)
}

// faster reports whether scale-up machines are faster. A job that only one side can run belongs there.
func (l *Labeller) faster(j *workload.Job, seq int64) bool {
	up, out := l.Times(j, seq)
	return up > 0 && (out == 0 || up < out)
}

// Label returns the jobs with the side that runs each faster as its class, and the same as flags.
func (l *Labeller) Label(ctx context.Context, jobs workload.Slice) (labelled workload.Slice, up []bool, err error) {
	labelled, up = make(workload.Slice, len(jobs)), make([]bool, len(jobs))
	for i, j := range jobs {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		one := *j
		one.Class = hybrid.Out.String()
		if up[i] = l.faster(j, int64(i)); up[i] {
			one.Class = hybrid.Up.String()
		}
		labelled[i] = &one
	}
	return labelled, up, nil
}

// Unshuffled returns the label of each job if it shuffled nothing and were otherwise the same: it can only be less in favour of scale-up machines.
func (l *Labeller) Unshuffled(ctx context.Context, jobs workload.Slice) ([]bool, error) {
	up := make([]bool, len(jobs))
	for i, j := range jobs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		one := *j
		one.Stages = slices.Clone(j.Stages)
		for k := range one.Stages {
			s := &one.Stages[k]
			s.After = slices.Clone(s.After)
			for e := range s.After {
				s.After[e].Shuffle = 0
			}
		}
		up[i] = l.faster(&one, int64(i))
	}
	return up, nil
}

// Learned is a classifier trained on labelled jobs.
type Learned struct {
	*classify.SVM `json:"-"`
	C             float64 `json:"c"` // by cross validation, as Gamma
	Gamma         float64 `json:"gamma"`
	Score         float64 `json:"cross_validated_score"` // by misplaced work: see classify.Train
	// Known and Unknown are as if the shuffle of all jobs, or of none, were known. HeldOut: they are over jobs that it was not trained on; otherwise over all.
	Known   classify.Confusion `json:"shuffle_known"`
	Unknown classify.Confusion `json:"shuffle_unknown"`
	HeldOut bool               `json:"held_out"`
}

// Examples are jobs with their labels. A job that does not recur is classified as if it shuffled nothing, so with unshuffled (nil: not, as in the source) each job is
// also an example without its shuffle, with its label among these.
func Examples(jobs workload.Slice, up, unshuffled []bool) (examples []classify.Example) {
	for i, j := range jobs {
		examples = append(examples, classify.Example{Features: classify.OfWork(j), Up: up[i], Work: j.Work()})
	}
	if unshuffled != nil {
		for i, e := range examples[:len(jobs)] {
			if e.Shuffle > 0 {
				e.Features, e.Up = e.Unpredicted(), unshuffled[i]
				examples = append(examples, e)
			}
		}
	}
	return examples
}

// Learn trains a classifier on the first half of the jobs, in random order, and judges it on the second; on all of them if they are fewer than two
// training sets.
func Learn(jobs workload.Slice, up, unshuffled []bool, t classify.Training) (*Learned, error) {
	if len(jobs) < 5 { // the folds of cross validation
		return nil, errors.New("too few jobs to train a classifier: take a longer workload, or name a classifier with --scheduler hybrid:model=FILE")
	}
	order, half := make([]int, len(jobs)), len(jobs)
	for i := range order {
		order[i] = i
	}
	if len(jobs) >= 2*t.Examples {
		order, half = rand.New(rand.NewPCG(t.Seed, 2)).Perm(len(jobs)), len(jobs)/2
	}
	train, is, bare := make(workload.Slice, half), make([]bool, half), make([]bool, half)
	for i, k := range order[:half] {
		train[i], is[i], bare[i] = jobs[k], up[k], unshuffled[k]
	}
	c, best, err := classify.Train(Examples(train, is, bare), t)
	if err != nil {
		return nil, fmt.Errorf("training the classifier: %w", err)
	}
	l := &Learned{SVM: c, C: best.C, Gamma: best.Gamma, Score: best.Accuracy, HeldOut: half < len(jobs)}
	all := Examples(jobs, up, nil)
	for _, k := range order[half%len(jobs):] {
		e := all[k]
		l.Known.Add(e, c.Decision(e.Features) > 0)
		l.Unknown.Add(e, c.Decision(e.Unpredicted()) > 0)
	}
	return l, nil
}
