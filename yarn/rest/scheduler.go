package rest

import (
	"context"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// Scheduler is the queues as the ResourceManager shows them.
type Scheduler struct {
	Type string // capacityScheduler, fairScheduler, fifoScheduler
	Root *Queue // nil for fifoScheduler
	Raw  json.RawMessage
}

// Queue has the fields of both schedulers; those of the other one are zero. Capacities are percentages.
type Queue struct {
	Name     string   `json:"queueName"` // the last part; the whole path for the FairScheduler
	Path     string   `json:"queuePath"` // always set, also where the version lacks it
	State    string   `json:"state"`
	Children []*Queue `json:"-"`

	// CapacityScheduler.
	Capacity            float64  `json:"capacity"`
	MaxCapacity         float64  `json:"maxCapacity"`
	AbsoluteCapacity    float64  `json:"absoluteCapacity"`
	AbsoluteMaxCapacity float64  `json:"absoluteMaxCapacity"`
	Weight              float64  `json:"weight"` // -1: not in weight mode
	Mode                string   `json:"mode"`   // percentage, weight, absolute
	OrderingPolicy      string   `json:"orderingPolicyInfo"`
	Priority            int64    `json:"queuePriority"`
	UserLimit           float64  `json:"userLimit"`
	UserLimitFactor     float64  `json:"userLimitFactor"`
	MaxApplications     int64    `json:"maxApplications"`
	MaxAMPercent        float64  `json:"configuredMaxAMResourceLimit" nan:"keep"` // a fraction; absent in some versions
	AMLimit             Resource `json:"AMResourceLimit"`
	UsedAM              Resource `json:"usedAMResource"`
	UserAMLimit         Resource `json:"userAMResourceLimit"`
	PreemptionDisabled  bool     `json:"preemptionDisabled"`
	DefaultPriority     int64    `json:"defaultPriority"`
	Used                Resource `json:"resourcesUsed"`
	MinEffective        Resource `json:"minEffectiveCapacity"`
	MaxEffective        Resource `json:"maxEffectiveCapacity"`
	NumApplications     int64    `json:"numApplications"`
	NumContainers       int64    `json:"numContainers"`
	NumActive           int64    `json:"numActiveApplications"`
	NumPending          int64    `json:"numPendingApplications"`
	Capacities          struct {
		Partitions []PartitionCapacity `json:"queueCapacitiesByPartition"`
	} `json:"capacities"` // since 2.8

	// FairScheduler.
	Policy         string   `json:"schedulingPolicy"`
	MaxApps        int64    `json:"maxApps"`
	MinResources   Resource `json:"minResources"`
	MaxResources   Resource `json:"maxResources"`
	UsedResources  Resource `json:"usedResources"`
	SteadyFair     Resource `json:"steadyFairResources"`
	Fair           Resource `json:"fairResources"`
	AMUsed         Resource `json:"amUsedResources"`
	AMMax          Resource `json:"amMaxResources"`
	NumActiveApps  int64    `json:"numActiveApps"`
	NumPendingApps int64    `json:"numPendingApps"`

	// Both.
	Counted             bool  `json:"-"` // the answer has the numbers of active and pending applications
	AllocatedContainers int64 `json:"allocatedContainers"`
	PendingContainers   int64 `json:"pendingContainers"`
}

// PartitionCapacity is a queue's part of the nodes with one label; "" are those without.
type PartitionCapacity struct {
	Partition    string  `json:"partitionName"`
	MaxAMPercent float64 `json:"maxAMLimitPercentage" nan:"keep"` // of 100
}

// Leaf reports whether applications run in the queue itself.
func (q *Queue) Leaf() bool { return len(q.Children) == 0 }

// Find returns the queue with a path, q or below it; nil if there is none.
func (q *Queue) Find(path string) *Queue {
	if q == nil || q.Path == path {
		return q
	}
	for _, c := range q.Children {
		if f := c.Find(path); f != nil {
			return f
		}
	}
	return nil
}

// Scheduler reads the queues.
func (c *Client) Scheduler(ctx context.Context) (*Scheduler, error) {
	return parse(ctx, c, &call{what: "read the queues", server: c.rm, path: cluster + "/scheduler"}, readScheduler)
}

// Limits far beyond any site's tree.
const (
	maxQueueDepth = 100
	maxQueues     = 100_000
	maxQueuePath  = 2 << 10 // bytes of a queue's full name
)

func readScheduler(data []byte) (*Scheduler, error) {
	x, err := lookUp(data, "scheduler", "schedulerInfo")
	if err != nil {
		return nil, err
	}
	m, ok := x.(map[string]any)
	if !ok {
		return nil, wrongKind(x, "scheduler.schedulerInfo", "an object")
	}
	s := &Scheduler{Raw: data}
	s.Type, _ = m["type"].(string)
	root, path := any(m), "scheduler.schedulerInfo"
	if r, ok := m["rootQueue"]; ok {
		root, path = r, path+".rootQueue"
	} else if _, ok := m["queueName"]; !ok || strings.HasPrefix(s.Type, "fifo") {
		return s, nil
	}
	queues := 0
	s.Root, err = readQueue(root, "", path, 0, &queues)
	return s, err
}

// readQueue reads a queue and its descendants, and counts them.
func readQueue(x any, parent, path string, depth int, queues *int) (*Queue, error) {
	m, ok := x.(map[string]any)
	if !ok {
		return nil, wrongKind(x, path, "a queue")
	}
	if depth > maxQueueDepth {
		return nil, malformed("queues are nested more than %d deep", maxQueueDepth)
	}
	if *queues++; *queues > maxQueues {
		return nil, malformed("the answer has more than %d queues", maxQueues)
	}
	q := &Queue{}
	if err := fill(x, reflect.ValueOf(q).Elem(), path); err != nil {
		return nil, err
	}
	if q.Path == "" {
		q.Path = q.Name
		if parent != "" && !strings.HasPrefix(q.Name, parent+".") {
			q.Path = parent + "." + q.Name
		}
	}
	if len(q.Path) > maxQueuePath {
		return nil, malformed("a queue's name has more than %d characters", maxQueuePath)
	}
	_, active := m["numActiveApplications"]
	_, activeFair := m["numActiveApps"]
	q.Counted = active || activeFair
	for _, key := range []string{"queues", "childQueues"} {
		for i, child := range children(m[key]) {
			c, err := readQueue(child, q.Path, join(path, key)+"["+strconv.Itoa(i)+"]", depth+1, queues)
			if err != nil {
				return nil, err
			}
			q.Children = append(q.Children, c)
		}
	}
	return q, nil
}

// children are the child queues: a list under "queue", one bare queue, or the list itself.
func children(x any) []any {
	if m, ok := x.(map[string]any); ok {
		x = m["queue"]
	}
	switch x := x.(type) {
	case []any:
		return x
	case map[string]any:
		return []any{x}
	}
	return nil
}
