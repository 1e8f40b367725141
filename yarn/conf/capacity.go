package conf

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"

	"github.com/yardmaster/yardmaster/unit"
)

// Prefix starts the name of every setting of the CapacityScheduler.
const Prefix = "yarn.scheduler.capacity."

// MaxQueues is the max number of queues in one file.
const MaxQueues = 100_000

// Kind is the kind of a configuration file.
type Kind uint8

// Kinds of files.
const (
	UnknownFile   Kind = iota
	CapacityFile       // <configuration> with yarn.scheduler.capacity.*
	FairFile           // <allocations>
	HadoopFile         // <configuration> without settings of the CapacityScheduler
	Capacity1File      // <configuration> with mapred.capacity-scheduler.*, of Hadoop 1
)

// Detect determines the kind of a file from its first bytes; some tens of kilobytes reach past any licence text.
func Detect(prefix []byte) Kind {
	d := xml.NewDecoder(bytes.NewReader(prefix))
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	for {
		tok, err := d.RawToken()
		if err != nil {
			return UnknownFile
		}
		e, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		switch {
		case e.Name.Local == "allocations":
			return FairFile
		case e.Name.Local != "configuration":
			return UnknownFile
		case bytes.Contains(prefix, []byte(Prefix)):
			return CapacityFile
		case bytes.Contains(prefix, []byte(Prefix1)):
			return Capacity1File
		}
		return HadoopFile
	}
}

// ShareKind is the notation of a queue's capacity.
type ShareKind uint8

// Notations of a capacity.
const (
	Unset    ShareKind = iota
	Percent            // 40: of the parent
	Weight             // 3w: relative to its siblings
	Absolute           // [memory=20480,vcores=10]
)

func (k ShareKind) String() string {
	return [...]string{"unset", "a percentage", "a weight", "an absolute amount"}[k]
}

// QueueShare is a capacity or a maximum capacity.
type QueueShare struct {
	Kind  ShareKind
	Value float32        // percent or weight
	Room  unit.Resources // when absolute
}

// Queue is one queue of a capacity-scheduler.xml, with defaults filled in.
type Queue struct {
	Name     string // last part of Path
	Path     string // root.a.b
	Parent   *Queue
	Children []*Queue // in the order of the file
	Pos      Pos      // where its parent names it

	Capacity    QueueShare
	MaxCapacity QueueShare // Unset: none but the parent's
	Stopped     bool       // itself or an ancestor

	// Parents: utilization or priority-utilization. Leaves: fifo, fair, fifo-with-partitions or fifo-for-pending-apps.
	Ordering string
	Priority int // higher goes first, under priority-utilization

	DisablePreemption bool // here or in an ancestor: its containers are not preempted for other queues (engines with preemption only)

	// Leaves only.
	MinimumUserLimitPercent    float32
	UserLimitFactor            float32 // -1: no limit but the queue's maximum
	MaximumAMPercent           float32 // a fraction of 1
	MaximumApplications        int     // -1: not set
	DefaultApplicationPriority int
	SizeWeight                 bool // fair ordering divides by log2(1 + demand)
}

// Leaf reports whether applications run in the queue.
func (q *Queue) Leaf() bool { return len(q.Children) == 0 }

// Walk visits the queue and all below it, parents first.
func (q *Queue) Walk(visit func(*Queue)) {
	visit(q)
	for _, k := range q.Children {
		k.Walk(visit)
	}
}

// Heartbeat holds the settings that matter only to an engine with node heartbeats and locality.
type Heartbeat struct {
	Multiple                 bool // per-node-heartbeat.multiple-assignments-enabled
	MaxAssignments           int  // per-node-heartbeat.maximum-container-assignments; -1: any number
	MaxOffSwitch             int  // per-node-heartbeat.maximum-offswitch-assignments
	NodeLocalityDelay        int
	RackLocalityExtraDelay   int // -1: by the share of requested nodes
	RackLocalityFullReset    bool
	ContinueLookingAtReserve bool // reservations-continue-look-all-nodes
}

// Capacity is a capacity-scheduler.xml.
type Capacity struct {
	File string
	Root *Queue

	Dominant                   bool // resource-calculator is DominantResourceCalculator
	MinAllocation              unit.Resources
	MaxApplicationPriority     int // yarn.cluster.max-application-priority
	MaximumApplications        int // in the whole scheduler
	GlobalQueueMaxApplications int // 0: not set
	Heartbeat                  Heartbeat

	Remarks
	// HeartbeatOnly lists settings in the file that go to Heartbeat: an engine without heartbeats ignores them.
	HeartbeatOnly []string
}

// ReadCapacity parses a capacity-scheduler.xml. The name is used in errors and warnings. Settings of yarn-site.xml that the
// scheduler reads (minimum allocation, maximum application priority) are taken if they are in the same file.
func ReadCapacity(r io.Reader, name string) (*Capacity, error) {
	props, err := ReadProperties(r, name)
	if err != nil {
		return nil, err
	}
	b := &capacityReader{props: props, queues: map[string]*Queue{}, c: &Capacity{File: name}}
	if err := b.global(); err != nil {
		return nil, err
	}
	if err := b.tree(); err != nil {
		return nil, err
	}
	if err := b.check(b.c.Root); err != nil {
		return nil, err
	}
	b.c.Warnings = append(b.c.Warnings, props.Warnings...)
	for _, p := range props.List {
		b.classify(p)
	}
	return b.c, nil
}

type capacityReader struct {
	props  *Properties
	c      *Capacity
	queues map[string]*Queue // by path

	userLimitPercent, userLimitFactor, amPercent float32 // defaults of queues
	allowZeroSum                                 bool
}

// global reads the settings without a queue.
func (b *capacityReader) global() error {
	c := b.c
	v := values{b.props, nil}
	c.MaximumApplications = v.whole(Prefix+"maximum-applications", 10000, 0)
	c.GlobalQueueMaxApplications = v.whole(Prefix+"global-queue-max-application", 0, -1)
	c.MaxApplicationPriority = v.whole("yarn.cluster.max-application-priority", 0, 0)
	c.MinAllocation.Mem = int64(v.whole("yarn.scheduler.minimum-allocation-mb", 1024, 1))
	c.MinAllocation.Cores = int64(v.whole("yarn.scheduler.minimum-allocation-vcores", 1, 1))
	b.userLimitPercent = v.number(Prefix+"minimum-user-limit-percent", 100, 0, 100)
	b.userLimitFactor = v.number(Prefix+"user-limit-factor", 1, -1, maxFactor)
	b.amPercent = v.number(Prefix+"maximum-am-resource-percent", 0.1, 0, 1)
	b.allowZeroSum = v.truth(Prefix+"allow-zero-capacity-sum", false)
	c.Heartbeat = Heartbeat{
		Multiple:                 v.truth(Prefix+"per-node-heartbeat.multiple-assignments-enabled", true),
		MaxAssignments:           v.whole(Prefix+"per-node-heartbeat.maximum-container-assignments", 100, -1),
		MaxOffSwitch:             v.whole(Prefix+"per-node-heartbeat.maximum-offswitch-assignments", 1, 0),
		NodeLocalityDelay:        v.whole(Prefix+"node-locality-delay", 40, -1),
		RackLocalityExtraDelay:   v.whole(Prefix+"rack-locality-additional-delay", -1, -1),
		RackLocalityFullReset:    v.truth(Prefix+"rack-locality-full-reset", true),
		ContinueLookingAtReserve: v.truth(Prefix+"reservations-continue-look-all-nodes", true),
	}
	if p := b.props.Get(Prefix + "resource-calculator"); p != nil && v.err == nil {
		switch p.Value[strings.LastIndexByte(p.Value, '.')+1:] {
		case "DefaultResourceCalculator":
		case "DominantResourceCalculator":
			c.Dominant = true
		default:
			return p.Pos.Errorf("%s is %q: want DefaultResourceCalculator or DominantResourceCalculator", p.Name, shorten(p.Value))
		}
	}
	return v.err
}

// maxFactor bounds user-limit-factor: larger ones mean "no limit" just as well.
const maxFactor = 1e6
