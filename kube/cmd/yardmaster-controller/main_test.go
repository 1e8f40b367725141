package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yardmaster/yardmaster/kube/engine"
	"github.com/yardmaster/yardmaster/kube/lab"
)

// As a child, the test is the program.
func TestMain(m *testing.M) {
	if os.Getenv("YARDMASTER_CONTROLLER") != "" {
		main()
		return
	}
	lab.Main(m, lab.WithControllers("job-controller"), lab.WithScheduler())
}

type replica struct {
	*exec.Cmd
	log  bytes.Buffer
	done chan error
}

func start(t *testing.T, l *lab.Lab, home string, flags ...string) *replica {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{done: make(chan error, 1)}
	r.Cmd = exec.Command(self, append([]string{"--kubeconfig=" + l.Kubeconfig, "--namespace=" + home, "--listen=127.0.0.1:0"}, flags...)...)
	r.Env, r.Stderr, r.Stdout = append(os.Environ(), "YARDMASTER_CONTROLLER=1"), &r.log, &r.log
	r.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { r.done <- r.Wait() }()
	t.Cleanup(func() {
		r.end(syscall.SIGKILL)
		if t.Failed() {
			t.Log(r.log.String())
		}
	})
	return r
}

// end sends a signal and waits for the process.
func (r *replica) end(s syscall.Signal) error {
	_ = r.Process.Signal(s)
	err := <-r.done
	r.done <- err
	return err
}

type site struct {
	*lab.Lab
	t          *testing.T
	home, jobs string
	mu         sync.Mutex
	starts     map[types.UID]int
}

func newSite(t *testing.T, policy string) *site {
	t.Helper()
	s := &site{Lab: lab.Shared(t), t: t, starts: map[types.UID]int{}}
	s.home, s.jobs = s.Namespace(t), s.Namespace(t)
	k := &lab.Kubelet{Started: func(p *corev1.Pod, _ time.Time) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.starts[p.UID]++
	}}
	k.Run(t, s.Lab)
	k.Nodes(t, 2, s.jobs, nil, "cpu", "4", "memory", "64Gi")
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: engine.Name}, Data: map[string]string{"policy": policy}}
	if _, err := s.Client.CoreV1().ConfigMaps(s.home).Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *site) add(job string, n int, length time.Duration) {
	s.t.Helper()
	for i := range n {
		p := lab.Pod(fmt.Sprint(job, "-", i), "1", "64Mi", length)
		p.Labels[engine.Domain+"job"] = job
		p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: engine.Gate}}
		if _, err := s.Client.CoreV1().Pods(s.jobs).Create(s.t.Context(), p, metav1.CreateOptions{}); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *site) finished() (n int) {
	list, err := s.Client.CoreV1().Pods(s.jobs).List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, p := range list.Items {
		if p.Status.Phase == corev1.PodSucceeded {
			n++
		}
	}
	return n
}

func (s *site) complete(n int) {
	s.t.Helper()
	lab.Eventually(s.t, time.Minute, fmt.Sprint(n, " pods have finished"), func() bool { return s.finished() >= n })
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, k := range s.starts {
		if k != 1 {
			s.t.Errorf("pod %s started %d times", id, k)
		}
	}
	if len(s.starts) != n {
		s.t.Errorf("%d pods started, want %d", len(s.starts), n)
	}
}

// Killed again and again, the controller loses no pod and holds none for ever.
func TestKilled(t *testing.T) {
	s := newSite(t, "fbq:limits=4")
	for _, job := range []string{"a", "b", "c", "d", "e"} {
		s.add(job, 24, 400*time.Millisecond)
	}
	for i := range 8 {
		r := start(t, s.Lab, s.home, "--leader-elect=false")
		time.Sleep(time.Duration(300+100*i) * time.Millisecond)
		r.end(syscall.SIGKILL)
	}
	start(t, s.Lab, s.home, "--leader-elect=false")
	s.complete(120)
}

func (s *site) leader() string {
	lease, err := s.Client.CoordinationV1().Leases(s.home).Get(s.t.Context(), engine.Name, metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// Of two replicas one leads. When it is killed, the other does; when it is asked to end, the other does at once.
func TestLeaderChange(t *testing.T) {
	s := newSite(t, "fair")
	flags := []string{"--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=500ms"}
	next := func(not string) (id string) {
		t.Helper()
		lab.Eventually(t, 20*time.Second, "another replica leads", func() bool { id = s.leader(); return id != "" && id != not })
		return id
	}
	first := start(t, s.Lab, s.home, flags...)
	id := next("")
	second := start(t, s.Lab, s.home, flags...)
	s.add("a", 40, 500*time.Millisecond)
	first.end(syscall.SIGKILL)
	id = next(id)
	third := start(t, s.Lab, s.home, flags...)
	s.add("b", 40, 500*time.Millisecond)
	if err := second.end(syscall.SIGTERM); err != nil {
		t.Errorf("a replica that is asked to end says %v", err)
	}
	next(id)
	s.add("c", 8, 500*time.Millisecond)
	s.complete(88)
	if err := third.end(syscall.SIGTERM); err != nil {
		t.Errorf("a replica that is asked to end says %v", err)
	}
}

// However many pods wait to be let go, the lease is renewed in time.
func TestLeaseGoesFirst(t *testing.T) {
	s := newSite(t, "fifo")
	s.add("a", 60, 100*time.Millisecond)
	r := start(t, s.Lab, s.home, "--kube-api-qps=3", "--kube-api-burst=3", "--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=500ms")
	lab.Eventually(t, 20*time.Second, "pods run", func() bool { return s.finished() > 0 })
	select {
	case err := <-r.done:
		r.done <- err
		t.Errorf("it has ended: %v", err)
	case <-time.After(8 * time.Second):
	}
	if n := s.finished(); n == 60 {
		t.Error("nothing waited")
	}
}

// A replica without settings ends with a sentence.
func TestNoSettings(t *testing.T) {
	l := lab.Shared(t)
	r := start(t, l, l.Namespace(t), "--leader-elect=false")
	if err := <-r.done; err == nil || !strings.Contains(r.log.String(), "create it with the key policy") {
		t.Errorf("%v: %s", err, r.log.String())
	}
	r.done <- nil
}
