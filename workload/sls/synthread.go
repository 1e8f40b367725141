package sls

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Limits on a SYNTH description.
const (
	maxSynth     = 4 << 20 // bytes of the file
	maxWorkloads = 1000
	maxTaskKinds = 5000
	maxBuckets   = 100_000
	maxSeconds   = 1 << 30 // submit times: 34 years
	maxTaskTime  = 1e12
)

type synthTrace struct {
	jobs, nodes, perRack, seed int64
	workloads                  []synthWorkload
	weights                    []float64
	wheel                      wheel
	tasks                      int
	buckets                    int
}

type synthWorkload struct {
	name, queue               string
	classes                   []synthClass
	classWeights, timeWeights []float64
	classWheel, timeWheel     wheel
	times                     []int64 // seconds
}

type synthClass struct {
	name, user, typ                 string
	duration, deadline, reservation sample
	tasks                           []synthTask
}

type synthTask struct {
	typ                        string
	count, time, memory, cores sample
	length                     workload.Lengths
	opportunistic              bool
}

// readSynth reads the one record of a SYNTH description.
func readSynth(js *input.JSON, scale unit.Time) (*synthTrace, error) {
	t := &synthTrace{jobs: -1, perRack: 1}
	fields := input.Fields{
		"num_jobs": js.IntTo(&t.jobs, 0, MaxJobs), "num_nodes": js.IntTo(&t.nodes, 0, maxNodes), "rand_seed": js.IntTo(&t.seed, math.MinInt64, math.MaxInt64),
		"nodes_per_rack": func() (err error) {
			t.perRack, _, err = js.Int(0, maxNodes)
			t.perRack = max(t.perRack, 1)
			return err
		},
		"workloads": js.ArrayTo(maxWorkloads, func(int) error { return t.workload(js, scale) }),
	}
	err := js.Only("a SYNTH description", func() error { return js.Object(fields.Read) })
	switch {
	case err != nil:
		return nil, err
	case t.jobs < 0:
		return nil, js.Errorf("num_jobs is missing: is this a SYNTH description?")
	case t.jobs > 0 && !newWheel(t.weights).turns():
		return nil, js.Errorf("no workload has a weight above 0")
	}
	t.wheel = newWheel(t.weights)
	return t, nil
}

func (t *synthTrace) workload(js *input.JSON, scale unit.Time) error {
	w := synthWorkload{queue: "default"}
	weight := 0.0
	err := js.Object(input.Fields{
		"workload_name": nameTo(js, &w.name), "workload_weight": func() error { return number(js, &weight, 1e12) },
		"queue_name": func() (err error) {
			w.queue, err = name(js)
			w.queue = cmp.Or(w.queue, "default")
			return err
		},
		"job_classes": js.ArrayTo(maxWorkloads, func(int) error { return w.class(js, scale) }),
		"time_distribution": js.ArrayTo(maxBuckets, func(int) error {
			if t.buckets++; t.buckets > maxBuckets {
				return js.Errorf("more than %d entries in time distributions: refused", maxBuckets)
			}
			return w.bucket(js)
		}),
	}.Read)
	w.classWheel, w.timeWheel = newWheel(w.classWeights), newWheel(w.timeWeights)
	for i := range w.classes {
		t.tasks += len(w.classes[i].tasks)
	}
	switch {
	case err != nil:
		return err
	case t.tasks > maxTaskKinds:
		return js.Errorf("more than %d kinds of tasks: refused", maxTaskKinds)
	case weight > 0 && !w.classWheel.turns():
		return js.Errorf("workload %q has no class with a weight above 0", w.name)
	case weight > 0 && !w.timeWheel.turns():
		return js.Errorf("workload %q has no time with a weight above 0", w.name)
	}
	t.workloads = append(t.workloads, w)
	t.weights = append(t.weights, weight)
	return nil
}

func (w *synthWorkload) bucket(js *input.JSON) error {
	var at int64
	weight := 0.0
	err := js.Object(input.Fields{"time": js.IntTo(&at, 0, maxSeconds), "weight": func() error { return number(js, &weight, 1e12) }}.Read)
	w.times, w.timeWeights = append(w.times, at), append(w.timeWeights, weight)
	return err
}

func (w *synthWorkload) class(js *input.JSON, scale unit.Time) error {
	c := synthClass{typ: "mapreduce", name: "class", user: "default"}
	weight := 0.0
	// The old form, with members such as mtasks_avg and mtasks_stddev: a map and a reduce.
	old := []synthTask{{typ: mapType}, {typ: reduceType}}
	err := js.Object(func(member []byte) (err error) {
		switch key := string(member); key {
		case "class_name":
			c.name, err = name(js)
		case "user_name":
			c.user, err = name(js)
		case "class_weight":
			err = number(js, &weight, 1e12)
		case "type":
			c.typ, err = name(js)
		case "duration":
			err = c.duration.read(js, maxSeconds)
		case "deadline_factor":
			err = c.deadline.read(js, 1e9)
		case "reservation":
			err = c.reservation.read(js, 1e9)
		case "chance_of_reservation":
			err = number(js, &c.reservation.val, 1e9)
		case "tasks":
			err = js.Array(workload.MaxStages, func(int) error { return c.task(js) })
		default:
			if v, limit := c.oldNumber(old, key); v != nil {
				err = number(js, v, limit)
			} else if t, is := strings.CutSuffix(key, "_execution_type"); is && (t == mapType || t == reduceType) {
				err = execution(js, &old[slices.Index([]string{mapType, reduceType}, t)])
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(c.tasks) == 0 {
		c.tasks = old
	}
	for i := range c.tasks {
		c.tasks[i].length = c.tasks[i].time.lengths(scale)
	}
	// Maps stand before reduces: a stage waits only for earlier ones.
	slices.SortStableFunc(c.tasks, func(a, b synthTask) int { return rank(a.typ) - rank(b.typ) })
	w.classes, w.classWeights = append(w.classes, c), append(w.classWeights, weight)
	return nil
}

func rank(typ string) int {
	return map[workload.Kind]int{workload.Map: 0, workload.Other: 1, workload.Reduce: 2}[kindOf(typ)]
}

// oldNumber points to the field of a number of the old form.
func (c *synthClass) oldNumber(old []synthTask, key string) (v *float64, limit float64) {
	what, avg := strings.CutSuffix(key, "_avg")
	if !avg {
		var std bool
		if what, std = strings.CutSuffix(key, "_stddev"); !std {
			return nil, 0
		}
	}
	m, r := &old[0], &old[1]
	to := map[string]struct {
		s     *sample
		limit float64
	}{
		"dur": {&c.duration, maxSeconds}, "deadline_factor": {&c.deadline, 1e9},
		"mtasks": {&m.count, MaxCount}, "mtime": {&m.time, maxTaskTime},
		"rtasks": {&r.count, MaxCount}, "rtime": {&r.time, maxTaskTime},
		"map_max_memory": {&m.memory, cluster.MaxRoom}, "map_max_vcores": {&m.cores, cluster.MaxRoom},
		"reduce_max_memory": {&r.memory, cluster.MaxRoom}, "reduce_max_vcores": {&r.cores, cluster.MaxRoom},
	}[what]
	if to.s == nil {
		return nil, 0
	}
	if avg {
		return &to.s.val, to.limit
	}
	return &to.s.std, to.limit
}

func (c *synthClass) task(js *input.JSON) error {
	t := synthTask{typ: mapType}
	read := func(s *sample, limit float64) func() error { return func() error { return s.read(js, limit) } }
	err := js.Object(input.Fields{
		"type": nameTo(js, &t.typ), "count": read(&t.count, MaxCount), "time": read(&t.time, maxTaskTime), "max_memory": read(&t.memory, cluster.MaxRoom),
		"max_vcores": read(&t.cores, cluster.MaxRoom), "execution_type": func() error { return execution(js, &t) },
	}.Read)
	c.tasks = append(c.tasks, t)
	return err
}

func execution(js *input.JSON, t *synthTask) error {
	s, err := name(js)
	t.opportunistic = s == "OPPORTUNISTIC"
	return err
}

// sort puts the choices of a discrete sample in order, as an inverse distribution function needs them.
func (s *sample) sort() {
	at := make([]int, len(s.discrete))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(s.discrete[a], s.discrete[b]) })
	values, weights := make([]float64, len(at)), make([]float64, len(at))
	for i, k := range at {
		values[i], weights[i] = s.discrete[k], s.weights[k]
	}
	s.discrete, s.weights, s.wheel = values, weights, newWheel(weights)
}
