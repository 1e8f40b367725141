// Package queues derives, from a cluster's own CapacityScheduler settings, the queues that a steering policy needs: one leaf per level for
// fbq, tags, sita and comp, one leaf per job for deadline.
//
// For a leaf root.batch there is a new parent beside it, root.batch-levels, with the leaves batch-l1, batch-l2, ... (root.batch-deadlines with
// batch-d1, ...). Users keep submitting to root.batch: it becomes the intake, from where the steerer moves jobs on. The intake keeps 1 % of
// the capacity, the new parent gets the rest, and no other queue's settings change. (Where vcores count, it keeps as much as makes a vcore.)
//
// The CapacityScheduler derives three limits from a queue's capacity: the number of applications, the resources of a user and those of a
// user's AMs. A level with a small capacity could then hold a single application. So the limits are scaled up where the capacity is scaled
// down, and no level has capacity 0, with which the user's AM limit is 0 whatever the factor.
package queues

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// Options say what to prepare for.
type Options struct {
	Policy string
	Queue  string    // a leaf: root.batch
	Levels int       // 0: the policy's default, or as many as there are shares
	Shares []float64 // of the levels except the last; fixed partitions only
	Vcores int64     // of the cluster; 0: unknown
}

// policy is how a policy's queues are made.
type policy struct {
	suffix, leaf string    // of the names
	levels       int       // default
	fixed        []float64 // partitions of fixed size, with the default of Options.Shares
	ranked       bool      // by queue priority: each level may use all
}

var policies = map[string]policy{
	"fbq":      {"-levels", "-l", 2, nil, true},
	"comp":     {"-levels", "-l", 2, nil, true},
	"tags":     {"-levels", "-l", 2, []float64{0.5}, false},
	"sita":     {"-levels", "-l", 2, []float64{0.3}, false},
	"deadline": {"-deadlines", "-d", 5, nil, false},
}

// Policies are the policies that need queues.
func Policies() []string { return []string{"fbq", "tags", "sita", "comp", "deadline"} }

const (
	maxLevels = 50
	minPart   = 0.01 // of its capacity that the intake keeps; capacity of a ranked level except the first
	maxPart   = 0.1  // the same where 1 % of the queue is less than a vcore
)

// Setting is a changed or new setting of a queue; "" is one that is not set.
type Setting struct {
	Queue string `json:"queue"`
	Name  string `json:"name"`
	Old   string `json:"old,omitempty"`
	New   string `json:"new"`
}

func (s Setting) key() string { return conf.Prefix + s.Queue + "." + s.Name }

// Plan is the change for one queue. It is complete: it can be applied, compared with a configuration and undone without knowing how it was derived.
type Plan struct {
	Policy   string    `json:"policy"`
	Queue    string    `json:"queue"`  // the intake
	Parent   string    `json:"parent"` // new, beside the intake
	Levels   []string  `json:"levels"` // new leaves below it, in order
	Settings []Setting `json:"settings"`
	Notes    []string  `json:"-"` // for the operator
}

// Queues are the intake and the levels: what yarn steer --queue gets.
func (p *Plan) Queues() []string { return append([]string{p.Queue}, p.Levels...) }

// Check reports what cannot be part of a plan: it touches no queues but its own, and in their parent only the list of queues.
func (p *Plan) Check() error {
	kind, ok := policies[p.Policy]
	if !ok || strings.LastIndexByte(p.Queue, '.') < 0 || p.Parent != p.Queue+kind.suffix || len(p.Levels) == 0 || len(p.Levels) > maxLevels || len(p.Settings) == 0 {
		return fmt.Errorf("it is no plan for queue %s and policy %q", p.Queue, p.Policy)
	}
	for i, l := range p.Levels {
		if want := fmt.Sprintf("%s.%s%s%d", p.Parent, last(p.Queue), kind.leaf, i+1); l != want {
			return fmt.Errorf("level %d is %s, not %s", i+1, l, want)
		}
	}
	for _, s := range p.Settings {
		above := s.Queue == p.Queue[:strings.LastIndexByte(p.Queue, '.')] && s.Name == "queues"
		if !above && s.Queue != p.Parent && !slices.Contains(p.Queues(), s.Queue) || s.Name == "" {
			return fmt.Errorf("%s of %s is none of its settings", s.Name, s.Queue)
		}
	}
	return nil
}

// Derive derives the change from the scheduler's settings.
func Derive(p *conf.Properties, o Options) (*Plan, error) {
	kind, ok := policies[o.Policy]
	if !ok {
		return nil, fmt.Errorf("policy %q needs no queues of its own: those that do are %s", o.Policy, strings.Join(Policies(), ", "))
	}
	c, err := read((&Plan{}).Apply(p), p.File)
	if err != nil {
		return nil, err
	}
	q, err := leaf(c.Root, o.Queue)
	if err != nil {
		return nil, err
	}
	d := &derivation{props: p, conf: c, q: q, kind: kind, plan: &Plan{Policy: o.Policy, Queue: q.Path, Parent: q.Path + kind.suffix}}
	d.choosePart(o.Vcores)
	shares, err := kind.divide(o, d.part)
	if err != nil {
		return nil, err
	}
	for i := range shares {
		d.plan.Levels = append(d.plan.Levels, fmt.Sprintf("%s.%s%s%d", d.plan.Parent, q.Name, kind.leaf, i+1))
	}
	if err := d.refuse(); err != nil {
		return nil, err
	}
	d.derive(shares)
	if _, err := read(d.plan.Apply(p), p.File); err != nil {
		return nil, fmt.Errorf("the new configuration would not be valid: %w", err)
	}
	return d.plan, nil
}

// divide is each level's share of the new parent; small is that of a ranked level except the first.
func (k *policy) divide(o Options, small float64) ([]float64, error) {
	n, shares := o.Levels, o.Shares
	if n == 0 && len(shares) == 0 {
		n, shares = k.levels, k.fixed
	}
	if len(shares) > 0 && n == 0 {
		n = len(shares) + 1
	}
	switch {
	case len(o.Shares) > 0 && k.fixed == nil:
		return nil, fmt.Errorf("%s has no fixed shares: give the number of levels", o.Policy)
	case n < 1 || n < 2 && (k.ranked || k.fixed != nil) || n > maxLevels:
		return nil, fmt.Errorf("%d levels: want 2 to %d", n, maxLevels)
	case len(shares) > 0 && n != len(shares)+1:
		return nil, fmt.Errorf("%d levels need %d shares, not %d: the last level has the rest", n, n-1, len(shares))
	case k.ranked:
		shares = append([]float64{1 - small*float64(n-1)}, slices.Repeat([]float64{small}, n-2)...)
	case len(shares) == 0:
		shares = slices.Repeat([]float64{1 / float64(n)}, n-1)
	}
	out, rest := make([]float64, n), 1.0
	for i := range out {
		if out[i] = rest; i < n-1 {
			out[i] = round(shares[i]*100) / 100
		}
		if rest -= out[i]; !(out[i] >= 1e-4) {
			return nil, fmt.Errorf("shares %v: each must be above 0, and their sum below 1", o.Shares)
		}
	}
	return out, nil
}

// round is to as many decimals as a capacity needs.
func round(x float64) float64 { return math.Round(x*1e4) / 1e4 }

func text(x float64) string { return strconv.FormatFloat(round(x), 'f', -1, 64) }

func read(list []conf.Property, name string) (*conf.Capacity, error) {
	var b bytes.Buffer
	if err := conf.WriteProperties(&b, list); err != nil {
		return nil, err
	}
	return conf.ReadCapacity(&b, name)
}

// leaf finds a leaf by its path.
func leaf(root *conf.Queue, path string) (found *conf.Queue, err error) {
	var names []string
	root.Walk(func(q *conf.Queue) {
		if q.Path == path || q.Path == "root."+path {
			found = q
		}
		if q.Leaf() && len(names) < 10 {
			names = append(names, q.Path)
		}
	})
	switch {
	case found == nil:
		err = fmt.Errorf("queue %s is not there: the queues are %s", path, strings.Join(names, ", "))
	case !found.Leaf():
		err = fmt.Errorf("queue %s has queues inside it: name a leaf", path)
	}
	return found, err
}

type derivation struct {
	props *conf.Properties
	conf  *conf.Capacity
	q     *conf.Queue
	kind  policy
	part  float64 // of its capacity that the intake keeps
	plan  *Plan
}

// choosePart makes the smallest part of the queue a whole vcore where vcores count: the limit of a user's AMs is rounded down to whole ones before it
// is multiplied by the factor.
func (d *derivation) choosePart(vcores int64) {
	d.part = minPart
	need := 1.02 / absolute(d.q) // of the cluster's vcores, for all of the queue
	if !d.conf.Dominant || float64(vcores)*minPart >= need {
		return
	}
	if vcores > 0 {
		d.part = min(math.Ceil(need/float64(vcores)*100)/100, maxPart)
	}
	if float64(vcores)*d.part < need {
		d.plan.Notes = append(d.plan.Notes, fmt.Sprintf("vcores count (DominantResourceCalculator): on a cluster with less than %.0f, the intake and the "+
			"lower levels have less than one, and run one job at a time", math.Ceil(need/d.part)))
	}
}

// get is a setting of a queue; "" if it is not set.
func (d *derivation) get(queue, name string) string { return value(d.props, queue, name) }

func value(p *conf.Properties, queue, name string) string {
	switch x := p.Get(conf.Prefix + queue + "." + name); {
	case x == nil:
		return ""
	case strings.HasPrefix(name, "acl_"): // " ops" is a group, "ops" a user
		return x.Raw
	default:
		return x.Value
	}
}

// own are the names of the queue's settings.
func (d *derivation) own() (names []string) {
	for _, p := range d.props.List {
		if name, ok := strings.CutPrefix(p.Name, conf.Prefix+d.q.Path+"."); ok && p.Value != "" {
			names = append(names, name)
		}
	}
	return names
}

// refuse says why the queue cannot be prepared.
func (d *derivation) refuse() (err error) {
	q, added := d.q, d.plan.Parent
	no := func(format string, args ...any) {
		if err == nil {
			err = fmt.Errorf("queue "+format, args...)
		}
	}
	switch capacity := d.get(q.Path, "capacity"); {
	case q.Stopped:
		no("%s is stopped", q.Path)
	case q.Capacity.Kind == conf.Absolute || q.MaxCapacity.Kind == conf.Absolute:
		no("%s has its capacity as an absolute amount (%s): only percentages and weights can be divided", q.Path, capacity)
	case q.Capacity.Value < 0.01:
		no("%s has a capacity of %s: too little to divide", q.Path, capacity)
	}
	for _, name := range d.own() {
		switch {
		case strings.HasPrefix(name, "accessible-node-labels."):
			no("%s has capacities on labelled nodes (%s): this is not supported", q.Path, name)
		case strings.HasPrefix(name, "yardmaster."):
			no("%s has the mark of a steerer (%s): end it first, or restore what it has left", q.Path, name)
		}
	}
	for _, name := range []string{"auto-create-child-queue.enabled", "auto-queue-creation-v2.enabled", "reservable"} {
		for _, queue := range []string{q.Path, q.Parent.Path} {
			if strings.EqualFold(d.get(queue, name), "true") {
				no("%s has %s, which is not supported", queue, name)
			}
		}
	}
	d.conf.Root.Walk(func(k *conf.Queue) {
		if slices.ContainsFunc(Policies(), func(name string) bool { return k.Path == q.Path+policies[name].suffix }) {
			no("%s is already there: has %s been prepared before? yarn prepare --undo takes that back", k.Path, q.Path)
		} else if slices.ContainsFunc(append(d.plan.Levels, added), func(l string) bool { return k.Name == last(l) }) {
			no("%s has the name of a new one", k.Path)
		}
	})
	for _, x := range d.props.List {
		if strings.HasPrefix(x.Name, conf.Prefix+added+".") {
			no("%s is not there, and %s is set: remove what is left of it first", added, x.Name)
		}
	}
	return err
}

func last(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// Where a setting of the queue is copied to. acl_application_max_priority counts in leaves only, the other ACLs are inherited.
var (
	toParent = strings.Fields(`acl_* priority max-parallel-apps disable_preemption intra-queue-preemption.disable_preemption accessible-node-labels
		default-node-label-expression`)
	toLevels = strings.Fields(`acl_application_max_priority minimum-user-limit-percent maximum-am-resource-percent maximum-applications ordering-policy
		ordering-policy.* default-application-priority maximum-allocation maximum-allocation-mb maximum-allocation-vcores
		maximum-application-lifetime default-application-lifetime user-settings.* multi-node-sorting.policy unmanaged-am.*`)
	derived = strings.Fields(`capacity maximum-capacity user-limit-factor state queues`)
)

func among(list []string, name string) bool {
	return slices.ContainsFunc(list, func(known string) bool {
		prefix, open := strings.CutSuffix(known, "*")
		return known == name || open && strings.HasPrefix(name, prefix)
	})
}

// set plans a setting; "" leaves it as it is.
func (d *derivation) set(queue, name, v string) {
	if old := d.get(queue, name); v != "" && v != old {
		d.plan.Settings = append(d.plan.Settings, Setting{queue, name, old, v})
	}
}

// derive makes the settings, by queue.
func (d *derivation) derive(shares []float64) {
	q, p, own := d.q, d.plan, d.own()
	unit := ""
	if q.Capacity.Kind == conf.Weight {
		unit = "w"
	}
	whole := round(float64(q.Capacity.Value))
	kept := max(round(whole*d.part), 1e-4)
	apps := d.applications()
	d.set(q.Path, "capacity", text(kept)+unit)
	d.set(q.Path, "user-limit-factor", d.factor(d.part))
	d.set(q.Path, "maximum-applications", apps)

	var siblings, leaves []string
	for _, k := range q.Parent.Children {
		siblings = append(siblings, k.Name)
	}
	for _, l := range p.Levels {
		leaves = append(leaves, last(l))
	}
	d.set(q.Parent.Path, "queues", strings.Join(append(siblings, last(p.Parent)), ","))
	d.set(p.Parent, "queues", strings.Join(leaves, ","))
	d.set(p.Parent, "capacity", text(whole-kept)+unit)
	d.set(p.Parent, "maximum-capacity", d.get(q.Path, "maximum-capacity"))
	if d.kind.ranked {
		d.set(p.Parent, "ordering-policy", "priority-utilization")
	}
	for _, name := range own {
		if among(toParent, name) && !among(toLevels, name) {
			d.set(p.Parent, name, d.get(q.Path, name))
		}
	}
	for i, l := range p.Levels {
		d.set(l, "capacity", text(100*shares[i]))
		if d.kind.fixed != nil { // its limits follow its capacity
			d.set(l, "maximum-capacity", text(100*shares[i]))
			d.set(l, "user-limit-factor", d.get(q.Path, "user-limit-factor"))
		} else {
			share := shares[i]
			if !d.kind.ranked { // it may be lowered: a job with a deadline may get more than its user's share
				share = steer.MinCapacity / 100
			}
			d.set(l, "maximum-capacity", "100")
			d.set(l, "user-limit-factor", d.factor(share))
		}
		if d.kind.ranked {
			d.set(l, "priority", strconv.Itoa(len(p.Levels)-i))
		}
		for _, name := range own {
			if among(toLevels, name) {
				d.set(l, name, d.get(q.Path, name))
			}
		}
		d.set(l, "maximum-applications", apps)
	}
	for _, name := range own {
		if !among(toParent, name) && !among(toLevels, name) && !among(derived, name) {
			p.Notes = append(p.Notes, fmt.Sprintf("%s of %s is not carried over to the new queues", name, q.Path))
		}
	}
}

// factor is the user-limit-factor that leaves a user the same resources when the queue has this share of its capacity. Without a limit it is
// that of the maximum capacity: with -1, the limit of a user's AMs would follow the capacity.
func (d *derivation) factor(share float64) string {
	f := float64(d.q.UserLimitFactor)
	if f < 0 {
		f = 1 / ofParent(d.q)
		if d.q.MaxCapacity.Kind == conf.Percent {
			f *= float64(d.q.MaxCapacity.Value) / 100
		}
	}
	return text(min(math.Ceil(f/share*1e4-1e-6)/1e4, 1e6))
}

// ofParent is the share of its parent that a queue has.
func ofParent(q *conf.Queue) float64 {
	sum := 100.0
	if q.Capacity.Kind == conf.Weight {
		sum = 0
		for _, k := range q.Parent.Children {
			sum += float64(k.Capacity.Value)
		}
	}
	return float64(q.Capacity.Value) / sum
}

// absolute is the share of the cluster that a queue has. If an ancestor's is not known, because it is an amount, it counts as all.
func absolute(q *conf.Queue) float64 {
	share := 1.0
	for ; q.Parent != nil && q.Capacity.Kind != conf.Absolute; q = q.Parent {
		share *= ofParent(q)
	}
	return share
}

// applications is the queue's max number of applications if it follows from its capacity; else "".
func (d *derivation) applications() string {
	if d.q.MaximumApplications >= 0 || d.conf.GlobalQueueMaxApplications > 0 {
		return ""
	}
	return strconv.Itoa(max(1, int(float64(d.conf.MaximumApplications)*absolute(d.q)+1e-6)))
}

// Values are the new values, as properties.
func (p *Plan) Values() (list []conf.Property) {
	for i := range p.Settings {
		list = append(list, conf.Property{Name: p.Settings[i].key(), Value: p.Settings[i].New})
	}
	return list
}

// Apply returns the settings with the change made.
func (p *Plan) Apply(old *conf.Properties) []conf.Property {
	out := p.Values()
	for _, x := range old.List {
		if !slices.ContainsFunc(p.Settings, func(s Setting) bool { return s.key() == x.Name }) {
			out = append(out, conf.Property{Name: x.Name, Value: cmp.Or(x.Raw, x.Value)})
		}
	}
	return out
}

// Change is the request that makes the change. The ResourceManager itself lists added queues in their parents, and on the way drops the ordering
// policy of a queue that gets its first child: that is set afterwards.
func (p *Plan) Change() rest.SchedulerChange {
	var c rest.SchedulerChange
	for _, queue := range append([]string{p.Parent}, p.Levels...) {
		c.Add = append(c.Add, rest.QueueChange{Queue: queue})
	}
	for _, s := range p.Settings {
		switch at := slices.IndexFunc(c.Add, func(a rest.QueueChange) bool { return a.Queue == s.Queue }); {
		case s.Name == "queues":
		case at >= 0 && !(at == 0 && s.Name == "ordering-policy"):
			c.Add[at].Settings = append(c.Add[at].Settings, rest.Setting{Name: s.Name, Value: s.New})
		default:
			c.Update = update(c.Update, s.Queue, s.Name, s.New)
		}
	}
	return c
}

func update(list []rest.QueueChange, queue, name, v string) []rest.QueueChange {
	at := slices.IndexFunc(list, func(u rest.QueueChange) bool { return u.Queue == queue })
	if at < 0 {
		at, list = len(list), append(list, rest.QueueChange{Queue: queue})
	}
	list[at].Settings = append(list[at].Settings, rest.Setting{Name: name, Value: v})
	return list
}

// Stop is the request that stops the new queues: only a stopped queue can be removed.
func (p *Plan) Stop() rest.SchedulerChange {
	return rest.SchedulerChange{Update: update(nil, p.Parent, "state", "STOPPED")}
}

// Remove is the request that removes the new queues and restores the old settings, on top of the current ones.
func (p *Plan) Remove(now *conf.Properties) rest.SchedulerChange {
	c := rest.SchedulerChange{Remove: []string{p.Parent}}
	for _, s := range p.Settings {
		switch {
		case s.Queue == p.Queue:
			c.Update = update(c.Update, s.Queue, s.Name, s.Old)
		case s.Name == "queues" && s.Old != "" && value(now, s.Queue, s.Name) == s.New: // as it was spelled; another list only loses the new queue
			c.Update = update(c.Update, s.Queue, s.Name, s.Old)
		}
	}
	return c
}

// Present reports whether a queue has a prepared one beside it, by name.
func Present(now *conf.Properties, queue string) bool {
	for _, kind := range policies {
		if listed(now, queue+kind.suffix) {
			return true
		}
	}
	return false
}

// listed reports whether a queue's parent lists it.
func listed(now *conf.Properties, queue string) bool {
	children := strings.Split(value(now, queue[:strings.LastIndexByte(queue, '.')], "queues"), ",")
	return slices.ContainsFunc(children, func(name string) bool { return strings.TrimSpace(name) == last(queue) })
}

// State is what a configuration has of a plan.
type State uint8

// States.
const (
	Original State = iota // nothing of it
	Prepared              // all of it
	Stopped               // all of it, with the new queues stopped
	Changed               // somebody else has changed something since
)

// Compare finds out the state. What differs from both is listed as lines for an operator.
func (p *Plan) Compare(now *conf.Properties) (State, []string) {
	var diffs []string
	differ := func(queue, name, want string) {
		if got := value(now, queue, name); got != want {
			diffs = append(diffs, fmt.Sprintf("%s %s is %s, and was set to %s", queue, name, orNone(got), orNone(want)))
		}
	}
	if !listed(now, p.Parent) {
		for _, s := range p.Settings {
			if s.Queue == p.Queue {
				differ(s.Queue, s.Name, s.Old)
			}
		}
		if diffs != nil {
			return Changed, append([]string{"queue " + p.Parent + " is gone"}, diffs...)
		}
		return Original, nil
	}
	known := map[string]bool{}
	for _, s := range p.Settings {
		known[s.key()] = true
		if !(s.Name == "queues" && s.Old != "") { // others may add and remove siblings
			differ(s.Queue, s.Name, s.New)
		}
	}
	state := Prepared
	for _, x := range now.List {
		rest, ours := strings.CutPrefix(x.Name, conf.Prefix+p.Parent+".")
		switch {
		case !ours || known[x.Name]:
		case rest == "state" && x.Value == "STOPPED":
			state = Stopped
		default:
			diffs = append(diffs, fmt.Sprintf("%s.%s is %s, and was not set", p.Parent, rest, orNone(x.Value)))
		}
	}
	if diffs != nil {
		state = Changed
	}
	return state, diffs
}

// Remains reports whether the queue still has settings of the plan after the new queues were removed by hand: its old ones are only in the plan.
func (p *Plan) Remains(now *conf.Properties) bool {
	return !listed(now, p.Parent) && slices.ContainsFunc(p.Settings, func(s Setting) bool {
		return s.Queue == p.Queue && value(now, s.Queue, s.Name) == s.New
	})
}

// AdoptACLs is the plan with the ACLs that the new queues have now: an operator may let only the steerer's account submit there. They go with the queues.
func (p *Plan) AdoptACLs(now *conf.Properties) *Plan {
	q := *p
	q.Settings = slices.DeleteFunc(slices.Clone(p.Settings), func(s Setting) bool { return strings.HasPrefix(s.Name, "acl_") && s.Queue != p.Queue })
	for _, queue := range append([]string{p.Parent}, p.Levels...) {
		for _, x := range now.List {
			if name, ok := strings.CutPrefix(x.Name, conf.Prefix+queue+"."); ok && strings.HasPrefix(name, "acl_") {
				q.Settings = append(q.Settings, Setting{Queue: queue, Name: name, New: value(now, queue, name)})
			}
		}
	}
	return &q
}

func orNone(v string) string {
	if v == "" {
		return "not set"
	}
	return v
}
