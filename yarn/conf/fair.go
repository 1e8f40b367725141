package conf

import (
	"cmp"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/unit"
)

// Fair is the content of a fair-scheduler.xml, the allocation file of Hadoop's FairScheduler.
type Fair struct {
	Root *FairQueue
	// UserMaxApps limits the running jobs of each user named; UserMaxAppsDefault those of the others.
	UserMaxApps        map[string]int
	UserMaxAppsDefault int
	Placement          []FairRule // how a job finds its queue, first match wins; empty: Hadoop's default rules
	// Default holds the defaults of queues that the file does not name.
	Default FairQueue
	// NotModelled lists the ignored settings, each with its position. Those that are in Preemption too have an
	// effect in schedulers with preemption: those of policy/rm.
	NotModelled []string
	Preemption  []string
}

// MaxAppsOf is how many jobs of a user may run.
func (f *Fair) MaxAppsOf(user string) int {
	if n, ok := f.UserMaxApps[user]; ok {
		return n
	}
	return f.UserMaxAppsDefault
}

// FairQueue is one queue.
type FairQueue struct {
	Name       string // full: root.a.b
	Pos        Pos
	Parent     bool // has children, or is declared to have some
	Weight     float64
	Min, Max   Share
	MaxChild   *Share // maximum of children that the file does not name; nil: not set
	MaxApps    int
	MaxAMShare float64 // -1: no limit
	Policy     string  // fair, drf or fifo
	Children   []*FairQueue

	// After this long below its minimum or fair share, the queue may preempt others; negative: inherited from the
	// parent. The root has Never by default.
	MinShareTimeout, FairShareTimeout unit.Time
	FairShareThreshold                float64 // the part of the fair share that counts; negative: inherited
	KeepContainers                    bool    // neither this queue nor its descendants are preempted
}

// Walk visits the queue and all below it, parents first.
func (q *FairQueue) Walk(visit func(*FairQueue)) {
	visit(q)
	for _, k := range q.Children {
		k.Walk(visit)
	}
}

// FairRule is one rule of queuePlacementPolicy.
type FairRule struct {
	Name   string // specified, user, default or reject
	Create bool   // may create a queue that the file does not name
	Queue  string // of default
}

// Unlimited means no limit on the number of jobs.
const Unlimited = math.MaxInt32

// ReadFair parses a fair-scheduler.xml. The name is used in errors and warnings.
func ReadFair(r io.Reader, name string) (*Fair, error) {
	top, err := ReadXML(r, name)
	if err != nil {
		return nil, err
	}
	if top.Name != "allocations" {
		return nil, top.Pos().Errorf("the outermost element is <%s>: a fair-scheduler.xml has <allocations>", top.Name)
	}
	f := &fairReader{names: map[string]*FairQueue{}, Fair: &Fair{UserMaxApps: map[string]int{}, UserMaxAppsDefault: Unlimited}}
	f.Default = FairQueue{Weight: 1, Max: WholeShare(), MaxApps: Unlimited, MaxAMShare: 0.5, Policy: "fair",
		MinShareTimeout: -1, FairShareTimeout: -1, FairShareThreshold: -1}
	if err := f.top(top); err != nil {
		return nil, err
	}
	return f.Fair, nil
}

type fairReader struct {
	*Fair
	names map[string]*FairQueue
}

func (f *fairReader) warn(e *Element, text string) {
	f.NotModelled = note(f.NotModelled, e.Pos().String()+": "+text)
}

// top reads defaults first: they apply to queues anywhere in the file.
func (f *fairReader) top(top *Element) error {
	var queues []*Element
	timeouts := preemption{minShare: unit.Never, fairShare: unit.Never, threshold: 0.5}
	for _, e := range top.Children {
		var err error
		switch e.Name {
		case "queue", "pool":
			queues = append(queues, e)
		case "user":
			err = f.user(e)
		case "userMaxAppsDefault":
			f.UserMaxAppsDefault, err = count(e)
		case "queueMaxAppsDefault":
			f.Default.MaxApps, err = count(e)
		case "queueMaxAMShareDefault":
			f.Default.MaxAMShare, err = amShare(e)
		case "queueMaxResourcesDefault":
			f.Default.Max, err = f.share(e, true)
		case "defaultQueueSchedulingPolicy", "defaultQueueSchedulingMode":
			f.Default.Policy, err = fairPolicy(e)
		case "queuePlacementPolicy":
			err = f.placement(e)
		default:
			err = f.preemptionDefaults(e, &timeouts)
		}
		if err != nil {
			return err
		}
	}
	root := f.Default
	root.Name, root.Pos, root.Parent, root.MaxApps, root.MaxAMShare, root.Max = "root", top.Pos(), true, Unlimited, -1, WholeShare()
	root.MinShareTimeout, root.FairShareTimeout, root.FairShareThreshold = timeouts.minShare, timeouts.fairShare, timeouts.threshold
	f.Root = &root
	for _, e := range queues {
		name, _ := e.Attr("name")
		if strings.EqualFold(name, "root") {
			if len(queues) > 1 {
				return e.Pos().Errorf("queue root stands beside other queues: put them inside it, or leave root out")
			}
			if err := f.fields(e, f.Root); err != nil {
				return err
			}
		} else if err := f.queue(e, f.Root); err != nil {
			return err
		}
	}
	return nil
}

// other warns of an element that is ignored.
func (f *fairReader) other(e *Element, words []string) {
	if why, ok := fairInert[e.Name]; ok {
		f.warn(e, "<"+e.Name+"> has no effect: "+why)
		return
	}
	if len(f.NotModelled) > maxNotes {
		return
	}
	text := "<" + e.Name + "> is not known and has no effect"
	if meant, ok := suggest.Closest(e.Name, words); ok {
		text += ": did you mean <" + meant + ">?"
	}
	f.warn(e, text)
}

func (f *fairReader) user(e *Element) error {
	name, ok := e.Attr("name")
	if !ok || name == "" {
		return e.Pos().Errorf("<user> without a name: write <user name=\"...\">")
	}
	for _, c := range e.Children {
		switch c.Name {
		case "maxRunningApps", "maxRunningJobs":
			n, err := count(c)
			if err != nil {
				return err
			}
			f.UserMaxApps[name] = n
		default:
			f.other(c, []string{"maxRunningApps"})
		}
	}
	return nil
}

func (f *fairReader) queue(e *Element, parent *FairQueue) error {
	name, _ := e.Attr("name")
	switch {
	case name == "":
		return e.Pos().Errorf("<%s> without a name: write <%s name=\"...\">", e.Name, e.Name)
	case strings.Contains(name, "."):
		return e.Pos().Errorf("queue name %q has a dot: write queues inside one another instead", name)
	}
	if len(f.names) >= MaxQueues {
		return e.Pos().Errorf("more than %d queues", MaxQueues)
	}
	full := parent.Name + "." + name
	q := f.names[full]
	if q != nil {
		f.warn(e, "queue "+full+" is defined a second time (first in line "+strconv.Itoa(q.Pos.Line)+"): what is said here comes on top")
	} else {
		made := f.Default
		q = &made
		q.Name, q.Pos = full, e.Pos()
		f.names[full] = q
		parent.Children = append(parent.Children, q)
	}
	if kind, ok := e.Attr("type"); ok {
		if kind != "parent" {
			f.warn(e, "type=\""+kind+"\" of queue "+q.Name+" is not known and has no effect: there is only type=\"parent\"")
		}
		q.Parent = kind == "parent"
	}
	parent.Parent = true
	return f.fields(e, q)
}

func (f *fairReader) fields(e *Element, q *FairQueue) error {
	for _, c := range e.Children {
		var err error
		switch c.Name {
		case "queue", "pool":
			err = f.queue(c, q)
		case "weight":
			q.Weight, err = number(c)
		case "minResources":
			q.Min, err = f.share(c, false)
			if err == nil && q.Min.Percent {
				f.warn(c, "<minResources> in percent has no effect: write amounts, as in 1024 mb, 1 vcores")
				q.Min = Share{}
			}
		case "maxResources":
			q.Max, err = f.share(c, true)
		case "maxChildResources":
			var s Share
			s, err = f.share(c, true)
			q.MaxChild = &s
		case "maxRunningApps":
			q.MaxApps, err = count(c)
		case "maxAMShare":
			q.MaxAMShare, err = amShare(c)
		case "schedulingPolicy", "schedulingMode":
			q.Policy, err = fairPolicy(c)
		case "minSharePreemptionTimeout":
			q.MinShareTimeout, err = f.seconds(c)
		case "fairSharePreemptionTimeout":
			q.FairShareTimeout, err = f.seconds(c)
		case "fairSharePreemptionThreshold":
			q.FairShareThreshold, err = f.part(c)
		case "allowPreemptionFrom":
			f.preempts(c)
			q.KeepContainers = q.KeepContainers || !strings.EqualFold(c.Value(), "true")
		default:
			f.other(c, fairQueueWords)
		}
		if err != nil {
			return err
		}
	}
	if q.Parent && q.Policy == "fifo" {
		f.warn(e, "queue "+q.Name+" has queues inside it: policy fifo among them is not taken by Hadoop; here they are served by name")
	}
	return nil
}

func (f *fairReader) placement(e *Element) error {
	f.Placement = nil
	for _, c := range e.Children {
		if c.Name != "rule" {
			f.other(c, []string{"rule"})
			continue
		}
		rule := FairRule{Create: true}
		rule.Name, _ = c.Attr("name")
		if text, ok := c.Attr("create"); ok {
			create, err := strconv.ParseBool(text)
			if err != nil {
				return c.Pos().Errorf("create=%q: want true or false", text)
			}
			rule.Create = create
		}
		rule.Queue, _ = c.Attr("queue")
		switch rule.Name {
		case "specified", "user", "reject":
		case "default":
			rule.Queue = cmp.Or(rule.Queue, "root.default")
		case "":
			return c.Pos().Errorf("<rule> without a name: write <rule name=\"specified\"/>")
		default:
			f.warn(c, "placement rule "+rule.Name+" is passed over: only specified, user, default and reject are modelled")
			continue
		}
		if len(c.Children) > 0 {
			f.warn(c, "the rule inside placement rule "+rule.Name+" has no effect")
		}
		f.Placement = append(f.Placement, rule)
	}
	if len(f.Placement) > 0 {
		if last := f.Placement[len(f.Placement)-1]; last.Name != "reject" && !(last.Name != "specified" && last.Create) {
			f.warn(e, "the last placement rule may find no queue: jobs that reach it are refused")
		}
	}
	return nil
}

func fairPolicy(e *Element) (string, error) {
	text := strings.ToLower(e.Value())
	text = text[strings.LastIndexByte(text, '.')+1:] // a class name
	switch text {
	case "fair", "fairsharepolicy":
		return "fair", nil
	case "drf", "dominantresourcefairnesspolicy":
		return "drf", nil
	case "fifo", "fifopolicy":
		return "fifo", nil
	}
	return "", e.Pos().Errorf("<%s> is %q: want fair, drf or fifo", e.Name, shorten(e.Value()))
}

func number(e *Element) (float64, error) {
	v, err := strconv.ParseFloat(e.Value(), 64)
	if err != nil || !(v >= 0) || v > 1e12 {
		return 0, e.Pos().Errorf("<%s> is %q: want a number that is not negative", e.Name, shorten(e.Value()))
	}
	return v, nil
}

func count(e *Element) (int, error) {
	v, err := strconv.Atoi(e.Value())
	if err != nil || v < 0 {
		return 0, e.Pos().Errorf("<%s> is %q: want a whole number that is not negative", e.Name, shorten(e.Value()))
	}
	return min(v, Unlimited), nil
}

// amShare parses a share; Hadoop takes values above 1 as 1, and -1 as no limit.
func amShare(e *Element) (float64, error) {
	v, err := strconv.ParseFloat(e.Value(), 64)
	if err != nil || !(v >= 0 || v == -1) {
		return 0, e.Pos().Errorf("<%s> is %q: want a share between 0 and 1, or -1 for no limit", e.Name, shorten(e.Value()))
	}
	return min(v, 1), nil
}

// Ignored settings of a queue, and why.
var fairInert = func() map[string]string {
	why := map[string]string{}
	for reason, names := range map[string]string{
		"preemption is not modelled": "minSharePreemptionTimeout fairSharePreemptionTimeout fairSharePreemptionThreshold allowPreemptionFrom " +
			"defaultMinSharePreemptionTimeout defaultFairSharePreemptionTimeout defaultFairSharePreemptionThreshold",
		"access lists are not modelled":                    "aclSubmitApps aclAdministerApps aclAdministerReservations aclListReservations aclSubmitReservations",
		"reservations of capacity are not modelled":        "reservation reservation-agent reservation-policy reservation-planner",
		"the largest container of a queue is not modelled": "maxContainerAllocation",
	} {
		for name := range strings.FieldsSeq(names) {
			why[name] = reason
		}
	}
	return why
}()

var (
	fairQueueWords = []string{"queue", "pool", "weight", "minResources", "maxResources", "maxChildResources", "maxRunningApps",
		"maxAMShare", "schedulingPolicy", "schedulingMode", "minSharePreemptionTimeout", "fairSharePreemptionTimeout",
		"fairSharePreemptionThreshold", "allowPreemptionFrom", "aclSubmitApps", "aclAdministerApps", "reservation",
		"maxContainerAllocation"}
	fairTopWords = []string{"queue", "pool", "user", "userMaxAppsDefault", "queueMaxAppsDefault", "queueMaxAMShareDefault",
		"queueMaxResourcesDefault", "defaultQueueSchedulingPolicy", "defaultQueueSchedulingMode", "queuePlacementPolicy",
		"defaultMinSharePreemptionTimeout", "defaultFairSharePreemptionTimeout", "defaultFairSharePreemptionThreshold",
		"fairSharePreemptionTimeout"}
)
