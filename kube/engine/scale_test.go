package engine

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	batchv1 "k8s.io/api/batch/v1"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/yardmaster/yardmaster/kube/lab"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/live"
	"github.com/yardmaster/yardmaster/unit"
)

// asCreated is a held pod of a Job as the API server shows it.
func asCreated(t testing.TB, i, job int) *corev1.Pod {
	p := lab.Pod(fmt.Sprintf("job-%d-%06d", job, i), "1", "1Gi", time.Minute)
	p.Namespace, p.UID = fmt.Sprint("team-", job%20), types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", i))
	p.Labels["batch.kubernetes.io/job-name"], p.Labels["controller-uid"] = fmt.Sprint("job-", job), fmt.Sprint("uid-", job)
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: fmt.Sprint("job-", job), UID: types.UID(fmt.Sprint("uid-", job)), Controller: new(true), BlockOwnerDeletion: new(true)}}
	p.CreationTimestamp, p.Finalizers = metav1.NewTime(time.Now().Add(-time.Hour)), []string{"batch.kubernetes.io/job-tracking"}
	p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kube-controller-manager", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{}}`)}}
	p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: Gate}}
	for _, key := range []string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"} {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))})
	}
	p.Spec.Volumes = []corev1.Volume{{Name: "kube-api-access", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: make([]corev1.VolumeProjection, 3)}}}}
	p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated, Message: gatedMessage}}}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var own corev1.Pod // shares no memory with others
	if err := json.Unmarshal(text, &own); err != nil {
		t.Fatal(err)
	}
	return &own
}

// 100,000 held pods of 1,000 Jobs on 5,000 nodes: what they take in memory, informer included, and how long decisions take.
func BenchmarkHeld(b *testing.B) {
	for _, held := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprint(held), func(b *testing.B) { benchmarkHeld(b, held) })
	}
}

func benchmarkHeld(b *testing.B, held int) {
	const jobs, nodes, ends = 1000, 5000, 4000
	s, err := parse(map[string]string{"policy": "fbq"})
	if err != nil {
		b.Fatal(err)
	}
	e := newTest(b, s)
	before := heap()
	var pods []*corev1.Pod
	for i := range nodes + held + ends {
		o, err := Strip(asCreated(b, i, i%jobs))
		if err != nil {
			b.Fatal(err)
		}
		pods = append(pods, o.(*corev1.Pod))
	}
	store := heap()
	room := corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("16Gi"), "pods": resource.MustParse("110")}
	for i := range nodes {
		e.SawNode(nil, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i)}, Status: corev1.NodeStatus{Allocatable: room}})
	}
	begin := time.Now()
	for _, p := range pods[:nodes+held] {
		e.SawPod(p)
	}
	if err := e.Core.Start(nil); err != nil {
		b.Fatal(err)
	}
	started, core := time.Since(begin), heap()-store
	var running []string
	turn := func() (n int) {
		for _, t := range e.Release() {
			e.Core.Bind(t.ID, fmt.Sprint("node-", len(running)%nodes))
			running = append(running, t.ID)
			n++
		}
		return n
	}
	for turn() > 0 { // until the nodes are full
	}
	took := time.Duration(0)
	for i := range ends { // a pod ends, another arrives, the next is let go
		e.SawPod(pods[nodes+held+i])
		begin = time.Now()
		e.Core.End(running[i], policy.Done, unit.Second)
		if n := turn(); n != 1 {
			b.Fatal(n)
		}
		took += time.Since(begin)
	}
	b.ReportMetric(float64(took.Nanoseconds())/ends, "ns/end")
	b.ReportMetric(started.Seconds(), "s/start")
	b.ReportMetric(float64(store-before)/float64(len(pods)), "B/pod-in-store")
	b.ReportMetric(float64(core)/float64(nodes+held), "B/pod-in-core")
	runtime.KeepAlive(pods)
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// newTest is an engine without an API server.
func newTest(t testing.TB, s *settings) *Engine {
	now := time.Now()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	e := &Engine{
		settings: s, known: map[string]*known{}, wake: make(chan struct{}, 1), jobs: batchlisters.NewJobLister(indexer), clock: clock{epoch: now.Add(-lookBack), began: now, offset: unit.Time(lookBack.Microseconds())},
		cfg: Config{Managed: func(p *corev1.Pod) bool { return len(p.Spec.SchedulingGates) > 0 }, Held: func(p *corev1.Pod) bool { return true }},
	}
	for job := range 1000 {
		if err := indexer.Add(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprint("team-", job%20), Name: fmt.Sprint("job-", job), UID: types.UID(fmt.Sprint("uid-", job))}}); err != nil {
			t.Fatal(err)
		}
	}
	e.metrics = newMetrics(e)
	core, err := live.New(s.fresh, live.Config{Window: s.window, Now: e.clock.now})
	if err != nil {
		t.Fatal(err)
	}
	e.Core = core
	return e
}
