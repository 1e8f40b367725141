package kube

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/jobfile"
)

func TestLimitIsThatOfFiles(t *testing.T) {
	if maxListed != jobfile.MaxListed {
		t.Errorf("%d and %d", maxListed, jobfile.MaxListed)
	}
}

// read reads a list of these objects, and checks what every history must keep to.
func read(t testing.TB, objects ...string) (*History, workload.Slice, string) {
	t.Helper()
	h := NewHistory(&Rules{})
	if _, err := h.Read(strings.NewReader(`{"kind": "List", "apiVersion": "v1", "items": [` + strings.Join(objects, ",\n") + `], "metadata": {}}`)); err != nil {
		t.Fatal(err)
	}
	all, _ := h.Jobs(true)
	check(t, h, all)
	jobs, notes := h.Jobs(false)
	check(t, h, jobs)
	return h, jobs, fmt.Sprint(notes)
}

func check(t testing.TB, h *History, jobs workload.Slice) {
	t.Helper()
	for i, j := range jobs {
		if err := j.Validate(); err != nil {
			t.Error(err)
		}
		if i > 0 && j.Submit < jobs[i-1].Submit || i == 0 && j.Submit != 0 {
			t.Errorf("%s is submitted at %v", j.ID, j.Submit)
		}
		if o := j.Observed; o != nil && (o.Launch < j.Submit || o.Finish < o.Launch) {
			t.Errorf("%s is submitted at %v, launched at %v, finished at %v", j.ID, j.Submit, o.Launch, o.Finish)
		}
	}
	if c, _ := h.Cluster(); c != nil {
		if err := c.Validate(); err != nil && !strings.Contains(err.Error(), "two nodes") {
			t.Error(err)
		}
	}
}

// a pod of a Job that ended.
func ended(uid, job, created, start, end string, more ...string) string {
	return fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "ns", "name": "%s", "uid": "%s", "creationTimestamp": "%s",
		"ownerReferences": [{"kind": "Job", "name": "%s", "uid": "%s", "controller": true}]}, "spec": {"containers": [{"resources": {"requests": {"cpu": "1"}}}]},
		"status": {"phase": "Succeeded", "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": "%s"}],
		"containerStatuses": [{"state": {"terminated": {"startedAt": "%s", "finishedAt": "%s"}}}]%s}}`, uid, uid, created, job, job, start, start, end, strings.Join(more, ""))
}

func at(second int) string {
	return time.Date(2026, 11, 1, 0, 0, second, 0, time.UTC).Format(time.RFC3339)
}

func batchJob(uid, status string) string {
	return fmt.Sprintf(`{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": "ns", "name": "%s", "uid": "%s", "creationTimestamp": "%s"},
		"spec": {"parallelism": 2, "template": {"spec": {"containers": [{"resources": {"requests": {"cpu": "2"}}}]}}}, "status": {"startTime": "%s", %s}}`, uid, uid, at(0), at(10), status)
}

func over(second int) string {
	return fmt.Sprintf(`"conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": "%s"}]`, at(second))
}

func TestHistories(t *testing.T) {
	const running = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "ns", "name": "a", "uid": "a", "creationTimestamp": "2026-11-01T00:00:00Z",
		"ownerReferences": [{"kind": "Job", "name": "j", "uid": "j", "controller": true}]}, "status": {"phase": "Running"}}`
	for _, c := range []struct {
		name    string
		objects []string
		want    string // of each job: its id, tasks and first length
		note    string
	}{
		{"pods of a job", []string{ended("a", "j", at(0), at(5), at(7)), ended("b", "j", at(0), at(6), at(9))}, "ns/j 2 2 s", "2 pods of 1 job; a job's first pod had its node after 5 s"},
		{"seen again", []string{ended("a", "j", at(0), at(5), at(7)), ended("a", "j", at(0), at(5), at(7))}, "ns/j 1 2 s", "read more than once"},
		{"running at first", []string{running, ended("a", "j", at(0), at(5), at(7)), running}, "ns/j 1 2 s", "read more than once"},
		{"still running", []string{running}, "", "have not ended"},
		{"a clock behind", []string{ended("a", "j", at(9), at(5), at(3))}, "ns/j 1 0 s", "ended before they started"},
		{"a clock far ahead", []string{ended("a", "j", at(0), at(5), "2199-01-01T00:00:00Z")}, "ns/j 1 3650 d", "more than ten years"},
		{"no time that can be", []string{ended("a", "j", "0001-01-01T00:00:00Z", at(5), at(7)), ended("b", "k", at(0), "1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z")}, "", "without having run"},
		{"a time that is none", []string{ended("a", "j", "yesterday", at(5), at(7))}, "", "cannot be read"},
		{"two that are named alike", []string{ended("a", "j", at(0), at(5), at(7)), strings.Replace(ended("b", "j", at(1), at(5), at(8)), `"uid": "j"`, `"uid": "k"`, 1)}, "ns/j 1 2 s, ns/j#2 1 3 s", ""},
		{"a pod that is gone", []string{ended("a", "j", at(0), at(5), at(7)), batchJob("j", `"succeeded": 2, `+over(9))}, "ns/j 2 2 s", "no longer there: their lengths"},
		{"all pods gone", []string{batchJob("j", `"succeeded": 3, "failed": 1, `+over(30))}, "ns/j 4 10 s", "without a pod"},
		{"more than there can be", []string{batchJob("j", `"succeeded": 9223372036854775807, "failed": 9223372036854775807, `+over(30))}, "ns/j 4294967296 0 s", "without a pod"},
		{"fewer than none", []string{ended("a", "j", at(0), at(5), at(7)), batchJob("j", `"succeeded": -5, `+over(30))}, "ns/j 1 2 s", ""},
		{"a number that is none", []string{batchJob("j", `"succeeded": 1e30, `+over(30))}, "", "cannot be read"},
		{"a Job that runs", []string{ended("a", "j", at(0), at(5), at(7)), batchJob("j", `"succeeded": 1`)}, "", "have not ended"},
		{"a Job that was suspended for ever", []string{batchJob("j", over(30))}, "", "without saying when they ran"},
		{"other kinds", []string{`{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "spec": {"parallelism": "x"}}`, `{"kind": "Secret", "data": {}}`, `{}`, "null"}, "", ""},
	} {
		_, jobs, notes := read(t, c.objects...)
		var got []string
		for _, j := range jobs {
			got = append(got, fmt.Sprintf("%s %d %v", j.ID, j.Tasks(), j.Stages[0].Length.Draw(0, 1)))
		}
		if s := strings.Join(got, ", "); s != c.want || !strings.Contains(notes, c.note) {
			t.Errorf("%s: %s, want %s: %s", c.name, s, c.want, notes)
		}
	}
}

// Nodes that take no pods of users are no room for them.
func TestNodes(t *testing.T) {
	node := func(name, spec, ready string) string {
		return fmt.Sprintf(`{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "%s"}, "spec": {%s},
			"status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}, "conditions": [{"type": "Ready", "status": "%s"}]}}`, name, spec, ready)
	}
	taint := func(key, effect string) string {
		return fmt.Sprintf(`"taints": [{"key": "%s", "effect": "%s"}]`, key, effect)
	}
	h, _, _ := read(t, node("a", "", "True"), node("cordoned", `"unschedulable": true`, "True"), node("down", "", "Unknown"), node("gpu", taint("nvidia.com/gpu", "NoSchedule"), "True"),
		node("leader", taint("node-role.kubernetes.io/control-plane", "NoSchedule"), "True"), node("tolerant", taint("node-role.kubernetes.io/control-plane", "PreferNoSchedule"), "True"))
	c, away := h.Cluster()
	var names []string
	for i := range c.Nodes {
		names = append(names, c.Nodes[i].Name)
	}
	if want := []string{"a", "gpu", "tolerant"}; !slices.Equal(names, want) || away != 3 {
		t.Errorf("%v, and %d away, want %v", names, away, want)
	}
}

// A Job runs no more pods at a time than it did.
func TestParallelism(t *testing.T) {
	all := []string{batchJob("j", `"succeeded": 5, `+over(30))}
	for i, end := range []int{3, 8, 5, 6, 7} { // two at a time
		all = append(all, ended(fmt.Sprint("p", i), "j", at(i), at([]int{2, 2, 3, 5, 6}[i]), at(end)))
	}
	_, jobs, notes := read(t, all...)
	if len(jobs) != 1 || len(jobs[0].Stages) != 5 || !strings.Contains(notes, "a stage for each pod") {
		t.Fatal(jobs, notes)
	}
	for i, want := range []string{"1 s []", "6 s []", "2 s [{0 0 B 1}]", "1 s [{2 0 B 1}]", "1 s [{3 0 B 1}]"} {
		if got := fmt.Sprint(jobs[0].Stages[i].Length.A, jobs[0].Stages[i].After); got != want {
			t.Errorf("pod %d: %s, want %s", i, got, want)
		}
	}
	if _, jobs, notes := read(t, batchJob("j", fmt.Sprintf(`"succeeded": %d, %s`, workload.MaxStages+1, over(3000)))); len(jobs[0].Stages) != 1 || !strings.Contains(notes, "they ask for all at once") {
		t.Error(jobs[0].Stages, notes)
	}
}

// Pods of ever other sizes make no more stages than a job can have.
func TestManyKinds(t *testing.T) {
	var all []string
	for i := range workload.MaxStages + 5 {
		all = append(all, strings.Replace(ended(fmt.Sprint("p", i), "j", at(0), at(5), at(7)), `"cpu": "1"`, fmt.Sprintf(`"cpu": "%dm"`, i+1), 1))
	}
	if _, jobs, notes := read(t, all...); len(jobs) != 1 || jobs[0].Tasks() != workload.MaxStages+5 || !strings.Contains(notes, "kinds of a job's pods") {
		t.Error(len(jobs), notes)
	}
}

func TestFilesSayWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "at byte 0: unexpected EOF; it should be what kubectl get jobs,pods,nodes -A -o json writes"},
		{"apiVersion: v1", "invalid character 'a'"},
		{`{"kind": "Pod", "metadata": {}}`, `"Pod" has no items`},
		{`{"kind": "List", "items": {}}`, "{ where [ should be"},
		{`{"kind": "List", "items": [{}, {"metadata": `, "unexpected EOF"},
		{`[]`, "[ where { should be"},
		{`{"items": ["` + strings.Repeat("x", 2*maxObject) + `"]}`, "an object of more than 8 MiB"},
		{`{"items": [` + strings.Repeat("[", 20000), "exceeded max depth"},
	} {
		if _, err := NewHistory(&Rules{}).Read(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 300 {
			t.Errorf("%.40s: %.300v, want %s", c.text, err, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"kind": "PodList", "apiVersion": "v1", "items": [` + ended("a", "j", at(0), at(5), at(7)) + `]}`))
	f.Add([]byte(`{"items": [` + ended("a", "j", at(9), at(5), at(7)) + `,` + batchJob("j", `"succeeded": 7, `+over(3)) + `,{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"},
		"status": {"allocatable": {"cpu": "1", "memory": "1Gi", "a/b": "1"}, "conditions": [{"type": "Ready", "status": "True"}]}}]}{"items":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		h := NewHistory(&Rules{})
		_, _ = h.Read(strings.NewReader(string(data)))
		for _, running := range []bool{false, true} {
			jobs, _ := h.Jobs(running)
			check(t, h, jobs)
		}
	})
}

func TestServer(t *testing.T) {
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ url, token, ca, want string }{
		{"cluster", "", "", "is no web address"}, {"https://u:p@host", "", "", "is no web address without a password"}, {"http://host", token, "", "over https only"},
		{"https://host", dir, "", "read the token"}, {"https://host", "", token, "holds no certificate"},
	} {
		if _, err := NewServer(c.url, c.token, c.ca); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.url, err, c.want)
		}
	}
	status, text := http.StatusOK, ""
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}))
	defer web.Close()
	s, err := NewServer(web.URL, "", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		status     int
		text, want string
	}{
		{http.StatusForbidden, "", "refuses access; with kubectl proxy"}, {http.StatusGone, "", "try again"}, {http.StatusFound, "", "302 Found"},
		{http.StatusInternalServerError, "\x1b[2J" + strings.Repeat("x", 1000), "500 Internal Server Error: ?[2Jxxx"}, {http.StatusOK, "<html>", "it should be what"},
	} {
		status, text = c.status, c.text
		if err := NewHistory(&Rules{}).Fetch(t.Context(), s, func(int) {}); err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 500 {
			t.Errorf("%d: %v, want %s", c.status, err, c.want)
		}
	}
}

// A server that stops in the middle of a page does not hold the import for ever.
func TestStoppedServer(t *testing.T) {
	hold := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"kind": "PodList", "items": [`))
		_ = http.NewResponseController(w).Flush()
		<-hold
	}))
	defer web.Close()
	defer close(hold)
	s, err := NewServer(web.URL, "", "")
	if err != nil {
		t.Fatal(err)
	}
	s.wait = 50 * time.Millisecond
	err = NewHistory(&Rules{}).Fetch(t.Context(), s, func(int) {})
	if err == nil || !strings.HasSuffix(err.Error(), "/apis/batch/v1/jobs: the answer stopped for more than 50ms: try again") {
		t.Error(err)
	}
}

// As documented: https://prometheus.io/docs/prometheus/latest/querying/api/#instant-queries
func TestMetrics(t *testing.T) {
	answers := map[string]string{} // by metric
	series := func(metric, value string, labels ...string) {
		m := map[string]string{"__name__": metric, "namespace": "etl", "pod": "p", "uid": "u1"}
		for i := 0; i < len(labels); i += 2 {
			m[labels[i]] = labels[i+1]
		}
		text, _ := json.Marshal(m)
		answers[metric] += fmt.Sprintf(`,{"metric": %s, "value": [1762000000.5, "%s"]}`, text, value)
	}
	series("kube_pod_created", "1761990000")
	series("kube_pod_restart_policy", "1", "type", "Never")
	series("kube_pod_labels", "1", "label_yardmaster_io_class", "small", "label_app", "x")
	series("kube_pod_owner", "1", "owner_kind", "Job", "owner_name", "nightly", "owner_is_controller", "true")
	series("kube_pod_container_resource_requests", "0.5", "container", "c", "resource", "cpu", "unit", "core")
	series("kube_pod_container_resource_requests", "1073741824", "container", "c", "resource", "memory", "unit", "byte")
	series("kube_pod_container_resource_requests", "2", "container", "d", "resource", "nvidia_com_gpu", "unit", "integer")
	series("kube_pod_status_scheduled_time", "1761990003")
	series("kube_pod_status_phase", "1", "phase", "Succeeded")
	series("kube_pod_status_phase", "0", "phase", "Failed")
	series("kube_pod_container_state_started", "1761990005", "container", "c")
	series("kube_pod_container_state_started", "1761990006", "container", "d")
	series("kube_pod_completion_time", "1761990065")
	series("kube_pod_created", "1761990000", "uid", "service")
	series("kube_pod_restart_policy", "1", "type", "Always", "uid", "service")
	series("kube_pod_info", "1", "node", "n1", "uid", "service")
	series("kube_pod_container_resource_requests", "1", "container", "c", "resource", "cpu", "uid", "service")
	for resource, value := range map[string]string{"cpu": "4", "memory": "1.7179869184e+10", "pods": "110", "nvidia_com_gpu": "8", "ephemeral_storage": "1e11"} {
		series("kube_node_status_allocatable", value, "node", "n1", "resource", resource)
	}
	series("kube_node_status_condition", "1", "node", "n1", "condition", "Ready", "status", "true")
	windows := map[string]bool{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		expr := r.FormValue("query")
		windows[r.FormValue("time")] = true
		metric := strings.TrimPrefix(expr, "last_over_time(")
		metric = metric[:strings.IndexAny(metric+"{", "{[)")]
		fmt.Fprintf(w, `{"status": "success", "data": {"resultType": "vector", "result": [%s]}}`, strings.TrimPrefix(answers[metric], ","))
	}))
	defer web.Close()
	s, err := NewServer(web.URL, "", "")
	if err != nil {
		t.Fatal(err)
	}
	h := NewHistory(rules(t, "gpu", "nvidia.com/gpu"))
	if err := h.Metrics(t.Context(), s, time.Unix(1761980000, 0), time.Unix(1762000000, 0), 2*time.Hour, func(int) {}); err != nil {
		t.Fatal(err)
	}
	jobs, notes := h.Jobs(false)
	check(t, h, jobs)
	if len(jobs) != 1 || len(windows) != 3 {
		t.Fatalf("%d jobs, windows to %v: %v", len(jobs), windows, notes)
	}
	j := jobs[0]
	ask := unit.Resources{Mem: 1024, Cores: 500, Extra: unit.Named("pods", 1)}.Add(unit.Resources{Extra: unit.Named("nvidia.com/gpu", 2)})
	if j.ID != "etl/nightly" || j.Class != "small" || j.Stages[0].Ask != ask || j.Stages[0].Length.Values[0] != unit.Minute || j.Observed.Launch != 3*unit.Second || j.Observed.Finish != 65*unit.Second {
		t.Errorf("%+v, %+v, %+v", j, j.Stages[0], j.Observed)
	}
	if c, _ := h.Cluster(); c == nil || c.String() != "1 node in 1 rack, 16 GiB and 3 CPU, 8 nvidia.com/gpu, 109 pods" {
		t.Error(c)
	}
	answers = nil
	if err := NewHistory(&Rules{}).Metrics(t.Context(), s, time.Unix(1761980000, 0), time.Unix(1762000000, 0), time.Hour, func(int) {}); err == nil || !strings.Contains(err.Error(), "there are no pods of kube-state-metrics") {
		t.Error(err)
	}
}
