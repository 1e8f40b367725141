package sched

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/yardmaster/yardmaster/kube/engine"
	"github.com/yardmaster/yardmaster/policy/live"
)

// ends are pods of ours whose end has one witness of two. The scheduler's informer leaves out pods that are over: one that ends is deleted there, in the state that
// it had before. How it ended is known from an informer of our own. The room is free once the scheduler's cache says so, and the policy is told once both have.
type ends struct {
	over     map[types.UID]*corev1.Pod // by our informer only
	vanished map[types.UID]vanished    // from the scheduler's only

	changed  bool // since unparked, something that may help a pod that found no node
	unparked time.Time
}

type vanished struct {
	pod *corev1.Pod
	at  time.Time
}

const (
	// patience is how long a pod may be gone from one informer before the other is no longer waited for: it was deleted at once, and never over.
	patience = 2 * time.Second
	// unparkEvery bounds how often the ends of pods let those be tried again that found no node: whoever may create pods may create many that fit nowhere.
	unparkEvery = 30 * time.Second
)

func newEnds() ends {
	return ends{over: map[types.UID]*corev1.Pod{}, vanished: map[types.UID]vanished{}}
}

// watchEnds begins to watch pods that are over. It returns once those are known that are over already.
func (q *Queue) watchEnds(ctx context.Context) error {
	factory := informers.NewSharedInformerFactoryWithOptions(q.client, 0, informers.WithTransform(strip), informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = "spec.schedulerName=" + engine.Name + ",status.phase!=Pending,status.phase!=Running,status.phase!=Unknown"
	}))
	registered, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { q.isOver(o.(*corev1.Pod)) },
		DeleteFunc: func(o any) {
			if d, missed := o.(cache.DeletedFinalStateUnknown); missed {
				o = d.Obj
			}
			q.wasOver(o.(*corev1.Pod))
		},
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), registered.HasSynced) {
		return context.Cause(ctx)
	}
	return nil
}

// strip leaves of a pod that is over what the engine reads.
func strip(o any) (any, error) {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return o, nil
	}
	statuses := p.Status.ContainerStatuses
	o, err := engine.Strip(o)
	p.Status.ContainerStatuses = nil
	for _, s := range statuses {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{State: s.State})
	}
	return o, err
}

func (q *Queue) isOver(p *corev1.Pod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, gone := q.vanished[p.UID]
	switch s, known := q.engine.Core.State(string(p.UID)); {
	case known && s == live.Bound && !gone:
		q.over[p.UID] = p
	case known || !q.decides:
		delete(q.vanished, p.UID)
		q.engine.SawPod(p)
		q.left(p.UID)
	}
}

func (q *Queue) wasOver(p *corev1.Pod) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.over[p.UID] != nil {
		q.engine.SawPod(q.over[p.UID])
		delete(q.over, p.UID)
	}
	q.engine.PodGone(p)
}

// freed hears that a pod's room is free in the scheduler's cache.
func (q *Queue) freed(p *corev1.Pod) {
	q.changed = true
	if !managed(p) {
		q.engine.PodGone(p)
		return
	}
	if s, known := q.engine.Core.State(string(p.UID)); !known || s != live.Bound {
		return // it was not bound after all
	}
	switch over := q.over[p.UID]; {
	case over != nil:
		delete(q.over, p.UID)
		q.engine.SawPod(over)
	case p.DeletionTimestamp != nil:
		q.engine.PodGone(p)
	default:
		q.vanished[p.UID] = vanished{p, time.Now()}
	}
}

// sweep does what no event would.
func (q *Queue) sweep() {
	now := time.Now()
	for id, v := range q.vanished {
		if now.Sub(v.at) > patience {
			delete(q.vanished, id)
			q.engine.PodGone(v.pod)
		}
	}
	if q.changed && now.Sub(q.unparked) > unparkEvery {
		q.changed, q.unparked = false, now
		q.engine.Core.Unpark()
	}
	swept := map[*gang]bool{}
	for _, g := range q.gangs {
		if g.broken && !swept[g] {
			swept[g] = true
			q.reject(g)
		}
	}
}
