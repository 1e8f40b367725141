package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Job is kept without its template, however large a tenant makes it.
func TestJobsAreSmall(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "j", UID: "1", Annotations: map[string]string{"a": large}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: large}}}}
	j.Spec.Completions, j.Spec.Template.Spec.Containers = new(int32(3)), []corev1.Container{{Image: large}}
	j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	if _, err := Strip(j); err != nil || j.Size() > 200 || j.UID != "1" || *j.Spec.Completions != 3 || !finished(j) {
		t.Errorf("%d bytes of %+v, %v", j.Size(), j, err)
	}
}

// What has not been asked for in two turns is forgotten: pods that are gone leave nothing behind.
func TestRecentForgets(t *testing.T) {
	var r recent[int]
	pass := func() { r.since = r.since.Add(-2 * period) }
	if r.get("a", 1) != 1 || r.get("a", 2) != 1 {
		t.Error("it is not kept")
	}
	pass()
	if r.get("b", 3); r.get("a", 4) != 1 {
		t.Error("it is forgotten after a turn")
	}
	for range 2 {
		pass()
		r.get(time.Now().String(), 0)
	}
	if r.get("a", 5) != 5 || len(r.now)+len(r.before) > 4 {
		t.Errorf("it is kept after two turns: %v, %v", r.now, r.before)
	}
	for i := range 5 * maxAlike {
		r.get(fmt.Sprint(i), i)
	}
	if len(r.now) > maxAlike || len(r.before) > maxAlike {
		t.Errorf("%d and %d are kept", len(r.now), len(r.before))
	}
}
