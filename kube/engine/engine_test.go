package engine

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/live"
	"github.com/yardmaster/yardmaster/unit"
)

const capacity = `<configuration>
<property><name>yarn.scheduler.capacity.root.queues</name><value>a</value></property>
<property><name>yarn.scheduler.capacity.root.a.capacity</name><value>100</value></property>
</configuration>`

func TestSettings(t *testing.T) {
	for _, c := range []struct {
		want string // of the error; empty: accepted
		data map[string]string
	}{
		{"", map[string]string{"policy": "fair:by=user"}},
		{"", map[string]string{"policy": " fbq ", "window": "64", "autoscale": "3", "gpu": "nvidia.com/gpu", "taints": "spot, batch", "queue": "label", "queues.etl": "etl,adhoc"}},
		{"", map[string]string{"policy": "capacity-scheduler.xml", "capacity-scheduler.xml": capacity, "old.xml": "<"}},
		{"", map[string]string{"policy": "queues", "queues": capacity}},
		{"policy is missing", map[string]string{"queue": "label"}},
		{"policy is missing", nil},
		{"did you mean fair?", map[string]string{"policy": "fiar"}},
		{"no key capacity-scheduler.xml", map[string]string{"policy": "capacity-scheduler.xml"}},
		{"no key /etc/hadoop/capacity-scheduler.xml", map[string]string{"policy": "/etc/hadoop/capacity-scheduler.xml"}},
		{"capacity.xml:1", map[string]string{"policy": "capacity.xml", "capacity.xml": "<"}},
		{"only the ConfigMap is read", map[string]string{"policy": "hybrid:model=/etc/passwd"}},
		{"every offer must name one", map[string]string{"policy": "sita"}},
		{"preempts", map[string]string{"policy": "fbq:reduces=release"}},
		{"no parameter buy", map[string]string{"policy": "fair:buy=user"}},
		{"setting window", map[string]string{"policy": "fifo", "window": "0"}},
		{"setting autoscale", map[string]string{"policy": "fifo", "autoscale": "many"}},
		{"setting quue", map[string]string{"policy": "fifo", "quue": "label"}},
		{"at most 262144 are read", map[string]string{"policy": "fifo", "a.xml": strings.Repeat("x", 1<<18)}},
	} {
		_, err := parse(c.data)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%.200v: %v, want %q", c.data, err, c.want)
		}
	}
}

// What a fair policy without parameters counts are also pods without requests.
func TestFairCountsPods(t *testing.T) {
	for _, text := range []string{"fair", "fair:", "fair:by=user"} {
		s, err := parse(map[string]string{"policy": text})
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.fresh()
		if err != nil {
			t.Fatal(err)
		}
		all := unit.Resources{Mem: 100, Cores: 100, Extra: unit.Named("pods", 10)}
		p.Order.Resized(0, policy.Cluster{Total: all, Max: all, Nodes: 1})
		jobs := []*policy.Job{{ID: "first", User: "a"}, {ID: "second", User: "b", Seq: 1, Index: 1}}
		size := unit.Resources{Extra: unit.Named("pods", 1)}
		for _, j := range jobs {
			j.Ask, j.Stages = size, []policy.Stage{{Ask: size}}
			if err := p.Order.Arrived(0, j); err != nil {
				t.Fatal(err)
			}
			j.Want(0, 2)
			p.Order.Changed(0, j)
		}
		jobs[0].Hold(0, size)
		jobs[0].Want(0, -1)
		p.Order.Started(&policy.Event{Job: jobs[0], Size: size})
		p.Order.Ranked(&policy.Offer{}, func(j *policy.Job) policy.Verdict {
			if j != jobs[1] {
				t.Errorf("%s: %s is next", text, j.ID)
			}
			return policy.Enough
		})
	}
}

func TestSameRules(t *testing.T) {
	base := map[string]string{"policy": "fifo", "queue": "label", "queues": "a,b"}
	for _, c := range []struct {
		key, value string
		same       bool
	}{{"policy", "fair", true}, {"autoscale", "2", true}, {"a.xml", "<", true}, {"queues", "a", false}, {"window", "8", false}, {"gpu", "a.org/b", false}, {"taints", "a", false}} {
		data := maps.Clone(base)
		data[c.key] = c.value
		a, errA := parse(base)
		b, errB := parse(data)
		if errA != nil || errB != nil || a.sameRules(b) != c.same || b.sameRules(a) != c.same {
			t.Errorf("%s=%s: same rules %v, %v, %v", c.key, c.value, !c.same, errA, errB)
		}
	}
}

// The state fits into a ConfigMap however many jobs there are, and those with most service are kept.
func TestStateIsBounded(t *testing.T) {
	s := state{Epoch: time.Unix(1e9, 0).UTC(), Settings: map[string]string{"policy": "fbq"}, Core: &live.Saved{Jobs: map[string]live.SavedJob{}, Policy: []byte(`{}`)}}
	random := rand.New(rand.NewPCG(1, 2))
	const n = 60_000
	for i := range n {
		s.Core.Jobs[fmt.Sprintf("namespace/%016x%016x", random.Uint64(), random.Uint64())] = live.SavedJob{Order: int64(i), Gone: unit.Time(random.Int64N(1e12))}
	}
	s.Core.Jobs["namespace/largest"] = live.SavedJob{Gone: 1e12}
	text, dropped, err := s.pack()
	if err != nil || len(text) > maxState || dropped == 0 || dropped > 3*n/4 {
		t.Fatalf("%d bytes, %d jobs dropped, %v", len(text), dropped, err)
	}
	var back state
	if err := back.unpack(text); err != nil {
		t.Fatal(err)
	}
	if len(back.Core.Jobs) != n+1-dropped || back.Core.Jobs["namespace/largest"].Gone != 1e12 || !back.Epoch.Equal(s.Epoch) || back.Settings["policy"] != "fbq" || string(back.Core.Policy) != `{}` {
		t.Errorf("%d jobs, %d dropped", len(back.Core.Jobs), dropped)
	}
	for _, bad := range []string{"", "x", string(text[:100])} {
		if err := new(state).unpack([]byte(bad)); err == nil {
			t.Errorf("%q is taken for a state", bad)
		}
	}
}

func TestClock(t *testing.T) {
	now := time.Now()
	c := clock{epoch: now.Add(-time.Hour), began: now, offset: unit.Time(time.Hour.Microseconds())}
	if a, b := c.at(now.Add(time.Hour)), c.now(); a > b {
		t.Errorf("%v is after now, %v", a, b)
	}
	if a := c.at(now.Add(-2 * time.Hour)); a != 0 {
		t.Errorf("before the epoch: %v", a)
	}
	if a := c.at(now.Add(-time.Minute)); a != 59*unit.Minute {
		t.Errorf("a minute ago: %v", a)
	}
	if a := c.near(now.Add(-time.Minute)); a != 59*unit.Minute+500*unit.Millisecond {
		t.Errorf("about a minute ago: %v", a)
	}
	if a, b := c.near(now), c.now(); a > b {
		t.Errorf("just now, %v, is after now, %v", a, b)
	}
	if a := c.until(now.Add(time.Minute)); a != 61*unit.Minute {
		t.Errorf("in a minute: %v", a)
	}
}

func TestEnded(t *testing.T) {
	at := func(s int) metav1.Time { return metav1.NewTime(time.Unix(int64(1e9+s), 0)) }
	status := func(from, to int) corev1.ContainerStatus {
		return corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: at(from), FinishedAt: at(to)}}}
	}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u"}, Status: corev1.PodStatus{
		Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{status(5, 20), status(3, 9)},
		Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: at(1)}},
	}}
	p.Spec.NodeName = "n"
	if _, err := Strip(p); err != nil {
		t.Fatal(err)
	}
	if id, why, worked := Ended(p); id != "u" || why != policy.Done || worked != 17*unit.Second || held(p) != 19*unit.Second {
		t.Errorf("%s %v %v %v", id, why, worked, held(p))
	}
	p.Status.Phase = corev1.PodFailed
	if _, why, _ := Ended(p); why != policy.Failed {
		t.Error(why)
	}
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue})
	if _, why, _ := Ended(p); why != policy.Taken {
		t.Error(why)
	}
	p.Status.ContainerStatuses = nil
	if _, _, worked := Ended(p); worked != 0 || held(p) != 0 {
		t.Error(worked, held(p))
	}
}

func TestRoom(t *testing.T) {
	s, err := parse(map[string]string{"policy": "fifo", "gpu": "nvidia.com/gpu", "taints": "spot"})
	if err != nil {
		t.Fatal(err)
	}
	e := &Engine{settings: s}
	taint := func(key string, effect corev1.TaintEffect) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: key, Effect: effect}} }
	}
	for name, c := range map[string]struct {
		change func(*corev1.Node)
		room   bool
	}{
		"ready":      {func(*corev1.Node) {}, true},
		"cordoned":   {func(n *corev1.Node) { n.Spec.Unschedulable = true }, false},
		"tainted":    {taint("dedicated", corev1.TaintEffectNoSchedule), false},
		"preferably": {taint("dedicated", corev1.TaintEffectPreferNoSchedule), true},
		"gpu":        {taint("nvidia.com/gpu", corev1.TaintEffectNoSchedule), true},
		"spot":       {taint("spot", corev1.TaintEffectNoExecute), true},
		"not ready":  {func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }, false},
		"leaving":    {func(n *corev1.Node) { n.DeletionTimestamp = new(metav1.Now()) }, false},
	} {
		n := &corev1.Node{Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110"), "nvidia.com/gpu": resource.MustParse("2")},
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		}}
		c.change(n)
		want := unit.Resources{}
		if c.room {
			want = unit.Resources{Mem: 8192, Cores: 4000, Extra: unit.Named("pods", 110)}.Add(unit.Resources{Extra: unit.Named("nvidia.com/gpu", 2)})
		}
		if got := e.room(n); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// An event about a job says nothing of other tenants' names.
func TestPublic(t *testing.T) {
	e := &Engine{known: map[string]*known{}}
	v := &live.View{Job: live.Job{Key: "etl/1", Queue: "etl", User: "ann"}, Held: 3, Reasons: []policy.Reason{
		{Limit: "maximum-capacity", Queue: "etl", Held: unit.Resources{Mem: 10, Cores: 500}, Max: unit.Resources{Mem: 20, Cores: 1000}, Size: unit.Resources{Mem: 11, Cores: 600, Extra: unit.Named("pods", 1)}},
		{Limit: policy.Reserved, Node: "node-of-others", Ahead: 1, Next: [3]string{"secret/1"}},
		{Queue: "secret", User: "bob", Ahead: 1200, Next: [3]string{"secret/2", "secret/3", "secret/4"}},
	}}
	text := e.public(v)
	if strings.Contains(text, "secret") || strings.Contains(text, "bob") || strings.Contains(text, "of-others") || !strings.Contains(text, "1,200 jobs come before it.") {
		t.Error(text)
	}
	if want := "Queue etl is at its maximum (maximum-capacity): it holds 10 MiB, 0.5 CPU of 20 MiB, 1 CPU, and its next pod asks for 11 MiB, 0.6 CPU."; !strings.HasPrefix(text, want) {
		t.Errorf("%s\nwant %s", text, want)
	}
}

// Jobs about which there is nothing new to say keep nobody from being told why he waits.
func TestStuckJobsSilenceNobody(t *testing.T) {
	e, recorder := newTest(t, understood(t, "policy", "fifo")), record.NewFakeRecorder(100)
	e.recorder = recorder
	add := func(job int) {
		e.SawPod(asCreated(t, job, job))
		e.explain(t.Context()) // from now on it waits
	}
	explain := func(tokens, events int) {
		t.Helper()
		e.budget = flowcontrol.NewTokenBucketRateLimiter(1e-6, tokens)
		if e.explain(t.Context()); len(recorder.Events) != events {
			t.Errorf("%d events, want %d", len(recorder.Events), events)
		}
		for len(recorder.Events) > 0 {
			<-recorder.Events
		}
	}
	if err := e.Core.Start(nil); err != nil {
		t.Fatal(err)
	}
	e.budget = newBudget()
	for job := range 5 {
		add(job)
	}
	explain(5, 5)
	for _, k := range e.known {
		k.said = k.said.Add(-time.Hour)
	}
	explain(1, 0)
	for key, k := range e.known {
		if time.Since(k.said) > time.Minute {
			t.Errorf("%s is looked at again at once", key)
		}
		k.said, k.text = k.said.Add(-time.Hour), ""
	}
	add(5)
	explain(1, 1)
	for _, k := range e.known {
		if k.name == "team-5/job-5" && k.text == "" {
			t.Error("others were told again before it was told once")
		}
	}
}

// Pods share memory if they are alike, but what is large goes with its pod.
func TestSharedIsBounded(t *testing.T) {
	pod := func(values int) *corev1.Pod {
		p := asCreated(t, 1, 1)
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "x", Operator: corev1.NodeSelectorOpIn, Values: slices.Repeat([]string{"value"}, values)}},
		}}}}}
		p.Status.Conditions[0].Message = strings.Repeat("message", values)
		o, err := Strip(p)
		if err != nil {
			t.Fatal(err)
		}
		return o.(*corev1.Pod)
	}
	if a, b := pod(100), pod(100); a.Spec.Affinity != b.Spec.Affinity {
		t.Error("small pods share nothing")
	}
	pods, texts := len(alike.pods.now), len(alike.strings.now)
	if a, b := pod(1000), pod(1000); a.Spec.Affinity == b.Spec.Affinity || len(alike.pods.now) != pods || len(alike.strings.now) != texts {
		t.Error("large pods are kept")
	}
}
