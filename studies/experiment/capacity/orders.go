package capacity

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/capacity1"
	"github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/unit"
)

// order is another reading of which queue is served first.
type order struct {
	name, letter string // letter is the suffix of its experiments' names
	blocks       []block
	policy       func(c capacity1.Config) (policy.Policy, error)
}

// Alternatives to the order as written (by running over capacity, re-sorted before every start).
var orders = []order{
	{"fewest running tasks first", "e", unequal, ranked(capacity1.EqualRunning)},
	{"most loaded first", "m", unequal, ranked(capacity1.MostLoaded)},
	{"sorted once a heartbeat", "s", blocks[:], sortedOnce},
}

// unequal are the blocks whose uncapped figures depend on the order of queues.
var unequal = []block{blocks[1], blocks[3]}

func ranked(o capacity1.QueueOrder) func(capacity1.Config) (policy.Policy, error) {
	return func(c capacity1.Config) (policy.Policy, error) {
		c.QueueOrder = o
		return capacity1.New(c)
	}
}

// sortedOnce is the scheduler as written, except that queues are sorted once at the beginning of a heartbeat and keep that order until
// it is over, however many maps it assigns. Usage and limits are still updated after each.
func sortedOnce(c capacity1.Config) (policy.Policy, error) {
	w := &once{node: -1}
	c.QueueOrder = func(u capacity1.Use) float64 {
		if w.going {
			return 0 // stable for equals
		}
		return capacity1.LeastLoaded(u)
	}
	p, err := capacity1.New(c)
	w.Order = p.Order
	p.Order = w
	return p, err
}

// once tells whether an offer belongs to the same heartbeat as the previous one.
type once struct {
	policy.Order
	now   unit.Time
	node  int32
	going bool
}

var _ policy.Order = (*once)(nil)

// Ranked proposes jobs as the order inside does. A heartbeat brings one reduce, so only maps matter.
func (w *once) Ranked(o *policy.Offer, try func(*policy.Job) policy.Verdict) bool {
	if o.Slot != policy.MapSlot {
		return w.Order.Ranked(o, try)
	}
	w.going = o.Node != nil && o.Node.Index == w.node && o.Now == w.now
	if o.Node != nil {
		w.now, w.node = o.Now, o.Node.Index
	}
	took := w.Order.Ranked(o, try)
	w.going = false
	return took
}

// avoiding is the scheduler with reduces that skip a node already running one while another node has none.
func avoiding(c capacity1.Config) (policy.Policy, error) {
	c.AvoidBusyNodes = true
	return capacity1.New(c)
}

// avoidExperiments are the experiments in which reduces sharing a node matters, run with avoiding.
func avoidExperiments() []experiment.Experiment {
	var all []experiment.Experiment
	add := func(e experiment.Experiment, p setup) {
		p.policy = avoiding
		e.ID, e.Run, e.Group, e.Title, e.Reported = e.ID+"a", p.run, "reduces that avoid busy nodes", e.Title+", reduces avoid busy nodes", nil
		e.Setup = append(e.Setup, experiment.Pair{Name: "reduces", Value: "avoid nodes that run one already"})
		all = append(all, e)
	}
	for i, e := range sensitivityExperiments() {
		if e.ID == "S06" || e.ID == "S07" {
			add(e, sensitivitySetup(i))
		}
	}
	for _, v := range validations() {
		if v.slots == 2 && v.name != "Q1" {
			add(v.experiment(), v.setup())
		}
	}
	return all
}

// orderExperiments are those of E01 to E32 that the queue order can change, and the two validations with two queues, under other orders.
func orderExperiments() []experiment.Experiment {
	var all []experiment.Experiment
	for i := range orders {
		o := &orders[i]
		other := func(e experiment.Experiment, p setup) {
			p.policy = o.policy
			e.ID, e.Run, e.Group, e.Title = e.ID+o.letter, p.run, "other queue orders", e.Title+", queues "+o.name
			e.Setup = append(e.Setup, experiment.Pair{Name: "queue order", Value: o.name})
			all = append(all, e)
		}
		for _, b := range o.blocks {
			for k, e := range b.experiments() {
				other(e, b.setup(k))
			}
		}
		if o.letter == "s" {
			for _, v := range validations() {
				if v.name == "Q2" || v.name == "MAXCAP" {
					other(v.experiment(), v.setup())
				}
			}
		}
	}
	return all
}
