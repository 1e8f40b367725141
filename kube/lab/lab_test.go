package lab_test

import (
	"os"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/yardmaster/yardmaster/kube/lab"
)

func TestMain(m *testing.M) {
	lab.Main(m, lab.WithControllers("job-controller", "serviceaccount-controller"), lab.WithScheduler(), lab.WithAudit())
}

func pods(t *testing.T, l *lab.Lab, namespace string) []corev1.Pod {
	t.Helper()
	list, err := l.Client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Log(err)
		return nil
	}
	return list.Items
}

func phases(pods []corev1.Pod) map[corev1.PodPhase]int {
	n := map[corev1.PodPhase]int{}
	for _, p := range pods {
		n[p.Status.Phase]++
	}
	return n
}

func TestPodsRunAndFinish(t *testing.T) {
	l := lab.Shared(t)
	namespace := l.Namespace(t)
	kubelet := &lab.Kubelet{}
	kubelet.Run(t, l)
	kubelet.Nodes(t, 2, "run", nil, "cpu", "2", "memory", "8Gi")

	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job"}, Spec: batchv1.JobSpec{Parallelism: new(int32(6)), Completions: new(int32(6))}}
	pod := lab.Pod("", "1", "1Gi", 300*time.Millisecond)
	job.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: pod.Annotations}, Spec: pod.Spec}
	if _, err := l.Client.BatchV1().Jobs(namespace).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	failing := lab.Pod("fails", "1", "1Gi", time.Millisecond)
	failing.Annotations[lab.Exit] = "3"
	for _, p := range []*corev1.Pod{failing, lab.Pod("stays", "100m", "1Gi", 0)} {
		if _, err := l.Client.CoreV1().Pods(namespace).Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	lab.Eventually(t, time.Minute, "the job is complete, one pod failed, one runs", func() bool {
		n := phases(pods(t, l, namespace))
		job, err := l.Client.BatchV1().Jobs(namespace).Get(t.Context(), "job", metav1.GetOptions{})
		return err == nil && job.Status.CompletionTime != nil && n[corev1.PodSucceeded] == 6 && n[corev1.PodFailed] == 1 && n[corev1.PodRunning] == 1
	})
	for _, p := range pods(t, l, namespace) {
		if p.Name == "fails" && p.Status.ContainerStatuses[0].State.Terminated.ExitCode != 3 {
			t.Error("exit code", p.Status.ContainerStatuses[0].State)
		}
	}
	l.Kubectl(t, "delete", "pod", "stays", "-n", namespace, "--wait=false")
	lab.Eventually(t, time.Minute, "the deleted pod is gone", func() bool { return phases(pods(t, l, namespace))[corev1.PodRunning] == 0 })
}

func TestRestarts(t *testing.T) {
	l := lab.Shared(t)
	namespace := l.Namespace(t)
	kubelet := &lab.Kubelet{}
	kubelet.Run(t, l)
	node := kubelet.Nodes(t, 1, "restart", nil, "cpu", "2", "memory", "8Gi")[0]
	for name, length := range map[string]time.Duration{"long": 3 * time.Second, "lost": 0} {
		if _, err := l.Client.CoreV1().Pods(namespace).Create(t.Context(), lab.Pod(name, "1", "1Gi", length), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	lab.Eventually(t, time.Minute, "both run", func() bool { return phases(pods(t, l, namespace))[corev1.PodRunning] == 2 })
	for _, p := range []*lab.Process{l.API, l.Etcd, l.Scheduler} {
		p.Kill()
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
	}
	lab.Eventually(t, time.Minute, "the pod finishes after etcd, the API server and the scheduler were killed", func() bool {
		return phases(pods(t, l, namespace))[corev1.PodSucceeded] == 1
	})
	kubelet.Lose(node)
	if err := l.Client.CoreV1().Pods(namespace).Delete(t.Context(), "lost", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	if n := len(pods(t, l, namespace)); n != 2 {
		t.Errorf("%d pods; one on a lost node stays", n)
	}
	if used, err := l.API.CPU(); err != nil || used <= 0 {
		t.Error(used, err)
	}
}

func TestAccess(t *testing.T) {
	l := lab.Shared(t)
	namespace := l.Namespace(t)
	if _, err := l.Client.CoreV1().ServiceAccounts(namespace).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]*kubernetes.Clientset{
		"a user without rights":            kubernetes.NewForConfigOrDie(l.User(t, "ann", "people")),
		"a service account without rights": kubernetes.NewForConfigOrDie(l.ServiceAccount(t, namespace, "robot")),
	} {
		if _, err := config.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	lab.Eventually(t, time.Minute, "the audit log has both", func() bool {
		log, _ := os.ReadFile(l.Dir + "/audit.log")
		return strings.Contains(string(log), `"username":"ann"`) && strings.Contains(string(log), "system:serviceaccount:"+namespace+":robot")
	})
}
