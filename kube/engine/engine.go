// Package engine is what both ways to run a policy on Kubernetes share: it tells the core of package live what the cluster shows, and people what the core decides.
//
//	informers ──> SawPod, SawNode ──> live.Core ──> Loop ──> the driver, which lets pods go
//	                                     │
//	ConfigMap yardmaster ── settings ────┤──── ConfigMap yardmaster-state, events, metrics, why
//
// The drivers are package gate, a controller in front of any scheduler, and package sched, a scheduler. They say which pods are theirs and which of these are held.
package engine

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/live"
	"github.com/yardmaster/yardmaster/unit"
)

const (
	// Domain is the prefix of our labels and annotations.
	Domain = "yardmaster.io/"
	// Gate is the scheduling gate of held pods.
	Gate = Domain + "hold"
	// Released annotates pods whose gate we took off, with the time.
	Released = Domain + "released"
	// Name of the settings' ConfigMap and of the scheduler.
	Name = "yardmaster"
	// StateName is the name of the ConfigMap that survives restarts.
	StateName = Name + "-state"
)

// Config is what a driver sets.
type Config struct {
	Namespace string // of the installation
	Identity  string // of this replica
	// Managed says whether a pod is subject to the policy. Others only take room.
	Managed func(*corev1.Pod) bool
	// Held says whether a managed pod without a node is held, as far as the cluster shows.
	Held  func(*corev1.Pod) bool
	Needs []Need // rights that the driver needs
	// Patience is how long a job waits before an event says why; 0: half a minute.
	Patience time.Duration
}

// Engine drives a core. Its methods are safe for concurrent use.
type Engine struct {
	Core *live.Core

	client   kubernetes.Interface
	cfg      Config
	clock    clock
	wake     chan struct{}
	recorder record.EventRecorder
	jobs     batchlisters.JobLister
	metrics  *metrics
	budget   flowcontrol.RateLimiter // of events about jobs
	state    state                   // of the former run
	ended    chan error
	marks    map[string]types.NamespacedName // held pods that autoscalers see, by id

	asking  sync.Mutex
	asked   time.Time // for rights
	missing []string

	saving  sync.Mutex
	stored  *corev1.ConfigMap // the state as last written
	written []byte            // its content
	runs    string            // the core's policy, whose state that is: the settings may name its successor already

	mu       sync.RWMutex
	settings *settings
	refused  error             // settings that are not in effect
	known    map[string]*known // jobs that people may ask about, by key
	started  bool
	alive    time.Time // when Loop last went round
}

// known is a job as people know it.
type known struct {
	name    string                 // NAMESPACE/NAME
	object  corev1.ObjectReference // the job's owner, or a pod
	ignored string                 // a label or annotation that is not understood
	waits   time.Time              // since when none of its pods runs
	said    time.Time              // when its reason was last looked at
	text    string                 // the last event about it
	until   time.Time              // end of its last turn with autoscalers
	turns   int
}

// New reads the settings and the state of a former run. It returns once the cluster's Jobs are known. Settings that were never good are an error.
func New(ctx context.Context, client kubernetes.Interface, cfg Config) (*Engine, error) {
	e := &Engine{client: client, cfg: cfg, wake: make(chan struct{}, 1), ended: make(chan error, 1), budget: newBudget(), known: map[string]*known{}}
	e.cfg.Patience = cmp.Or(cfg.Patience, defaultPatience)
	e.recorder = newRecorder(ctx, client, cfg)
	e.metrics = newMetrics(e)
	if err := e.load(ctx); err != nil {
		return nil, err
	}
	s, err := e.firstSettings(ctx)
	if err != nil {
		return nil, err
	}
	e.settings, e.runs = s, s.policy
	e.Core, err = live.New(s.fresh, live.Config{Window: s.window, Now: e.clock.now, Log: e.log()})
	if err != nil {
		return nil, fmt.Errorf("policy %s: %w", s.policy, err)
	}
	return e, e.watchJobs(ctx)
}

// Start begins to decide. Call it once the driver has told the engine of all pods and nodes.
func (e *Engine) Start(ctx context.Context) error {
	saved := e.state.Core
	if saved != nil && e.state.Policy != e.settings.policy {
		saved.Policy = nil
	}
	if err := e.Core.Start(saved); err != nil {
		e.Warn(ctx, "StateRefused", fmt.Sprintf("the policy starts without what it had learned: %v", err))
	}
	e.mu.Lock()
	e.started, e.alive = true, time.Now()
	e.mu.Unlock()
	e.recorder.Event(e.settingsObject(), corev1.EventTypeNormal, "Started", "policy "+e.settings.policy)
	if err := e.watchSettings(ctx); err != nil {
		return err
	}
	go e.every(ctx, 10*time.Second, e.save)
	go e.every(ctx, 5*time.Second, e.explain)
	return nil
}

// log tells, at verbosity 4 (--vmodule=engine=4 for this alone), what becomes of every pod and when.
func (e *Engine) log() func(unit.Time, string, string, *live.Task) {
	if !klog.V(4).Enabled() {
		return nil
	}
	return func(now unit.Time, what, job string, t *live.Task) {
		klog.InfoS("Policy", "at", e.clock.epoch.Add(time.Duration(now)*time.Microsecond).Format(time.RFC3339Nano), "what", what, "job", job, "pod", t.ID)
	}
}

// Stop saves the state for the last time.
func (e *Engine) Stop(ctx context.Context) { e.save(ctx) }

// stop ends Loop.
func (e *Engine) stop(why error) {
	select {
	case e.ended <- why:
	default:
	}
}

func (e *Engine) every(ctx context.Context, d time.Duration, do func(context.Context)) {
	t := time.NewTicker(d)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			do(ctx)
		}
	}
}

// Wake has Loop ask the core for pods to let go.
func (e *Engine) Wake() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Release are the pods to let go, in order.
func (e *Engine) Release() []live.Task {
	defer func(begin time.Time) { e.metrics.release.Observe(time.Since(begin).Seconds()) }(time.Now())
	return e.Core.Release()
}

// Loop calls turn, which asks for pods to let go, until ctx ends or the engine has to: then it returns ErrRestart or ErrReplaced.
func (e *Engine) Loop(ctx context.Context, turn func()) error {
	for {
		begin := time.Now()
		turn()
		e.mu.Lock()
		e.alive = begin
		e.mu.Unlock()
		pause := time.Duration(min(e.Core.Due()-e.clock.now(), unit.Second)) * time.Microsecond
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-e.ended:
			return err
		case <-e.wake:
		case <-time.After(max(pause, time.Millisecond)):
		}
	}
}

// SawPod tells the core what the cluster shows of a pod.
func (e *Engine) SawPod(p *corev1.Pod) {
	defer e.Wake()
	id := string(p.UID)
	over := Over(p)
	was, known := e.Core.State(id)
	if !known && !e.cfg.Managed(p) { // one that is known stays a task, whoever takes its gate off
		switch {
		case over:
			e.Core.Gone(id)
		case p.Spec.NodeName != "":
			e.Core.Other(id, p.Spec.NodeName, e.rules().Size(view(p)))
		}
		return
	}
	switch {
	case known && over:
		e.Core.End(Ended(p))
		return
	case p.DeletionTimestamp != nil && p.Spec.NodeName == "" && !over:
		e.Core.End(id, policy.Taken, 0)
		return
	case known && p.Spec.NodeName != "":
		e.Core.Bind(id, p.Spec.NodeName)
		return
	case known && (was != live.Held || e.cfg.Held(p)):
		return
	}
	task, job := e.Task(p)
	switch {
	case over:
		_, why, _ := Ended(p)
		task.Done = why == policy.Done
		e.Core.See(task, job, live.Over, p.Spec.NodeName, held(p))
	case p.Spec.NodeName != "":
		e.Core.See(task, job, live.Bound, p.Spec.NodeName, e.clock.near(boundAt(p)))
	case e.cfg.Held(p):
		e.Core.See(task, job, live.Held, "", 0)
	default:
		e.Core.See(task, job, live.Released, "", e.clock.now())
	}
}

// PodGone says that a pod is no longer there.
func (e *Engine) PodGone(p *corev1.Pod) {
	e.Core.Gone(string(p.UID))
	e.Wake()
}

// SawNode tells the core of a node, and what it was, if it was known. One that takes no pods has no room.
func (e *Engine) SawNode(was, n *corev1.Node) {
	e.Core.SetNode(n.Name, e.room(n), "")
	if helps(was, n) {
		e.Core.Unpark()
	}
	e.Wake()
}

// NodeGone says that a node is no longer there.
func (e *Engine) NodeGone(name string) {
	e.Core.SetNode(name, unit.Resources{}, "")
	e.Wake()
}

// clock counts from an epoch before the oldest job and never goes back, whatever the wall clock does.
type clock struct {
	epoch, began time.Time
	offset       unit.Time // of began
}

func (c *clock) now() unit.Time { return c.offset + unit.Time(time.Since(c.began).Microseconds()) }

func (c *clock) at(t time.Time) unit.Time {
	if t.IsZero() {
		return c.now()
	}
	return min(c.until(t), c.now())
}

// near is an instant in the past of which the API server has left out the fraction of a second: half a second, on average.
func (c *clock) near(t time.Time) unit.Time {
	if t.IsZero() {
		return c.now()
	}
	return c.at(t.Add(time.Second / 2))
}

// until is an instant that may lie ahead.
func (c *clock) until(t time.Time) unit.Time { return max(0, unit.Time(t.Sub(c.epoch).Microseconds())) }
