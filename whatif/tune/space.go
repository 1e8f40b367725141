package tune

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/edit"
)

// Space is the settings of a scheduler's file that may change. Every point in it is a valid file: siblings' capacities add up to
// 100, and no maximum is below its capacity.
type Space struct {
	axes        []*axis
	leaves, all []string          // paths of the queues
	queues      map[string]*queue // of a capacity-scheduler.xml
	present     map[string]string // values that the file leaves to Hadoop's defaults
}

// queue is what the space knows of a queue.
type queue struct {
	siblings      []string // itself included
	capacity, max float64  // in percent
	percent       bool
}

// axis is one setting. Its coordinates go from 0 to 1.
type axis struct {
	edit.Change          // Value is the present one; "": not known
	values      []string // to choose from; nil: numbers from low to high
	low, high   float64
	log, whole  bool
	suffix      string
	shared      string  // of a capacity that is drawn together with its siblings': the first of them
	at          float64 // coordinate of the present value
}

func (a *axis) name() string {
	return strings.TrimSuffix(edit.Change{Queue: a.Queue, Property: a.Property}.String(), "=")
}

// Point has a coordinate for each axis; NaN leaves the setting as it is.
type Point []float64

// ranges are those of settings that need no explicit one.
var ranges = map[conf.Kind]map[string]axis{
	conf.CapacityFile: {
		"capacity":                    {low: 0.25, high: 8, log: true, suffix: "w"}, // of weights
		"maximum-capacity":            {low: 0, high: 100, whole: true},
		"user-limit-factor":           {low: 0.5, high: 20, log: true},
		"minimum-user-limit-percent":  {low: 5, high: 100, log: true, whole: true},
		"maximum-am-resource-percent": {low: 0.02, high: 1, log: true},
		"node-locality-delay":         {low: 0, high: 1000, log: true, whole: true},
		"ordering-policy":             {values: []string{"fifo", "fair"}},
	},
	conf.FairFile: {
		"weight":           {low: 0.25, high: 8, log: true},
		"maxAMShare":       {low: 0.02, high: 1, log: true},
		"maxRunningApps":   {low: 2, high: 2000, log: true, whole: true},
		"schedulingPolicy": {values: []string{"fifo", "fair", "drf"}},
	},
}

// maxAxes bounds a space: a search in more dimensions finds nothing in any budget.
const maxAxes = 2000

// NewSpace makes the space of some settings of a scheduler's file. Each is a property (of every queue that can have it) or a
// queue's, with an optional range or list: capacity, root.prod.user-limit-factor=1..10, node-locality-delay=0,40.
func NewSpace(name string, file []byte, over []string) (*Space, error) {
	s := &Space{queues: map[string]*queue{}, present: map[string]string{}}
	kind := conf.Detect(file)
	switch kind {
	case conf.CapacityFile:
		c, err := conf.ReadCapacity(bytes.NewReader(file), name)
		if err != nil {
			return nil, err
		}
		s.present["node-locality-delay"] = strconv.Itoa(c.Heartbeat.NodeLocalityDelay)
		s.capacity(c.Root)
	case conf.FairFile:
		c, err := conf.ReadFair(bytes.NewReader(file), name)
		if err != nil {
			return nil, err
		}
		s.fair(c.Root)
	default:
		return nil, fmt.Errorf("%s is neither a capacity-scheduler.xml nor a fair-scheduler.xml: give one as --scheduler", name)
	}
	for _, word := range over {
		text, span, explicit := strings.Cut(word, "=")
		c, err := edit.Parse(strings.TrimSpace(text) + "=1")
		if err != nil {
			return nil, err
		}
		a := ranges[kind][c.Property]
		if a.Property = c.Property; explicit {
			if err := a.parse(span); err != nil {
				return nil, fmt.Errorf("%s: %w", word, err)
			}
		} else if a.values == nil && a.high == 0 {
			names := slices.Sorted(maps.Keys(ranges[kind]))
			return nil, fmt.Errorf("%s has no range here: give one, such as %s=10..100, or choose among %s%s", text, text, strings.Join(names, ", "), suggest.Hint(c.Property, names))
		}
		of := []string{c.Queue}
		if inQueue, _ := conf.Known(kind, true, c.Property); c.Queue == "" && inQueue {
			if of = s.leaves; slices.Contains([]string{"capacity", "maximum-capacity", "weight"}, c.Property) {
				of = s.all
			}
		} else if c.Queue != "" && !slices.Contains(s.all, c.Queue) {
			return nil, fmt.Errorf("%s: %s has no queue %s%s", word, name, c.Queue, suggest.Hint(c.Queue, s.all))
		}
		for _, a.Queue = range of {
			if v, set, _ := edit.Value(file, a.Queue, a.Property); set { // the file was read
				s.present[a.name()] = v
			}
			if err := s.add(a, explicit); err != nil {
				return nil, err
			}
		}
	}
	if len(s.axes) == 0 || len(s.axes) > maxAxes {
		return nil, fmt.Errorf("there are %d settings to vary: want 1 to %d", len(s.axes), maxAxes)
	}
	_, err := edit.Apply(name, file, s.Changes(s.random(rand.New(rand.NewPCG(1, 1))))) //nolint:gosec // no secret
	return s, err
}

// capacity notes the queues below one of a capacity-scheduler.xml.
func (s *Space) capacity(q *conf.Queue) {
	number := func(v float32) string { return strconv.FormatFloat(float64(v), 'f', -1, 32) }
	var siblings []string
	for _, k := range q.Children {
		siblings = append(siblings, k.Path)
	}
	for _, k := range q.Children {
		its := &queue{siblings: siblings, capacity: float64(k.Capacity.Value), max: 100, percent: k.Capacity.Kind == conf.Percent}
		if k.MaxCapacity.Kind == conf.Percent {
			its.max = float64(k.MaxCapacity.Value)
		}
		s.queues[k.Path] = its
		for property, v := range map[string]string{
			"maximum-capacity": decimal(its.max), "user-limit-factor": number(k.UserLimitFactor), "minimum-user-limit-percent": number(k.MinimumUserLimitPercent),
			"maximum-am-resource-percent": number(k.MaximumAMPercent), "ordering-policy": k.Ordering, "capacity": number(k.Capacity.Value),
		} {
			s.present[k.Path+"."+property] = v
		}
		if s.all = append(s.all, k.Path); k.Leaf() {
			s.leaves = append(s.leaves, k.Path)
		}
		s.capacity(k)
	}
}

func (s *Space) fair(q *conf.FairQueue) {
	for _, k := range q.Children {
		if s.all = append(s.all, k.Name); !k.Parent {
			s.leaves = append(s.leaves, k.Name)
		}
		s.fair(k)
	}
}

// parse reads a range, 1..10, or a list, 0,40.
func (a *axis) parse(span string) (err error) {
	low, high, isRange := strings.Cut(span, "..")
	if !isRange {
		a.values = nil
		for v := range strings.SplitSeq(span, ",") {
			if v = strings.TrimSpace(v); v == "" || slices.Contains(a.values, v) {
				return fmt.Errorf("%q has an empty or repeated value: write a list, such as 0,40, or a range, such as 1..10", span)
			}
			a.values = append(a.values, v)
		}
		return nil
	}
	var errLow, errHigh error
	a.low, errLow = strconv.ParseFloat(strings.TrimSpace(low), 64)
	a.high, errHigh = strconv.ParseFloat(strings.TrimSpace(high), 64)
	if errLow != nil || errHigh != nil || !(a.low >= 0 && a.low < a.high && a.high <= 1e12) {
		return fmt.Errorf("%q is not a range: write 1..10", span)
	}
	a.values, a.log, a.suffix = nil, a.low == 0 || a.high/a.low > 10, ""
	a.whole = !strings.Contains(span[:len(low)]+high, ".") && a.high-a.low >= 5
	return nil
}

// spread is the logarithm of the largest ratio of two siblings' capacities.
const spread = 4.5

// add adds a setting of a queue; a capacity in percent comes with those of all siblings, from whose weights the shares of 100 are
// computed.
func (s *Space) add(a axis, explicit bool) error {
	a.Value = s.present[a.name()]
	named := func(o *axis) bool { return o.name() == a.name() }
	if q := s.queues[a.Queue]; q != nil && a.Property == "capacity" && !explicit {
		switch {
		case strings.HasPrefix(a.Value, "["):
			return fmt.Errorf("%s has an absolute capacity, %s: only capacities in percent and weights can vary", a.Queue, a.Value)
		case q.percent && (len(q.siblings) == 1 || slices.ContainsFunc(s.axes, named)):
			return nil // always 100, or added with its siblings
		case q.percent:
			mean := 0.0
			for _, path := range q.siblings {
				mean += math.Log(max(s.queues[path].capacity, 0.5)) / float64(len(q.siblings))
			}
			a.shared, a.suffix = q.siblings[0], ""
			for _, a.Queue = range q.siblings {
				k := a
				k.Value, k.at = s.present[k.name()], clip(0.5+(math.Log(max(s.queues[k.Queue].capacity, 0.5))-mean)/spread)
				s.axes = append(s.axes, &k)
			}
			return nil
		}
	}
	if slices.ContainsFunc(s.axes, named) {
		return fmt.Errorf("%s is named twice", a.name())
	}
	a.place()
	if q := s.queues[a.Queue]; q != nil && q.percent && a.Property == "maximum-capacity" && a.values == nil && a.high >= 100 {
		a.at = 1
		if floor := max(q.capacity, a.low); q.max < 100 && floor < 100 { // see maximum
			a.at = topMax * clip((q.max-floor)/(100-floor))
		}
	}
	s.axes = append(s.axes, &a)
	return nil
}

func clip(u float64) float64 { return min(max(u, 0), 1) }

// place finds the coordinate of the present value.
func (a *axis) place() {
	if k := slices.Index(a.values, a.Value); a.values != nil {
		a.at = (float64(max(k, 0)) + 0.5) / float64(len(a.values))
		return
	}
	a.at = 0.5
	v, err := strconv.ParseFloat(strings.TrimSuffix(a.Value, a.suffix), 64)
	switch {
	case err != nil:
	case v < 0: // no limit
		a.at = 1
	default:
		low, high := a.ends()
		a.at = clip((a.bend(v) - low) / (high - low))
	}
}

func (a *axis) bend(v float64) float64 {
	if !a.log {
		return v
	}
	if a.low == 0 {
		v++
	}
	return math.Log(v)
}

func (a *axis) ends() (low, high float64) { return a.bend(a.low), a.bend(a.high) }

// value is the setting at a coordinate. Numbers are rounded as a person would write them.
func (a *axis) value(u float64) string {
	if a.values != nil {
		return a.values[min(int(u*float64(len(a.values))), len(a.values)-1)]
	}
	low, high := a.ends()
	v := low + u*(high-low)
	if a.log {
		if v = math.Exp(v); a.low == 0 {
			v--
		}
	}
	if a.whole {
		return strconv.Itoa(int(math.Round(v)))
	}
	step := math.Pow(10, math.Floor(math.Log10(max(v, 1e-9)))-1)
	v = min(max(math.Round(v/step)*step, a.low), a.high)
	return decimal(v) + a.suffix
}

func decimal(v float64) string { return strconv.FormatFloat(math.Round(v*1e4)/1e4, 'f', -1, 64) }

// Changes are what a point changes in the file.
func (s *Space) Changes(p Point) (changes []edit.Change) {
	capacity := s.capacities(p)
	for i, a := range s.axes {
		percent := s.queues[a.Queue] != nil && s.queues[a.Queue].percent
		if math.IsNaN(p[i]) || percent && a.Property == "capacity" { // see below
			continue
		}
		v := a.value(p[i])
		if percent && a.Property == "maximum-capacity" {
			v = s.maximum(a, p[i], capacity)
		}
		if !equal(v, a.Value) {
			changes = append(changes, edit.Change{Queue: a.Queue, Property: a.Property, Value: v})
		}
	}
	var first []edit.Change
	for _, path := range s.all {
		v, set := capacity[path]
		q := s.queues[path]
		if set && decimal(v) != decimal(q.capacity) {
			first = append(first, edit.Change{Queue: path, Property: "capacity", Value: decimal(v)})
		}
		if set && v > q.max && !slices.ContainsFunc(changes, func(c edit.Change) bool { return c.Queue == path && c.Property == "maximum-capacity" }) {
			first = append(first, edit.Change{Queue: path, Property: "maximum-capacity", Value: decimal(v)})
		}
	}
	return append(first, changes...)
}

// units of settings, as a table shows them.
var unitOf = map[string]string{
	"capacity": "% of the parent queue", "maximum-capacity": "% of the parent queue", "user-limit-factor": "times the queue's capacity, for a user",
	"minimum-user-limit-percent": "% of the queue", "maximum-am-resource-percent": "of the queue, as a share", "maxAMShare": "of the queue, as a share",
	"node-locality-delay": "offers missed", "maxRunningApps": "applications", "weight": "relative to its siblings",
}

// settings are changes with what they replace.
func (s *Space) settings(changes []edit.Change) (list []Setting) {
	for _, c := range changes {
		name := strings.TrimSuffix(edit.Change{Queue: c.Queue, Property: c.Property}.String(), "=")
		x := Setting{Name: name, Old: s.present[name], New: c.Value, Unit: unitOf[c.Property]}
		if strings.HasSuffix(c.Value, "w") {
			x.Unit = unitOf["weight"]
		}
		list = append(list, x)
	}
	return list
}

// capacities are those that a point sets. Siblings without a value of their own share what the others leave, by their weights.
func (s *Space) capacities(p Point) map[string]float64 {
	set, weights := map[string]float64{}, map[string]float64{}
	for i, a := range s.axes {
		if q := s.queues[a.Queue]; a.Property != "capacity" || math.IsNaN(p[i]) || q == nil || !q.percent {
			continue
		}
		if a.shared != "" {
			weights[a.Queue] = math.Exp(spread * p[i])
		} else if v, err := strconv.ParseFloat(a.value(p[i]), 64); err == nil {
			set[a.Queue] = v
		}
	}
	for _, path := range s.all {
		q := s.queues[path]
		if q == nil || q.siblings[0] != path {
			continue
		}
		var others []string
		left, touched := 100.0, false
		for _, k := range q.siblings {
			v, fixed := set[k]
			_, drawn := weights[k]
			touched = touched || fixed || drawn
			if left -= v; !fixed {
				others = append(others, k)
			}
			if !drawn {
				weights[k] = max(s.queues[k].capacity, 1e-6)
			}
		}
		if touched && len(others) > 0 && left >= 0 { // otherwise edit.Apply explains the sum
			divide(set, weights, others, left)
		}
	}
	return set
}

// equal compares values as numbers where they are.
func equal(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return a == b || errX == nil && errY == nil && x == y
}

// topMax is the coordinate from which on a maximum-capacity is 100: that is what most queues should have.
const topMax = 0.75

// maximum is a maximum-capacity: from the capacity up to 100.
func (s *Space) maximum(a *axis, u float64, capacity map[string]float64) string {
	floor, changed := capacity[a.Queue]
	if !changed {
		floor = s.queues[a.Queue].capacity
	}
	if a.values != nil || a.high < 100 {
		v, _ := strconv.ParseFloat(a.value(u), 64)
		return decimal(max(v, floor))
	}
	return decimal(max(floor, math.Ceil(max(floor, a.low)+min(1, u/topMax)*(100-max(floor, a.low)))))
}

// divide turns weights into shares of a total with few digits whose sum is exact (largest remainders).
func divide(shares, weights map[string]float64, names []string, total float64) {
	step := 1.0
	if len(names) > 20 || total != math.Trunc(total) || total < float64(len(names)) {
		step = 0.01
	}
	steps, sum := int(math.Round(total/step)), 0.0
	for _, n := range names {
		sum += weights[n]
	}
	spare := max(0, steps-len(names)) // everybody has one step
	left := spare
	parts, rests := make([]int, len(names)), make([]int, len(names))
	exact := func(i int) float64 { return weights[names[i]] / sum * float64(spare) }
	for i := range names {
		parts[i], rests[i] = int(exact(i)), i
		left -= parts[i]
	}
	slices.SortStableFunc(rests, func(i, j int) int { return cmp.Compare(exact(j)-float64(parts[j]), exact(i)-float64(parts[i])) })
	for _, i := range rests[:left] {
		parts[i]++
	}
	for i, n := range names {
		shares[n] = math.Round(float64(parts[i]+min(1, steps/len(names)))*step*100) / 100
	}
}

// Present is the point of the present settings.
func (s *Space) Present() Point { return slices.Repeat(Point{math.NaN()}, len(s.axes)) }

// units are the axes that change together: siblings' capacities, and every other one alone.
func (s *Space) units() (list [][]int) {
	for i, a := range s.axes {
		if n := len(list) - 1; a.shared != "" && n >= 0 && s.axes[i-1].shared == a.shared {
			list[n] = append(list[n], i)
		} else {
			list = append(list, []int{i})
		}
	}
	return list
}
