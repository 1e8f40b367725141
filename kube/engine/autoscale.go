package engine

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/live"
)

// Autoscalers add nodes for pods with the condition PodScheduled=False, Unschedulable. Held pods do not have it. With the setting autoscale: N, those of the next N
// jobs that lack nothing but room do, for a turn; then others do, as there may be no such node to add. The pause until a job's next turn grows.

const (
	// Marked is the message of the condition that has autoscalers see a held pod.
	Marked = "held by yardmaster, because no node has room"
	// gatedMessage is the API server's own message.
	gatedMessage = "Scheduling is blocked due to non-empty scheduling gates"
	maxMarks     = 500 // pods
	turn         = 5 * time.Minute
)

// mark shows autoscalers the held pods of the next jobs, given in their order, and no others.
func (e *Engine) mark(ctx context.Context, waiting []live.View) {
	n := e.current().autoscale
	if n == 0 && len(e.marks) == 0 {
		return
	}
	marks, now := map[string]types.NamespacedName{}, time.Now()
	for _, key := range e.byTurn(waiting, now)[:min(len(waiting), 10*n)] {
		if n == 0 || len(marks) >= maxMarks {
			break
		}
		v, ok := e.Core.Why(key)
		room := ok && lacksRoom(v.Reasons)
		e.mu.Lock()
		if k := e.known[key]; k != nil && !now.Before(k.until) && !k.rests(now) {
			if k.until = now; room {
				k.until, k.turns = now.Add(turn), k.turns+1
			}
		}
		e.mu.Unlock()
		if !room {
			continue
		}
		n--
		for _, t := range e.Core.Held(v.Key, maxMarks-len(marks)) {
			marks[t.ID] = t.Ref.(types.NamespacedName)
		}
	}
	forbidden := false
	for id, pod := range marks {
		if _, done := e.marks[id]; done {
			continue
		}
		if !forbidden {
			err := e.condition(ctx, id, pod, corev1.PodReasonUnschedulable, Marked)
			if forbidden = apierrors.IsForbidden(err); err == nil {
				continue
			}
		}
		delete(marks, id)
	}
	if forbidden {
		e.Warn(ctx, "AutoscaleForbidden", "autoscale is set, and the right to patch pods/status is missing: autoscalers see no held pod")
	}
	for id, pod := range e.marks {
		if s, known := e.Core.State(id); known && s == live.Held && marks[id].Name == "" {
			_ = e.condition(ctx, id, pod, corev1.PodReasonSchedulingGated, gatedMessage) // it logs; the mark is forgotten in any case
		}
	}
	e.marks = marks
}

// byTurn are the keys of jobs in their order, but last those that rest: after a turn, or for a while if they lacked something else.
func (e *Engine) byTurn(waiting []live.View, now time.Time) []string {
	var ready, resting []string
	e.mu.RLock()
	defer e.mu.RUnlock()
	for i := range waiting {
		if key := waiting[i].Key; e.known[key].rests(now) {
			resting = append(resting, key)
		} else {
			ready = append(ready, key)
		}
	}
	return append(ready, resting...)
}

func (k *known) rests(now time.Time) bool {
	return k != nil && !now.Before(k.until) && now.Before(k.until.Add(turn<<min(2*k.turns, 10)))
}

// lacksRoom reports whether more or larger nodes would help: limits of queues hold nobody back whom a node helps.
func lacksRoom(reasons []policy.Reason) bool {
	return len(reasons) > 0 && slices.Contains([]string{policy.NodeRoom, policy.NodeSize, policy.GangRoom}, reasons[0].Limit)
}

func (e *Engine) condition(ctx context.Context, id string, pod types.NamespacedName, reason, message string) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": id},
		"status": map[string]any{"conditions": []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(time.Now().Truncate(time.Second)),
		}}},
	})
	if err == nil {
		_, err = e.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	}
	if err != nil {
		klog.FromContext(ctx).V(1).Info("Condition not set", "pod", pod, "err", err)
	}
	return err
}
