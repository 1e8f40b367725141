package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yardmaster/yardmaster/kube/engine"
	"github.com/yardmaster/yardmaster/kube/lab"
)

// teams have a namespace each, which is their queue.
var teams = []string{"etl", "adhoc", "ml"}

// millis are milliseconds.
type millis int64

func (m millis) Minutes() float64 { return m.duration().Minutes() }

func (m millis) duration() time.Duration { return time.Duration(m) * time.Millisecond }

// job is one of a workload: pods of one CPU.
type job struct {
	Name, Team, Class string
	Submit            millis   // since the beginning
	Within            millis   `json:",omitempty"` // its deadline, after its creation; 0: none
	Lengths           []millis // of its pods
}

func (j *job) work() (sum millis) {
	for _, l := range j.Lengths {
		sum += l
	}
	return sum
}

// size of a workload. Sizes of jobs are in CPU-seconds, and a job has at most Most pods at a time.
type size struct {
	Jobs     int
	Min, Max float64
	Most     int
	Load     float64 // work that arrives, as a share of what the cluster can do
}

// made is the workload: sizes at equal steps of a bounded Pareto distribution, in random order, at the arrivals of a Poisson process. Larger jobs have more and longer
// pods. Analysts ask many small questions, the pipeline has jobs of all sizes, and few large ones train models. A job is to be done in 3 to 10 times what it takes alone.
func (z size) made(c site) []job {
	const alpha = 0.9
	random := rand.New(rand.NewPCG(29, uint64(z.Jobs)))
	jobs, arrivals, work, at := make([]job, z.Jobs), make([]float64, z.Jobs), 0.0, 0.0
	for i, rank := range random.Perm(z.Jobs) {
		u := (float64(rank) + 0.5) / float64(z.Jobs)
		size := z.Min * math.Pow(1-u*(1-math.Pow(z.Min/z.Max, alpha)), -1/alpha)
		hold := max(z.Min/2*math.Pow(size/z.Min, 0.25), size/float64(z.Most))
		j := job{Name: fmt.Sprintf("job-%03d", i), Team: "etl", Class: "batch", Lengths: make([]millis, max(1, int(math.Round(size/hold))))}
		switch {
		case u < 0.6:
			j.Class = "query"
			if random.IntN(3) > 0 {
				j.Team = "adhoc"
			}
		case u > 0.9:
			j.Class = "model"
			if random.IntN(2) > 0 {
				j.Team = "ml"
			}
		}
		longest := millis(0)
		for k := range j.Lengths {
			j.Lengths[k] = millis(1000 * hold * (0.5 + random.Float64()))
			longest = max(longest, j.Lengths[k])
		}
		j.Within = millis(float64(longest) * (3 + 7*random.Float64()))
		work += float64(j.work()) / 1000
		at += random.ExpFloat64()
		jobs[i], arrivals[i] = j, at
	}
	span := work / (z.Load * float64(c.Nodes*c.CPU)) // in which the work arrives
	for i := range jobs {
		jobs[i].Submit = millis(1000 * span * arrivals[i] / at)
	}
	return jobs
}

// site is the cluster that a workload runs on.
type site struct {
	Nodes, CPU int
	StartUp    millis // of a pod
}

// podRun is what became of a pod, since the beginning; 0: nothing yet.
type podRun struct{ Start, End millis }

// jobRun is what became of a job.
type jobRun struct {
	Created millis
	Pods    []podRun
}

func (j *job) object() *batchv1.Job {
	n := new(int32(len(j.Lengths)))
	pod := lab.Pod("", "1", "1Gi", 0)
	o := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: j.Name, Namespace: j.Team}, Spec: batchv1.JobSpec{Parallelism: n, Completions: n, CompletionMode: new(batchv1.IndexedCompletion)}}
	o.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}, Labels: map[string]string{}}, Spec: pod.Spec}
	if j.Class != "" {
		o.Spec.Template.Labels[engine.Domain+"class"] = j.Class
	}
	if j.Within > 0 {
		o.Spec.Template.Annotations[engine.Domain+"deadline"] = fmt.Sprint(j.Within.duration().Seconds(), "s")
	}
	return o
}

// play runs a workload on a new control plane, and gives what became of each job. see is called before the control plane ends.
func (s *system) play(t testing.TB, c site, jobs []job, see func(l *lab.Lab, begin time.Time)) []jobRun {
	t.Helper()
	options := []lab.Option{lab.WithControllers("job-controller")}
	if s.stock {
		options = append(options, lab.WithScheduler())
	}
	l := lab.Start(t, options...)
	for _, team := range teams {
		_, err := l.Client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}}, metav1.CreateOptions{})
		check(t, err)
	}
	var (
		mu    sync.Mutex
		begin time.Time
		runs  = make([]jobRun, len(jobs))
		at    = map[string]int{}
		left  = 0
		done  = make(chan struct{})
	)
	for i, j := range jobs {
		at[j.Team+"/"+j.Name], runs[i].Pods = i, make([]podRun, len(j.Lengths))
		left += len(j.Lengths)
	}
	which := func(p *corev1.Pod) (i, n int) {
		i, known := at[p.Namespace+"/"+p.Labels[batchv1.JobNameLabel]]
		if n = index(p); !known || n < 0 || n >= len(jobs[i].Lengths) {
			t.Errorf("pod %s/%s is of no job", p.Namespace, p.Name)
			return 0, 0
		}
		return i, n
	}
	since := func(now time.Time) millis { return max(1, millis(now.Sub(begin).Milliseconds())) }
	kubelet := &lab.Kubelet{
		StartUp: c.StartUp.duration(),
		Length:  func(p *corev1.Pod) time.Duration { i, n := which(p); return jobs[i].Lengths[n].duration() },
		Started: func(p *corev1.Pod, now time.Time) {
			i, n := which(p)
			mu.Lock()
			defer mu.Unlock()
			if runs[i].Pods[n].Start > 0 {
				t.Errorf("pod %d of %s has started twice", n, jobs[i].Name)
			}
			runs[i].Pods[n].Start = since(now)
		},
		Ended: func(p *corev1.Pod, now time.Time) {
			i, n := which(p)
			mu.Lock()
			defer mu.Unlock()
			runs[i].Pods[n].End = since(now)
			if left--; left == 0 {
				close(done)
			}
		},
	}
	kubelet.Run(t, l)
	kubelet.Nodes(t, c.Nodes, "node", nil, "cpu", fmt.Sprint(c.CPU), "memory", fmt.Sprint(2*c.CPU, "Gi"))
	if s.start != nil {
		s.start(t, l, c)
	}
	begin = time.Now()
	for i := range jobs {
		wait(t.Context(), time.Until(begin.Add(jobs[i].Submit.duration())))
		o := jobs[i].object()
		if s.job != nil {
			s.job(c, &jobs[i], o)
		}
		now := time.Now()
		_, err := l.Client.BatchV1().Jobs(o.Namespace).Create(t.Context(), o, metav1.CreateOptions{})
		check(t, err)
		mu.Lock()
		runs[i].Created = since(now)
		mu.Unlock()
	}
	select {
	case <-done:
	case <-t.Context().Done():
		check(t, context.Cause(t.Context()))
	case <-time.After(10 * time.Minute):
		mu.Lock()
		defer mu.Unlock()
		t.Fatalf("%d pods have not ended ten minutes after the last job was created", left)
	}
	if see != nil {
		see(l, begin)
	}
	return runs
}

// index is the number of a pod in its job; -1: it has none.
func index(p *corev1.Pod) int {
	n, err := strconv.Atoi(p.Annotations[batchv1.JobCompletionIndexAnnotation])
	if err != nil {
		return -1
	}
	return n
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
