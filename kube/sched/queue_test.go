package sched

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/kubernetes/pkg/scheduler/backend/queue"
)

// The interface as of the Kubernetes that kube/go.mod names. If it has changed, read what the scheduler now calls instead of what Queue overrides, and whether a new
// method lets a pod in or out; then write down the new interface.
const interfaceOf136 = `
Activate func(logr.Logger, map[string]*v1.Pod)
Add func(context.Context, *v1.Pod)
AddNominatedPod func(logr.Logger, framework.PodInfo, *framework.NominatingInfo)
AddUnschedulableIfNotPresent func(logr.Logger, *framework.QueuedPodInfo, int64) error
AssignedPodAdded func(logr.Logger, *v1.Pod)
AssignedPodUpdated func(logr.Logger, *v1.Pod, *v1.Pod, framework.ClusterEvent)
Close func()
Delete func(*v1.Pod)
DeleteNominatedPodIfExists func(*v1.Pod)
Done func(types.UID)
GetPod func(string, string) (*framework.QueuedPodInfo, bool)
InFlightPods func() []*v1.Pod
MoveAllToActiveOrBackoffQueue func(logr.Logger, framework.ClusterEvent, interface {}, interface {}, queue.PreEnqueueCheck)
NominatedPodsForNode func(string) []framework.PodInfo
PatchPodStatus func(*v1.Pod, *v1.PodCondition, *framework.NominatingInfo) (<-chan error, error)
PendingPods func() ([]*v1.Pod, string)
PodsInActiveQ func() []*v1.Pod
PodsInBackoffQ func() []*v1.Pod
Pop func(logr.Logger) (*framework.QueuedPodInfo, error)
PopSpecificPod func(logr.Logger, *v1.Pod) *framework.QueuedPodInfo
Run func(logr.Logger)
SchedulingCycle func() int64
UnschedulablePods func() []*v1.Pod
Update func(context.Context, *v1.Pod, *v1.Pod)
UpdateNominatedPod func(logr.Logger, *v1.Pod, framework.PodInfo)
`

func TestInterface(t *testing.T) {
	var is strings.Builder
	for m := range reflect.TypeFor[queue.SchedulingQueue]().Methods() {
		is.WriteString("\n" + m.Name + " " + m.Type.String())
	}
	if got := is.String() + "\n"; got != interfaceOf136 {
		t.Errorf("the interface has changed:%s", got)
	}
}
