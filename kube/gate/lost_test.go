package gate

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yardmaster/yardmaster/kube/engine"
)

// Pods of which no scheduler says anything do not keep their room for ever.
func TestLost(t *testing.T) {
	c := &controller{open: map[types.UID]opened{}}
	pod := func(id string, change func(p *corev1.Pod)) {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(id), Annotations: map[string]string{engine.Released: ""}}}
		if change != nil {
			change(p)
		}
		c.note(p, true)
	}
	check := func(after time.Duration, want ...string) {
		t.Helper()
		got := c.lost(time.Now().Add(after))
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("after %v: %v, want %v", after, got, want)
		}
	}
	no := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	}
	pod("ignored", nil)
	check(longest - time.Second)
	check(longest+time.Second, "ignored")
	pod("refused", no)
	check(unschedulable / 2)
	check(unschedulable+time.Second, "refused")
	pod("bound", nil)
	pod("bound", func(p *corev1.Pod) { p.Spec.NodeName = "n" })
	check(silent+time.Second, "ignored", "refused")
	pod("later", nil)
	check(silent+time.Second, "ignored", "refused")
	pod("ignored", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	check(longest+time.Second, "later", "refused")
}
