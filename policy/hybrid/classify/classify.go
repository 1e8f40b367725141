// Package classify decides whether a job runs best on scale-up or on scale-out machines: the features of a job, a support vector machine over
// them, its training and its file.
package classify

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/yardmaster/yardmaster/internal/svm"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Features are what a job is classified by. The shuffle of a job that does not recur is unknown, and counts as 0: a larger shuffle favours
// scale-up machines, so a job that goes there without any would go there in truth. The costly error, a large job on few machines, is avoided.
type Features struct {
	Maps, Reduces int64
	Shuffle       unit.Bytes
}

// Of are those of a job as a policy sees it. Tasks of a stage that needs no other are maps.
func Of(j *policy.Job) (f Features) {
	for i := range j.Stages {
		f.add(j.Stages[i].Tasks, j.Stages[i].After)
	}
	if len(j.Stages) == 0 { // a ResourceManager does not know the stages
		f.Maps = j.Tasks
	}
	return f
}

// OfWork are those of a job of a workload.
func OfWork(j *workload.Job) (f Features) {
	for i := range j.Stages {
		f.add(j.Stages[i].Tasks, j.Stages[i].After)
	}
	return f
}

func (f *Features) add(tasks int64, after []workload.Edge) {
	if len(after) == 0 {
		f.Maps += tasks
	} else {
		f.Reduces += tasks
	}
	for _, e := range after {
		f.Shuffle += e.Shuffle
	}
}

// Unpredicted are the features of a job whose shuffle is unknown.
func (f Features) Unpredicted() Features {
	f.Shuffle = 0
	return f
}

// Mispredicted are the features of a job whose shuffle is predicted with a signed error, (predicted - real) / real.
func (f Features) Mispredicted(signed float64) Features {
	f.Shuffle = unit.Bytes(math.Round(min(float64(f.Shuffle)*(1+signed), 1<<62)))
	return f
}

// Example is a job whose better side is known.
type Example struct {
	Features
	Up   bool    // it runs faster on scale-up machines
	Work float64 // container-seconds on scale-out machines
}

// Classifier decides on which machines a job runs best.
type Classifier interface {
	// Decision is positive for scale-up machines; its absolute value says how clear that is.
	Decision(f Features) float64
}

// SVM classifies by a support vector machine over the logarithms of maps and of shuffled gigabytes, standardised. A feature outside the range of the
// training set counts as its end: farther out, the decision of a radial kernel is arbitrary. For the same reason the shuffle is in gigabytes: an unknown one,
// which is 0, must not lie far from all examples, as the logarithm of bytes would put it; and reduces, which follow the shuffle, are left out.
type SVM struct {
	Format int       `json:"format"`
	About  string    `json:"about"` // what it was trained on
	Mean   vector    `json:"mean"`
	Scale  vector    `json:"scale"` // standard deviations
	Low    vector    `json:"low"`   // range of the training set, as logarithms
	High   vector    `json:"high"`
	Model  svm.Model `json:"svm"`
}

type vector = [2]float64

var _ Classifier = (*SVM)(nil)

const format = 2

func logs(f Features) vector {
	return vector{math.Log1p(float64(f.Maps)), math.Log1p(float64(f.Shuffle) / 1e9)}
}

// Decision is that of the support vector machine.
func (c *SVM) Decision(f Features) float64 {
	x := logs(f)
	c.standardise(&x)
	return c.Model.Decision(x[:])
}

func (c *SVM) standardise(x *vector) {
	for k := range x {
		x[k] = (min(max(x[k], c.Low[k]), c.High[k]) - c.Mean[k]) / c.Scale[k]
	}
}

// Training says how a classifier is trained. Zero values: the whole grid (C from 2^-5 to 2^15, gamma from 2^-15 to 2^3, in factors of 4), 5 folds and up
// to 1,000 examples.
type Training struct {
	Grid     []svm.Params
	Folds    int
	Examples int // max; a larger set is sampled: see sample
	Seed     uint64
	About    string
}

// steps limits a training of the search; the final one has no such limit.
const steps = 50_000

func side(up bool) int {
	if up {
		return 1
	}
	return 0
}

// Train trains a classifier with the parameters that cross validation finds best by the work that is misplaced: the large jobs' share of work on scale-up
// machines and the small jobs' share of jobs on scale-out machines count alike. The score that it returns is 1 less the mean of the two.
func Train(examples []Example, t Training) (*SVM, svm.Score, error) {
	if t.Grid == nil {
		t.Grid = svm.Grid([2]int{-5, 15}, [2]int{-15, 3}, 2)
	}
	t.Folds, t.Examples = unit.Positive(t.Folds, 5), unit.Positive(t.Examples, 1000)
	c := &SVM{Format: format, About: t.About}
	pick := sample(examples, t.Examples, t.Seed)
	x, y, cost := make([]vector, len(pick)), make([]bool, len(pick)), make([]float64, len(pick))
	n := float64(max(1, len(pick)))
	var sum [2]float64 // of costs, by side
	for i, p := range pick {
		e := &examples[p]
		x[i], y[i], cost[i] = logs(e.Features), e.Up, 1
		if !e.Up {
			cost[i] = max(e.Work, 1)
		}
		sum[side(e.Up)] += cost[i]
		if i == 0 {
			c.Low, c.High = x[i], x[i]
		}
		for k, v := range x[i] {
			c.Mean[k] += v / n
			c.Low[k], c.High[k] = min(c.Low[k], v), max(c.High[k], v)
		}
	}
	for i := range x {
		for k, v := range x[i] {
			c.Scale[k] += (v - c.Mean[k]) * (v - c.Mean[k]) / n
		}
	}
	for k := range c.Scale {
		if c.Scale[k] = math.Sqrt(c.Scale[k]); !(c.Scale[k] > 1e-9) {
			c.Scale[k] = 1 // a constant
		}
	}
	rows := make([][]float64, len(x))
	for i := range x {
		c.standardise(&x[i])
		rows[i] = x[i][:]
		cost[i] /= sum[side(y[i])]
	}
	for i := range t.Grid {
		t.Grid[i].Steps = unit.Positive(t.Grid[i].Steps, steps)
	}
	_, best, err := svm.Search(rows, y, cost, t.Grid, t.Folds, t.Seed)
	if err != nil {
		return nil, best, err
	}
	best.Steps = 0
	model, err := svm.Train(rows, y, best.Params)
	if err != nil {
		return nil, best, err
	}
	c.Model = *model
	return c, best, nil
}

// sample picks examples at random, evenly over the magnitudes of their numbers of maps: most jobs are tiny, and all alike to a classifier; a plain
// sample would hold next to none of the large ones, whose errors are the costly ones.
func sample(examples []Example, n int, seed uint64) (pick []int) {
	var by [65][]int
	for _, i := range rand.New(rand.NewPCG(seed, 1)).Perm(len(examples)) {
		k := bits.Len64(uint64(examples[i].Maps))
		by[k] = append(by[k], i)
	}
	for len(pick) < min(n, len(examples)) {
		for k := range by {
			if len(by[k]) > 0 && len(pick) < n {
				pick, by[k] = append(pick, by[k][0]), by[k][1:]
			}
		}
	}
	slices.Sort(pick)
	return pick
}

// Confusion counts jobs by the side that is faster in truth and the one that a classifier chooses. A large job on scale-up machines is the costly error.
type Confusion struct {
	UpAsUp   int64 `json:"small_as_small"`
	UpAsOut  int64 `json:"small_as_large"`
	OutAsOut int64 `json:"large_as_large"`
	OutAsUp  int64 `json:"large_as_small"`
	// Work of large jobs, in container-seconds, and what of it is on scale-up machines.
	Work      float64 `json:"large_work"`
	Misplaced float64 `json:"large_work_as_small"`
}

// Add counts one job.
func (c *Confusion) Add(e Example, chosen bool) {
	if !e.Up {
		c.Work += e.Work
	}
	switch {
	case e.Up && chosen:
		c.UpAsUp++
	case e.Up:
		c.UpAsOut++
	case chosen:
		c.OutAsUp++
		c.Misplaced += e.Work
	default:
		c.OutAsOut++
	}
}

// Jobs is the number of jobs counted.
func (c *Confusion) Jobs() int64 { return c.UpAsUp + c.UpAsOut + c.OutAsOut + c.OutAsUp }

// Accuracy is the share of jobs on the right side.
func (c *Confusion) Accuracy() float64 {
	return float64(c.UpAsUp+c.OutAsOut) / float64(max(1, c.Jobs()))
}

// MisplacedWork is the share of the large jobs' work that is on scale-up machines: one large job there can delay all small ones, which accuracy does not show.
func (c *Confusion) MisplacedWork() float64 { return c.Misplaced / max(c.Work, 1) }

// Parse reads a trained classifier.
func Parse(data []byte) (*SVM, error) {
	c := &SVM{}
	if err := json.Unmarshal(data, c); err != nil {
		return nil, err
	}
	if c.Format != format {
		return nil, fmt.Errorf("a classifier of format %d: want %d", c.Format, format)
	}
	for k := range c.Scale {
		finite := !slices.ContainsFunc([]float64{c.Mean[k], c.Scale[k], c.Low[k], c.High[k]}, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
		if !finite || c.Scale[k] <= 0 || c.Low[k] > c.High[k] {
			return nil, fmt.Errorf("feature %d: mean %v, scale %v, from %v to %v", k, c.Mean[k], c.Scale[k], c.Low[k], c.High[k])
		}
	}
	return c, c.Model.Validate(len(c.Mean))
}

// maxFile bounds a classifier's file.
const maxFile = 4 << 20

// Open reads a classifier from a file that "yardmaster size" wrote.
func Open(path string) (*SVM, error) {
	st, err := os.Stat(path)
	if err == nil && (!st.Mode().IsRegular() || st.Size() > maxFile) {
		err = fmt.Errorf("not a regular file of at most %d MiB", maxFile>>20)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	var c *SVM
	if err == nil {
		c, err = Parse(data)
	}
	if err != nil {
		if cause := errors.Unwrap(err); cause != nil {
			err = cause
		}
		return nil, fmt.Errorf("model=%s: %w", path, err)
	}
	return c, nil
}
