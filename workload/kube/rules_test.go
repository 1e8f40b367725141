package kube

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/unit"
)

func rules(t *testing.T, pairs ...string) *Rules {
	t.Helper()
	settings := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		settings[pairs[i]] = pairs[i+1]
	}
	r, err := NewRules(settings, "policy")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func pod(t *testing.T, text string) *Pod {
	t.Helper()
	p := &Pod{}
	if err := json.Unmarshal([]byte(text), p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSettingsSayWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"queue", "labels", `setting queue: "labels" is neither namespace nor label`},
		{"priority", "true", `setting priority: "true" is neither yes nor no`},
		{"qeue", "label", `setting qeue: there is no such setting; did you mean "queue"?`},
		{"polcy", "fifo", `setting polcy: there is no such setting; did you mean "policy"?`},
		{"queues.", "a", "setting queues.: there is no such setting"},
		{"queues.x", "a,,b", `setting queues.x: "a,,b" is not a list of names: write a,b,c`},
		{"users.x", "a\x1b[31m", "is not a list of names"},
		{"gpu", "ephemeral-storage", `setting gpu: "ephemeral-storage" is not an extended resource, as nvidia.com/gpu is`},
		{"gpu", "example.com/FPGA", "cannot name a resource"},
		{"gpu", "a.b/c,a.b/d,a.b/e,a.b/f,a.b/g", "5 resources; at most 4 are counted"},
		{"gpu", "requests.kubernetes.io/x", "is not an extended resource"},
		{strings.Repeat("x", 1<<20), "", "there is no such setting"},
	} {
		r, err := NewRules(map[string]string{c.key: c.value, "policy": "fifo"}, "policy")
		if r != nil || err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 2000 {
			t.Errorf("%.30s: %.30q: %v, want %s", c.key, c.value, err, c.want)
		}
	}
}

func TestJobs(t *testing.T) {
	for _, c := range []struct {
		name, meta string
		want       Identity
	}{
		{"a pod alone", `"name": "p", "uid": "1"`, Identity{Key: "team/pod/1", Name: "team/p"}},
		{"a Job", `"name": "p", "uid": "1", "labels": {"yardmaster.io/stage": "map", "yardmaster.io/class": "etl"}, "ownerReferences": [{"kind": "ConfigMap", "name": "c", "uid": "8"}, {"kind": "Job", "name": "j", "uid": "9", "controller": true}]`,
			Identity{Key: "team/9", Name: "team/j", Owner: Owner{"Job", "j", "9", true}, Stage: "map", Class: "etl"}},
		{"a JobSet", `"uid": "1", "labels": {"jobset.sigs.k8s.io/jobset-uid": "7", "jobset.sigs.k8s.io/jobset-name": "s", "jobset.sigs.k8s.io/replicatedjob-name": "workers"}, "ownerReferences": [{"kind": "Job", "uid": "9", "controller": true}]`,
			Identity{Key: "team/7", Name: "team/s", Owner: Owner{"JobSet", "s", "7", true}, Stage: "workers"}},
		{"Spark", `"uid": "1", "labels": {"spark-app-selector": "spark-1", "spark-app-name": "report", "spark-role": "executor"}, "ownerReferences": [{"kind": "Pod", "uid": "9", "controller": true}]`,
			Identity{Key: "team/spark/spark-1", Name: "team/report", Stage: "executor"}},
		{"a label", `"uid": "1", "labels": {"yardmaster.io/job": "x"}`, Identity{Key: "team/label/x", Name: "team/x"}},
		{"another's UID as a label", `"uid": "1", "labels": {"yardmaster.io/job": "../other/9"}`, Identity{Key: "team/label/../other/9", Name: "team/../other/9"}},
		{"a gang", `"name": "p", "uid": "1", "labels": {"yardmaster.io/gang": "4"}`, Identity{Key: "team/pod/1", Name: "team/p", Gang: 4}},
		{"too large a gang", `"name": "p", "uid": "1", "labels": {"yardmaster.io/gang": "9223372036854775807"}, "annotations": {"yardmaster.io/deadline": "x"}`,
			Identity{Key: "team/pod/1", Name: "team/p", Ignored: `yardmaster.io/gang: "9223372036854775807" is not a number from 1 to 1048576`}},
		{"a deadline", `"name": "p", "uid": "1", "annotations": {"yardmaster.io/deadline": "2026-11-01T06:00:00Z"}`,
			Identity{Key: "team/pod/1", Name: "team/p", Deadline: time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC)}},
		{"a deadline after creation", `"name": "p", "uid": "1", "annotations": {"yardmaster.io/deadline": "2h"}`, Identity{Key: "team/pod/1", Name: "team/p", Within: 2 * unit.Hour}},
		{"of two units", `"name": "p", "uid": "1", "annotations": {"yardmaster.io/deadline": "1h30m"}`, Identity{Key: "team/pod/1", Name: "team/p", Within: 90 * unit.Minute}},
		{"a deadline in a far future", `"name": "p", "uid": "1", "annotations": {"yardmaster.io/deadline": "9999-01-01T00:00:00Z"}`,
			Identity{Key: "team/pod/1", Name: "team/p", Ignored: `yardmaster.io/deadline: "9999-01-01T00:00:00Z" is not a time, as 2026-11-01T06:00:00Z, nor a time after the job's creation, as 2h`}},
	} {
		p := pod(t, `{"metadata": {"namespace": "team", `+c.meta+`}, "spec": {"priority": 1000}}`)
		c.want.Queue, c.want.User = "team", "team"
		if d := cmp.Diff(c.want, rules(t).Job(p)); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

// What a tenant writes chooses among what the settings give his namespace.
func TestQueuesAndUsers(t *testing.T) {
	ns := func(queue, user string, pairs ...string) string {
		p := &Pod{Meta: Meta{Namespace: "team", Labels: map[string]string{"yardmaster.io/queue": queue, "yardmaster.io/user": user}}, Spec: PodSpec{Priority: 7}}
		id := rules(t, pairs...).Job(p)
		return id.Queue + " " + id.User + strings.Repeat("!", id.Priority)
	}
	for _, c := range []struct {
		queue, user string
		settings    []string
		want        string
	}{
		{"prod", "root", nil, "team team"},
		{"prod", "root", []string{"queue", "label", "user", "label"}, "team team"},
		{"prod", "ann", []string{"queue", "label", "user", "label", "queues.team", "etl, adhoc", "users.team", "*"}, "etl ann"},
		{"adhoc", "*", []string{"queue", "label", "user", "label", "queues.team", "etl, adhoc", "users.team", "*"}, "adhoc team"},
		{"adhoc", "", []string{"queues.team", "etl,adhoc", "queues", "rest"}, "etl team"},
		{"prod", "", []string{"queue", "label", "queues.other", "prod", "queues", "rest"}, "rest team"},
		{"", "", []string{"priority", "yes"}, "team team!!!!!!!"},
		{"pr\u202eod\n", "", []string{"queue", "label", "queues.team", "*"}, "pr?od? team"},
	} {
		if got := ns(c.queue, c.user, c.settings...); got != c.want {
			t.Errorf("%q %q under %q: %q, want %q", c.queue, c.user, c.settings, got, c.want)
		}
	}
}

// As kube-scheduler counts: https://kubernetes.io/docs/concepts/workloads/pods/init-containers/#resource-sharing-within-containers
func TestSizes(t *testing.T) {
	r := rules(t, "gpu", "nvidia.com/gpu")
	with := func(cores, mem, gpu int64) unit.Resources {
		return unit.Resources{Cores: cores, Mem: mem, Extra: unit.Named("pods", 1)}.Add(unit.Resources{Extra: unit.Named("nvidia.com/gpu", gpu)})
	}
	one := func(list string) string { return `{"resources": {"requests": {` + list + `}}}` }
	for _, c := range []struct {
		name, spec string
		want       unit.Resources
	}{
		{"no requests", `"containers": [{}]`, with(0, 0, 0)},
		{"rounded up", `"containers": [` + one(`"cpu": "0.1", "memory": "1048577", "nvidia.com/gpu": "2"`) + `]`, with(100, 2, 2)},
		{"containers add up", `"containers": [` + one(`"cpu": "1", "memory": "1Gi"`) + `, ` + one(`"cpu": "250m", "memory": "128974848"`) + `]`, with(1250, 1147, 0)},
		{"the largest init container", `"containers": [` + one(`"cpu": "1", "memory": "1Gi"`) + `], "initContainers": [` + one(`"cpu": "3"`) + `, ` + one(`"memory": "100M"`) + `]`, with(3000, 1024, 0)},
		{"a sidecar", `"containers": [` + one(`"cpu": "1"`) + `], "initContainers": [{"restartPolicy": "Always", "resources": {"requests": {"cpu": "500m"}}}, ` + one(`"cpu": "2"`) + `]`, with(2500, 0, 0)},
		{"the pod's own and overhead", `"containers": [` + one(`"cpu": "1", "memory": "1Gi"`) + `], "resources": {"requests": {"cpu": "4"}}, "overhead": {"cpu": "10m", "memory": "1Mi"}`, with(4010, 1025, 0)},
		{"too much", `"containers": [` + one(`"cpu": "9E", "memory": "1e999"`) + `, ` + one(`"cpu": "9E", "memory": "16Ei", "nvidia.com/gpu": "9223372036854775807"`) + `]`, with(1<<31, 1<<31, 1<<31)},
		{"no quantities", `"containers": [` + one(`"cpu": "-3", "memory": "x", "nvidia.com/gpu": ""`) + `, ` + one(`"cpu": "NaN", "memory": "1Zi"`) + `]`, with(0, 0, 0)},
	} {
		if got := r.Size(pod(t, `{"spec": {`+c.spec+`}}`)); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if got := r.Room(map[string]string{"cpu": "3920m", "memory": "3977720Ki", "pods": "110"}); got.String() != "3884 MiB, 3.92 CPU, 110 pods" {
		t.Error(got)
	}
}

func TestShapes(t *testing.T) {
	at := func(ns, spec string) string {
		return pod(t, `{"metadata": {"namespace": "`+ns+`"}, "spec": {`+spec+`}}`).Shape()
	}
	base := at("a", `"nodeSelector": {"x": "1", "y": "2"}, "volumes": [{"name": "token-1", "projected": {}}]`)
	if same := at("a", `"priority": 3, "nodeName": "n", "nodeSelector": {"y": "2", "x": "1"}, "volumes": [{"name": "token-2", "secret": {}}]`); same != base {
		t.Errorf("%s and %s", same, base)
	}
	seen := map[string]string{base: "base"}
	for _, spec := range []string{
		"", `"affinity": {}`, `"tolerations": [{}]`, `"topologySpreadConstraints": []`, `"volumes": [{"persistentVolumeClaim": {"claimName": "c"}}]`,
		`"volumes": [{"ephemeral": {}}]`, `"containers": [{"ports": [{"hostPort": 80}]}]`, `"containers": [{"resources": {"requests": {"ephemeral-storage": "1"}}}]`, `"schedulerName": "s"`,
	} {
		for _, ns := range []string{"a", "b"} {
			s := at(ns, spec)
			if other, there := seen[s]; there {
				t.Errorf("%s in %s has the shape of %s", spec, ns, other)
			}
			seen[s] = spec
		}
	}
}

func FuzzAmount(f *testing.F) {
	for _, s := range []string{"", "1", "1e3", "1E", "12Ki", "0.5", "-1m", ".", "..", "0x1p4", "1_0", "9999999999999999999999Ei", "Inf", "1e-400m"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		up, down := amount(s, 1000, 1), floor(s, 1000, 1)
		if down < 0 || up < down || up-down > 1 || up > maxAmount {
			t.Errorf("%q: %d and %d", s, up, down)
		}
	})
}
