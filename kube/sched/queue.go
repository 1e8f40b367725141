// Package sched is kube-scheduler with a policy in front of its queue: pods of the scheduler named [engine.Name] enter the queue when the policy releases them,
// and go back to the policy when they find no node. All else is kube-scheduler's own code; pods of other profiles pass untouched.
//
//	event handlers ──> Queue ──> kube-scheduler's queue ──> scheduling and binding
//	                   │   ^                                       │
//	                 policy └────────── refused ───────────────────┘
//
// The queue hears of every change from the scheduler's own event handlers, after the scheduler's cache has it. So room is never given out before the scheduler
// would give it.
package sched

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/yardmaster/yardmaster/kube/engine"
	"github.com/yardmaster/yardmaster/policy/live"
)

// Queue holds back pods in front of a scheduling queue.
//
// The interface is no promise of Kubernetes': an override of a method that a later version renames would still compile, and never be called. The list below would not.
type Queue struct {
	queue.SchedulingQueue
	Options
	ctx     context.Context
	client  kubernetes.Interface
	pods    corelisters.PodLister
	nodes   corelisters.NodeLister
	profile framework.Framework

	// mu is held while a pod passes from the policy to the inner queue or back, so that a pod of ours is in the inner queue only if the core says it is released.
	// It is taken before the inner queue's lock and the core's.
	mu      sync.Mutex
	engine  *engine.Engine // nil until this replica leads
	decides bool           // it has told the policy of all there is
	stops   bool           // nothing more is let go
	ends
	gangs map[types.UID]*gang // by pod, until all of it is bound or back
	last  *gang
}

// Options of a queue.
type Options struct {
	Namespace string             // of the installation
	Identity  string             // of this replica
	Serve     func(http.Handler) // is given the engine's handler, anew at every start; may be nil
	Fail      func(error)        // ends the program
}

// What Queue overrides has to be a method of the interface.
var _ = []any{
	queue.SchedulingQueue.Add, queue.SchedulingQueue.Update, queue.SchedulingQueue.Delete, queue.SchedulingQueue.AddUnschedulableIfNotPresent,
	queue.SchedulingQueue.MoveAllToActiveOrBackoffQueue, queue.SchedulingQueue.Run,
}

// NewQueue returns a queue that holds nothing yet.
func NewQueue(ctx context.Context, o Options) *Queue {
	return &Queue{Options: o, ctx: ctx, gangs: map[types.UID]*gang{}}
}

// Wrap puts the queue in front of a scheduler's own, before the scheduler runs.
func (q *Queue) Wrap(s *scheduler.Scheduler, client kubernetes.Interface, factory informers.SharedInformerFactory) {
	q.pods, q.nodes = factory.Core().V1().Pods().Lister(), factory.Core().V1().Nodes().Lister()
	q.client, q.profile, q.SchedulingQueue = client, s.Profiles[engine.Name], s.SchedulingQueue
	s.SchedulingQueue = q
}

func managed(p *corev1.Pod) bool { return p.Spec.SchedulerName == engine.Name }

// Run is called when this replica leads, after all event handlers have seen what there is.
func (q *Queue) Run(logger klog.Logger) {
	q.SchedulingQueue.Run(logger)
	go func() {
		for q.ctx.Err() == nil {
			if err := q.lead(); !errors.Is(err, engine.ErrRestart) && q.ctx.Err() == nil {
				q.Fail(err)
			}
		}
	}()
}

// lead decides until the engine ends.
func (q *Queue) lead() error {
	ctx, cancel := context.WithCancel(q.ctx)
	defer cancel()
	e, err := engine.New(ctx, q.client, engine.Config{Namespace: q.Namespace, Identity: q.Identity, Managed: managed, Held: q.isHeld})
	if err != nil {
		return err
	}
	if q.Serve != nil {
		q.Serve(e.Handler())
	}
	if err := q.begin(e); err != nil {
		return err
	}
	if err := q.watchEnds(ctx); err != nil {
		return err
	}
	if err := e.Start(ctx); err != nil {
		return err
	}
	q.mu.Lock()
	q.decides = true
	q.mu.Unlock()
	err = e.Loop(ctx, q.turn)
	if errors.Is(err, engine.ErrRestart) {
		q.Stop()
	}
	return err
}

// lastBindings is how long a scheduler that ends waits for nodes for what it has let go.
const lastBindings = 3 * time.Second

// Drain lets no more pods go, and returns when those that were let go have nodes, so that the next replica does not find jobs charged for pods that are held again.
func (q *Queue) Drain() {
	q.mu.Lock()
	q.stops = true
	e := q.engine
	q.mu.Unlock()
	for end := time.Now().Add(lastBindings); e != nil && e.Core.Stats().Released > 0 && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
}

// Stop saves the state.
func (q *Queue) Stop() {
	q.mu.Lock()
	e, decides := q.engine, q.decides
	q.mu.Unlock()
	if decides {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(q.ctx), 5*time.Second)
		defer cancel()
		e.Stop(ctx)
	}
}

// isHeld tells a new engine of a pod without a node what the one before it knew. The lock is held.
func (q *Queue) isHeld(p *corev1.Pod) bool {
	if q.engine == nil {
		return true
	}
	s, _ := q.engine.Core.State(string(p.UID))
	return s != live.Released
}

// begin tells the core of all nodes and pods. From then on it hears of every event; what the listers know already may come once more.
func (q *Queue) begin(e *engine.Engine) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	nodes, err := q.nodes.List(labels.Everything())
	if err != nil {
		return err
	}
	pods, err := q.pods.List(labels.Everything())
	if err != nil {
		return err
	}
	for _, n := range nodes {
		e.SawNode(nil, n)
	}
	for _, p := range pods {
		if !waitsElsewhere(p) {
			e.SawPod(p)
		}
	}
	q.engine, q.decides, q.ends, q.last = e, false, newEnds(), nil
	return nil
}

// waitsElsewhere reports whether a pod has gates, so that it may not be scheduled whatever the policy says.
func waitsElsewhere(p *corev1.Pod) bool {
	return p.Spec.NodeName == "" && len(p.Spec.SchedulingGates) > 0
}

// turn lets pods go.
func (q *Queue) turn() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stops {
		return
	}
	q.sweep()
	tasks := q.engine.Release()
	for i := range tasks {
		q.join(&tasks[i])
	}
	for _, t := range tasks {
		name := t.Ref.(types.NamespacedName)
		p, err := q.pods.Pods(name.Namespace).Get(name.Name)
		switch {
		case err != nil || string(p.UID) != t.ID || p.Spec.NodeName != "" || p.DeletionTimestamp != nil: // an event is on its way that says so
		case q.enters(p):
			q.SchedulingQueue.Add(q.ctx, p)
		default:
			q.takeBack(p.UID, live.NoNode)
		}
	}
}

// enters reports whether the inner queue would let a pod be scheduled. Otherwise the pod would wait there, for a claim that does not exist perhaps, and take room from others.
func (q *Queue) enters(p *corev1.Pod) bool {
	for _, x := range q.profile.PreEnqueuePlugins() {
		if !x.PreEnqueue(q.ctx, p).IsSuccess() {
			return false
		}
	}
	return true
}

// takeBack gives a released pod back to the policy, or notes that it has come back if it is one of a gang.
func (q *Queue) takeBack(id types.UID, why live.Refusal) {
	if !q.returned(id, why) {
		q.engine.Core.TakeBack(string(id), why)
	}
	q.engine.Wake()
}

// held tells the core of a pod without a node, and reports whether the inner queue has nothing to do with it.
func (q *Queue) held(p *corev1.Pod) bool {
	if !managed(p) {
		return false
	}
	if q.engine == nil || waitsElsewhere(p) {
		return true
	}
	was, known := q.engine.Core.State(string(p.UID))
	switch leaves := p.DeletionTimestamp != nil; {
	case !leaves && !known:
		q.engine.SawPod(p)
	case leaves && known:
		q.engine.SawPod(p)
		q.left(p.UID)
	}
	return was != live.Released || q.isBack(p.UID)
}

// Add holds a pod, or passes it on.
func (q *Queue) Add(ctx context.Context, p *corev1.Pod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.held(p) {
		q.SchedulingQueue.Add(ctx, p)
	}
}

// Update passes on what the inner queue knows: it would add any other pod.
func (q *Queue) Update(ctx context.Context, old, p *corev1.Pod) {
	if old.UID != p.UID { // another one of that name, after a gap in the events
		q.Delete(old)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.held(p) {
		q.SchedulingQueue.Update(ctx, old, p)
	}
}

// Delete forgets a pod without a node. It is also called for a pod that has just been bound, after the core has heard so.
func (q *Queue) Delete(p *corev1.Pod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.SchedulingQueue.Delete(p)
	if q.engine == nil || !managed(p) {
		return
	}
	if s, known := q.engine.Core.State(string(p.UID)); known && s != live.Bound {
		q.engine.PodGone(p)
		q.left(p.UID)
	}
}

// AddUnschedulableIfNotPresent gives a pod back to the policy that found no node or whose binding failed. A nomination makes no difference: our profile does not
// preempt, and a pod that waited for its gang has one.
func (q *Queue) AddUnschedulableIfNotPresent(logger klog.Logger, info *framework.QueuedPodInfo, cycle int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.engine == nil || !managed(info.Pod) {
		return q.SchedulingQueue.AddUnschedulableIfNotPresent(logger, info, cycle)
	}
	if info.Pod.DeletionTimestamp != nil {
		q.engine.SawPod(info.Pod)
		q.left(info.Pod.UID)
	} else {
		q.takeBack(info.Pod.UID, refusal(info))
	}
	q.SchedulingQueue.Delete(info.Pod) // an update may have put it back, between the failure of its binding and now
	q.SchedulingQueue.Done(info.Pod.UID)
	return nil
}

// refusal is why a pod came back.
func refusal(info *framework.QueuedPodInfo) live.Refusal {
	by := info.UnschedulablePlugins.Union(info.PendingPlugins)
	switch {
	case by.Has(names.NodeResourcesFit): // perhaps not on all nodes: the core knows whether one has room
		return live.NoRoom
	case by.Len() == 0 || by.Has(Name):
		return live.NotBound
	}
	return live.NoNode
}

// MoveAllToActiveOrBackoffQueue is called for every event of the cluster that matters to scheduling, after the scheduler's cache has changed.
func (q *Queue) MoveAllToActiveOrBackoffQueue(logger klog.Logger, event fwk.ClusterEvent, old, now any, check queue.PreEnqueueCheck) {
	q.SchedulingQueue.MoveAllToActiveOrBackoffQueue(logger, event, old, now, check)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.engine == nil {
		return
	}
	was, _ := old.(*corev1.Pod)
	is, _ := now.(*corev1.Pod)
	switch {
	case event == framework.EventAssignedPodAdd:
		if s, known := q.engine.Core.State(string(is.UID)); known && s == live.Released {
			q.engine.Core.Bind(string(is.UID), is.Spec.NodeName)
			q.engine.Wake()
		} else {
			q.engine.SawPod(is)
		}
		q.left(is.UID)
	case event == framework.EventAssignedPodDelete:
		q.freed(was)
	case was != nil && is != nil && was.UID != is.UID && is.Spec.NodeName != "": // another one of that name, after a gap in the events
		q.freed(was)
		q.engine.SawPod(is)
	case was != nil || is != nil:
	case event.Resource == fwk.Node:
		was, _ := old.(*corev1.Node)
		if n, ok := now.(*corev1.Node); ok {
			q.engine.SawNode(was, n)
		} else {
			q.engine.NodeGone(was.Name)
		}
	default: // volumes, claims, ...: what found no node may find one
		q.changed = true
	}
}
