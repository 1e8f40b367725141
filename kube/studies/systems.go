package main

import (
	_ "embed"
	"path/filepath"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yardmaster/yardmaster/kube/engine"
	"github.com/yardmaster/yardmaster/kube/lab"
)

// system is a way to run a cluster's jobs.
type system struct {
	name     string
	stock    bool              // kube-scheduler runs
	settings map[string]string // of Yardmaster; nil: another system
	// start makes the cluster run it: a control plane with the namespaces of the teams, the job controller and nodes, and no jobs yet. It returns once jobs may
	// come. nil: nothing is to be done.
	start func(t testing.TB, l *lab.Lab, c site)
	job   func(c site, j *job, o *batchv1.Job) // what else a job must say; nil: nothing
}

// kubernetes is the cluster as it comes.
var kubernetes = &system{name: "stock", stock: true}

// controller is Yardmaster's default installation with these settings, in front of kube-scheduler.
func controller(name string, settings map[string]string) *system {
	return &system{name: name, stock: true, settings: settings, start: func(t testing.TB, l *lab.Lab, _ site) {
		install(t, l, "controller", settings)
		l.Run(t, "yardmaster", program(t, "yardmaster-controller"), "--kubeconfig="+account(t, l), "--listen=127.0.0.1:0", "--vmodule=engine=4")
		started(t, l)
	}}
}

// scheduler is Yardmaster's own.
func scheduler(name string, settings map[string]string) *system {
	return &system{name: name, settings: settings, start: func(t testing.TB, l *lab.Lab, _ site) {
		install(t, l, "scheduler", settings)
		l.Run(t, "yardmaster", program(t, "yardmaster-scheduler"), "--kubeconfig="+account(t, l), "--secure-port=0", "--yardmaster-address=", "--leader-elect-resource-namespace="+engine.Name,
			"--leader-elect-resource-name="+engine.Name, "--kube-api-qps=10000", "--kube-api-burst=10000", "--vmodule=engine=4")
		started(t, l)
	}}
}

// driver is how Yardmaster acts; "": it is another system.
func (s *system) driver() string {
	switch {
	case s.settings == nil:
		return ""
	case s.stock:
		return "controller"
	}
	return "scheduler"
}

// ours are the policies, by the controller or the scheduler. Limits of FBQ are CPU-seconds. The queues of the capacity scheduler may grow to the whole cluster.
func ours(driver func(name string, settings map[string]string) *system, suffix string, names ...string) (list []*system) {
	for _, s := range []*system{
		driver("fifo", map[string]string{"policy": "fifo"}),
		driver("fair", map[string]string{"policy": "fair:resource=drf"}),
		driver("capacity", map[string]string{"policy": "capacity-scheduler.xml", "capacity-scheduler.xml": queues}),
		driver("fbq", map[string]string{"policy": "fbq:limits=10,60"}),
		driver("comp", map[string]string{"policy": "comp"}),
		driver("deadline", map[string]string{"policy": "deadline"}),
	} {
		if len(names) == 0 || slices.Contains(names, s.name) {
			s.name += suffix
			list = append(list, s)
		}
	}
	return list
}

//go:embed capacity-scheduler.xml
var queues string

// account is the access that the installation gives.
func account(t testing.TB, l *lab.Lab) string {
	t.Helper()
	return l.WriteKubeconfig(t, engine.Name, l.ServiceAccount(t, engine.Name, engine.Name))
}

// started waits until Yardmaster decides.
func started(t testing.TB, l *lab.Lab) {
	t.Helper()
	lab.Eventually(t, time.Minute, "Yardmaster has started", func() bool {
		events, err := l.Client.CoreV1().Events(engine.Name).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=Started"})
		return err == nil && len(events.Items) > 0
	})
}

// install does what an operator does, and waits until the API server acts on it.
func install(t testing.TB, l *lab.Lab, overlay string, settings map[string]string) {
	t.Helper()
	l.Kubectl(t, "apply", "-k", filepath.Join(module(t), "deploy", overlay))
	m, err := l.Client.CoreV1().ConfigMaps(engine.Name).Get(t.Context(), engine.Name, metav1.GetOptions{})
	check(t, err)
	m.Data = settings
	_, err = l.Client.CoreV1().ConfigMaps(engine.Name).Update(t.Context(), m, metav1.UpdateOptions{})
	check(t, err)
	for _, team := range teams {
		l.Kubectl(t, "label", "namespace", team, "yardmaster.io/managed=true")
	}
	lab.Eventually(t, time.Minute, "the admission policies act", func() bool {
		bound, held := lab.Pod("bound", "1", "1Gi", 0), lab.Pod("held", "1", "1Gi", 0)
		bound.Spec.NodeName = "somewhere"
		dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
		_, err := l.Client.CoreV1().Pods(teams[0]).Create(t.Context(), bound, dry)
		pod, err2 := l.Client.CoreV1().Pods(teams[0]).Create(t.Context(), held, dry)
		return apierrors.IsForbidden(err) && err2 == nil && (len(pod.Spec.SchedulingGates) > 0 || pod.Spec.SchedulerName == engine.Name)
	})
}
