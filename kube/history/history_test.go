// Package history_test imports what a real cluster tells of its past.
package history_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/kube/lab"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/kube"
)

// history reads with these settings.
func history(t *testing.T, pairs ...string) *kube.History {
	t.Helper()
	settings := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		settings[pairs[i]] = pairs[i+1]
	}
	r, err := kube.NewRules(settings)
	if err != nil {
		t.Fatal(err)
	}
	return kube.NewHistory(r)
}

// cluster is a control plane on which jobs are run.
type cluster struct {
	*lab.Lab
	t *testing.T
}

func (c cluster) namespaces(names ...string) {
	c.t.Helper()
	for _, name := range names {
		if _, err := c.Client.CoreV1().Namespaces().Create(c.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			c.t.Fatal(err)
		}
	}
}

// job runs pods of like size at once.
func (c cluster) job(namespace, name string, pods int32, pod *corev1.Pod, change ...func(*batchv1.Job)) {
	c.t.Helper()
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batchv1.JobSpec{Parallelism: &pods, Completions: &pods, BackoffLimit: new(int32)}}
	j.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: pod.Annotations, Labels: pod.Labels}, Spec: pod.Spec}
	for _, f := range change {
		f(j)
	}
	lab.Eventually(c.t, time.Minute, name+" is created", func() bool { // a busy API server may not answer in time
		_, err := c.Client.BatchV1().Jobs(namespace).Create(c.t.Context(), j, metav1.CreateOptions{})
		return err == nil || apierrors.IsAlreadyExists(err)
	})
}

func (c cluster) pod(namespace string, p *corev1.Pod) {
	c.t.Helper()
	if _, err := c.Client.CoreV1().Pods(namespace).Create(c.t.Context(), p, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

// over waits until as many Jobs have ended.
func (c cluster) over(jobs int, within time.Duration) {
	c.t.Helper()
	lab.Eventually(c.t, within, fmt.Sprint(jobs, " Jobs are over"), func() bool {
		time.Sleep(300 * time.Millisecond)
		list, err := c.Client.BatchV1().Jobs("").List(c.t.Context(), metav1.ListOptions{})
		n := 0
		for i := range list.Items {
			for _, x := range list.Items[i].Status.Conditions {
				if x.Status == corev1.ConditionTrue && (x.Type == batchv1.JobComplete || x.Type == batchv1.JobFailed) {
					n++
				}
			}
		}
		return err == nil && n == jobs
	})
}

func start(t *testing.T) cluster {
	return cluster{lab.Start(t, lab.WithControllers("job-controller", "serviceaccount-controller"), lab.WithScheduler()), t}
}

func labelled(p *corev1.Pod, pairs ...string) *corev1.Pod {
	for i := 0; i < len(pairs); i += 2 {
		p.Labels[pairs[i]] = pairs[i+1]
	}
	return p
}

// What kubectl and the API server show is imported as what was run.
func TestImport(t *testing.T) {
	c := start(t)
	kubelet := &lab.Kubelet{}
	kubelet.Run(t, c.Lab)
	kubelet.Nodes(t, 2, "n", map[string]string{"topology.kubernetes.io/zone": "a", "node.kubernetes.io/instance-type": "big"}, "cpu", "8", "memory", "16Gi", "nvidia.com/gpu", "2")
	cordoned := kubelet.Nodes(t, 1, "cordoned", nil, "cpu", "8", "memory", "16Gi")[0]
	c.Kubectl(t, "cordon", cordoned)
	c.namespaces("etl", "research")

	c.job("etl", "plain", 3, lab.Pod("", "500m", "1Gi", 2*time.Second))
	c.job("etl", "cleaned", 4, lab.Pod("", "500m", "1Gi", 3*time.Second))
	c.job("etl", "narrow", 2, lab.Pod("", "500m", "1Gi", 2*time.Second), func(j *batchv1.Job) { j.Spec.Completions = new(int32(4)) })
	c.job("etl", "collected", 2, lab.Pod("", "500m", "1Gi", 2*time.Second))
	failing := lab.Pod("", "500m", "1Gi", time.Second)
	failing.Annotations[lab.Exit] = "1"
	c.job("research", "failing", 1, failing)
	c.job("research", "waits", 2, lab.Pod("", "6", "1Gi", 3*time.Second), func(j *batchv1.Job) {
		j.Spec.Template.Labels = map[string]string{"yardmaster.io/stage": "fit", "yardmaster.io/class": "model", "yardmaster.io/queue": "gpus", "yardmaster.io/gang": "2"}
		j.Spec.Template.Annotations["yardmaster.io/deadline"] = "2h"
	})
	c.job("research", "running", 1, lab.Pod("", "100m", "1Gi", 0))
	service := lab.Pod("service", "1", "1Gi", 0)
	service.Spec.RestartPolicy = corev1.RestartPolicyAlways
	c.pod("research", service)
	spark := []string{"spark-app-selector", "spark-1", "spark-app-name", "report", "spark-role"}
	c.pod("etl", labelled(lab.Pod("report-driver", "200m", "512Mi", 4*time.Second), append(spark, "driver")...))
	c.pod("etl", labelled(lab.Pod("report-exec-1", "300m", "512Mi", 3*time.Second), append(spark, "executor")...))
	c.over(6, time.Minute)
	lab.Eventually(t, 20*time.Second, "the Spark application is over", func() bool {
		p, err := c.Client.CoreV1().Pods("etl").Get(t.Context(), "report-driver", metav1.GetOptions{})
		return err == nil && p.Status.Phase == corev1.PodSucceeded
	})
	c.Kubectl(t, "delete", "pod", "-n", "etl", "-l", "job-name=collected")
	first := strings.TrimSpace(c.Kubectl(t, "get", "pods", "-n", "etl", "-l", "job-name=cleaned", "-o", "name"))
	c.Kubectl(t, "delete", "-n", "etl", strings.Fields(first)[0])

	settings := []string{"queue", "label", "queues.research", "models,gpus", "gpu", "nvidia.com/gpu"}
	files := history(t, settings...)
	if next, err := files.Read(strings.NewReader(c.Kubectl(t, "get", "jobs,pods,nodes", "-A", "-o", "json"))); err != nil || next != "" {
		t.Fatal(next, err)
	}
	jobs, notes := files.Jobs(false)
	for _, want := range []struct {
		id, queue, class string
		tasks, gang      int64
		ask              unit.Resources
		length           unit.Time
		outcome          string
	}{
		{"etl/plain", "etl", "", 3, 0, unit.Resources{Mem: 1024, Cores: 500}, 2 * unit.Second, ""},
		{"etl/cleaned", "etl", "", 4, 0, unit.Resources{Mem: 1024, Cores: 500}, 3 * unit.Second, ""},
		{"etl/collected", "etl", "", 2, 0, unit.Resources{Mem: 1024, Cores: 500}, 2 * unit.Second, ""},
		{"research/failing", "models", "", 1, 0, unit.Resources{Mem: 1024, Cores: 500}, unit.Second, "FAILED"},
		{"research/waits", "gpus", "model", 2, 2, unit.Resources{Mem: 1024, Cores: 6000}, 3 * unit.Second, ""},
		{"etl/report", "etl", "", 1, 0, unit.Resources{Mem: 512, Cores: 300}, 3 * unit.Second, ""},
	} {
		j := find(jobs, want.id)
		if j == nil {
			t.Errorf("%s is missing", want.id)
			continue
		}
		s := &j.Stages[0]
		want.ask.Extra = unit.Named(unit.Pods, 1)
		length := s.Length.Draw(0, 1)
		if len(j.Stages) != 1 || j.Queue != want.queue || j.Class != want.class || s.Tasks != want.tasks || s.Gang != want.gang || s.Ask != want.ask || j.Observed.Outcome != want.outcome {
			t.Errorf("%s: %+v, %+v", want.id, j, s)
		}
		longest := want.length + 2*unit.Second
		if want.id == "etl/collected" { // as long as the Job, whose pods may have waited
			longest = j.Observed.Finish - j.Observed.Launch + unit.Second
		}
		if length < want.length-unit.Second || length > longest {
			t.Errorf("%s: a pod ran for %v, not %v", want.id, length, want.length)
		}
		if lag := j.Observed.Finish - j.Observed.Launch - want.length; lag < -unit.Second || lag > 20*unit.Second {
			t.Errorf("%s ran for %v", want.id, lag+want.length)
		}
	}
	if j := find(jobs, "etl/report"); j != nil && j.AM.Cores != 200 {
		t.Errorf("the driver is %v", j.AM)
	}
	if j := find(jobs, "etl/narrow"); j == nil || len(j.Stages) != 4 || len(j.Stages[1].After) != 0 || len(j.Stages[2].After) != 1 {
		t.Errorf("of two at a time: %+v", j)
	}
	if j := find(jobs, "research/waits"); j != nil && j.Deadline != j.Submit+2*unit.Hour {
		t.Errorf("the deadline is %v", j.Deadline)
	}
	for _, want := range []string{"jobs that have not ended, left out (--running takes them)", "pods that are no longer there", "jobs without a pod", "pods that failed", "pods of services"} {
		if !strings.Contains(fmt.Sprint(notes), want) {
			t.Errorf("no note says: %s", want)
		}
	}
	if files.Started < 8 || files.StartUp > 2*unit.Second {
		t.Errorf("%d pods started after %v", files.Started, files.StartUp)
	}
	room, away := files.Cluster()
	if away != 1 || room.String() != "2 nodes in 1 rack, 31 GiB and 15 CPU, 4 nvidia.com/gpu, 219 pods" || room.Racks[0] != "a" || room.Nodes[0].Kind != "big" {
		t.Errorf("%v, %d away", room, away)
	}
	if all, _ := files.Jobs(true); len(all) != 8 || find(all, "research/running").Observed != nil {
		t.Errorf("%d jobs with those that run", len(all))
	}
	server := history(t, settings...)
	if err := server.Fetch(t.Context(), c.reader(), func(int) {}); err != nil {
		t.Fatal(err)
	}
	same, _ := server.Jobs(false)
	if d := cmp.Diff(jobs, same); d != "" {
		t.Error("from the API server:", d)
	}
}

// reader is a server as a service account sees it that may list what an import reads, and no more.
func (c cluster) reader() *kube.Server {
	c.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "importer", Namespace: "default"}}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "importer"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods", "nodes"}, Verbs: []string{"list"}}, {APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"list"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: account.Name, Namespace: account.Namespace}}}
	ctx, now := c.t.Context(), metav1.CreateOptions{}
	if _, err := c.Client.CoreV1().ServiceAccounts("default").Create(ctx, account, now); err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.Client.RbacV1().ClusterRoles().Create(ctx, role, now); err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.Client.RbacV1().ClusterRoleBindings().Create(ctx, binding, now); err != nil {
		c.t.Fatal(err)
	}
	access := c.ServiceAccount(c.t, "default", "importer")
	dir := c.t.TempDir()
	for name, text := range map[string][]byte{"token": []byte(access.BearerToken + "\n"), "ca.pem": access.CAData} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	s, err := kube.NewServer(access.Host, filepath.Join(dir, "token"), filepath.Join(dir, "ca.pem"))
	if err != nil {
		c.t.Fatal(err)
	}
	lab.Eventually(c.t, 10*time.Second, "the account may list", func() bool {
		return history(c.t).Fetch(ctx, s, func(int) {}) == nil
	})
	return s
}

func find(jobs workload.Slice, id string) *workload.Job {
	if i := slices.IndexFunc(jobs, func(j *workload.Job) bool { return j.ID == id }); i >= 0 {
		return jobs[i]
	}
	return nil
}
