package sched

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/yardmaster/yardmaster/policy/live"
)

// Name of the plug-in.
const Name = "Yardmaster"

// gangWait is how long pods wait, with a node each, for the rest of their gang. They are tried one right after the other, and the first refusal ends the wait.
const gangWait = 10 * time.Minute

// gang is what was released together, of which none is bound unless all have found a node.
type gang struct {
	group  int64
	placed map[types.UID]bool         // its pods; true: has a node
	back   map[types.UID]live.Refusal // those that have come back
	broken bool                       // so that all have to
}

// join notes that a pod was released with others.
func (q *Queue) join(t *live.Task) {
	if t.Group == 0 {
		return
	}
	g := q.last
	if g == nil || g.group != t.Group {
		g = &gang{group: t.Group, placed: map[types.UID]bool{}, back: map[types.UID]live.Refusal{}}
		q.last = g
	}
	g.placed[types.UID(t.ID)] = false
	q.gangs[types.UID(t.ID)] = g
}

// left breaks up the gang of a pod that is gone or has got a node from somebody else.
func (q *Queue) left(id types.UID) {
	if g := q.gangs[id]; g != nil {
		delete(q.gangs, id)
		delete(g.placed, id)
		delete(g.back, id)
		q.breaks(g)
		q.settle(g)
	}
}

// returned reports whether a pod that was refused has a gang, all of which goes back to the policy at once.
func (q *Queue) returned(id types.UID, why live.Refusal) bool {
	g := q.gangs[id]
	if g == nil {
		return false
	}
	g.back[id] = why
	q.breaks(g)
	q.settle(g)
	return true
}

// isBack reports whether a pod has come back, and only its gang has not.
func (q *Queue) isBack(id types.UID) bool {
	g := q.gangs[id]
	if g == nil {
		return false
	}
	_, back := g.back[id]
	return back
}

// breaks gives up a gang, once.
func (q *Queue) breaks(g *gang) {
	if !g.broken {
		g.broken = true
		q.reject(g)
	}
}

// reject refuses the pods of a broken gang that wait for others. One that has just begun to wait is refused by the next sweep.
func (q *Queue) reject(g *gang) {
	for id, has := range g.placed {
		if _, back := g.back[id]; back || !has {
			continue
		}
		if w := q.profile.GetWaitingPod(id); w != nil {
			w.Reject(Name, "another pod of its gang found no node")
		}
	}
}

// settle gives a gang back. The pod that found no node is last: it is what the policy has to remember.
func (q *Queue) settle(g *gang) {
	if len(g.back) < len(g.placed) {
		return
	}
	for _, bound := range []bool{true, false} {
		for id, why := range g.back {
			if bound == (why == live.NotBound) {
				delete(q.gangs, id)
				q.engine.Core.TakeBack(string(id), why)
			}
		}
	}
}

// plugin orders the inner queue and holds gangs together. It neither filters nor scores, which would end the batching of pods that are alike.
type plugin struct{ *Queue }

var (
	_ fwk.QueueSortPlugin   = plugin{}
	_ fwk.PermitPlugin      = plugin{}
	_ fwk.EnqueueExtensions = plugin{}
)

// Plugin makes the scheduler's plug-in.
func (q *Queue) Plugin(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) {
	return plugin{q}, nil
}

func (plugin) Name() string { return Name }

// EventsToRegister has none: what is refused here goes back to the policy.
func (plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) { return nil, nil }

// Less puts pods of the policy in the order of their release, which is when they entered the queue, after those of other profiles.
func (plugin) Less(a, b fwk.QueuedPodInfo) bool {
	x, y := a.GetPodInfo().GetPod(), b.GetPodInfo().GetPod()
	if ours := managed(x); ours != managed(y) {
		return !ours
	} else if !ours {
		if p, q := corev1helpers.PodPriority(x), corev1helpers.PodPriority(y); p != q {
			return p > q
		}
	}
	return a.GetTimestamp().Before(b.GetTimestamp())
}

// Permit lets a pod of a gang wait until all have a node.
func (p plugin) Permit(_ context.Context, state fwk.CycleState, pod *corev1.Pod, _ string) (*fwk.Status, time.Duration) {
	q := p.Queue
	q.mu.Lock()
	defer q.mu.Unlock()
	g := q.gangs[pod.UID]
	switch {
	case g == nil || state.IsPodGroupSchedulingCycle(): // a trial of the whole group
		return nil, 0
	case g.broken:
		return fwk.NewStatus(fwk.Unschedulable, "another pod of its gang found no node"), 0
	}
	g.placed[pod.UID] = true
	for _, has := range g.placed {
		if !has {
			return fwk.NewStatus(fwk.Wait, "for the rest of its gang"), gangWait
		}
	}
	for id := range g.placed {
		delete(q.gangs, id)
		if w := q.profile.GetWaitingPod(id); w != nil {
			w.Allow(Name)
		}
	}
	return nil, 0
}
