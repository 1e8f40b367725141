// Package gate is a controller in front of whatever scheduler a cluster has: it takes the scheduling gate yardmaster.io/hold off pods, in the policy's order,
// as room comes free. It never touches pods without the gate.
//
// A gate cannot be put back, so a released pod that finds no node keeps waiting in its scheduler, and others get its room until it is bound. A pod that has gates
// of others besides is left alone until they are gone: ours goes last, because it is the one that takes room.
//
// What was released carries the annotation yardmaster.io/released, by which it is known after a restart. Taking a gate off is one write that does nothing if it
// was done before, or if the pod is another one of the same name.
package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/yardmaster/yardmaster/kube/engine"
	"github.com/yardmaster/yardmaster/policy/live"
)

const (
	// DefaultWriters is how many gates are taken off at a time. They begin in order.
	DefaultWriters = 8
	// unschedulable is how long a pod without a suitable node keeps its room from others.
	unschedulable = 2 * time.Second
	// silent is how long a pod does of which its scheduler says nothing, while it has said something of another; longest, if it says nothing of any. The pod may
	// name a scheduler or a claim that does not exist; binding its volumes may take as long, too.
	silent, longest = 30 * time.Second, 2 * time.Minute
	// pause after a failed write, which doubles.
	firstPause, lastPause = 50 * time.Millisecond, 5 * time.Second
	// lastWrites is how long a controller that ends goes on to let those pods go that it has decided on. A lease that was lost is another's after five, by default.
	lastWrites = 3 * time.Second
)

// Needs are the rights of a controller.
var Needs = append([]engine.Need{
	{Resource: "/pods", Verbs: []string{"list", "watch", "patch"}},
	{Resource: "/nodes", Verbs: []string{"list", "watch"}},
	{Resource: "yardmaster.io/holds", Verbs: []string{"release"}}, // the admission policies of kube/deploy ask for it
	{Resource: "coordination.k8s.io/leases", Name: engine.Name, Verbs: []string{"get", "update"}, Namespaced: true},
	{Resource: "coordination.k8s.io/leases", Verbs: []string{"create"}, Namespaced: true},
}, engine.Needs...)

// Config of a controller.
type Config struct {
	Namespace, Identity string
	Writers             int                // 0: DefaultWriters
	Patience            time.Duration      // see engine.Config
	Serve               func(http.Handler) // is given the engine's handler, anew at every start; may be nil
}

type controller struct {
	engine  *engine.Engine
	client  kubernetes.Interface
	pods    corelisters.PodLister
	work    chan *live.Task
	writers sync.WaitGroup
	failed  *prometheus.CounterVec
	writes  prometheus.Histogram

	mu    sync.Mutex
	open  map[types.UID]opened // released pods without a node
	heard time.Time            // when a scheduler last said something of one
}

// opened is a released pod without a node.
type opened struct {
	since   time.Time // it was released, or its scheduler found no node
	refused bool      // it did
}

// Run holds and releases pods until ctx ends. It starts anew by itself when settings change that need it.
func Run(ctx context.Context, client kubernetes.Interface, cfg Config) error {
	for {
		err := run(ctx, client, cfg)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // it was told to end
		case !errors.Is(err, engine.ErrRestart):
			return err
		}
		klog.FromContext(ctx).Info("Starting anew", "reason", err)
	}
}

func run(ctx context.Context, client kubernetes.Interface, cfg Config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	e, err := engine.New(ctx, client, engine.Config{Namespace: cfg.Namespace, Identity: cfg.Identity, Managed: managed, Held: gated, Needs: Needs, Patience: cfg.Patience})
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(engine.Strip))
	c := &controller{
		engine: e, client: client, pods: factory.Core().V1().Pods().Lister(), work: make(chan *live.Task, 1<<17), open: map[types.UID]opened{},
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "yardmaster_gate_errors_total", Help: "Failed attempts to take a gate off."}, []string{"reason"}),
		writes: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "yardmaster_gate_duration_seconds", Help: "How long taking a gate off took.", Buckets: prometheus.ExponentialBuckets(1e-3, 2, 14)}),
	}
	e.Registry().MustRegister(c.failed, c.writes)
	if cfg.Serve != nil {
		cfg.Serve(e.Handler())
	}
	if err := c.watch(ctx, factory); err != nil {
		return err
	}
	if err := e.Start(ctx); err != nil {
		return err
	}
	n := cfg.Writers
	if n <= 0 {
		n = DefaultWriters
	}
	writing, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	for range n {
		c.writers.Go(func() { c.write(writing) })
	}
	go c.strand(ctx)
	err = e.Loop(ctx, func() {
		for _, t := range e.Release() {
			c.work <- &t
		}
	})
	cancel()
	close(c.work)
	if errors.Is(err, engine.ErrReplaced) {
		end()
	}
	defer time.AfterFunc(lastWrites, end).Stop()
	c.writers.Wait()
	if !errors.Is(err, engine.ErrReplaced) {
		last, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer done()
		e.Stop(last)
	}
	return err
}

// watch tells the engine of pods and nodes, and returns once it knows all.
func (c *controller) watch(ctx context.Context, factory informers.SharedInformerFactory) error {
	pods, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { c.saw(o.(*corev1.Pod)) },
		UpdateFunc: func(was, o any) {
			if was := was.(*corev1.Pod); was.UID != o.(*corev1.Pod).UID { // deleted, and another made with its name, while the watch was away
				c.gone(was)
			}
			c.saw(o.(*corev1.Pod))
		},
		DeleteFunc: func(o any) {
			if d, missed := o.(cache.DeletedFinalStateUnknown); missed {
				o = d.Obj
			}
			c.gone(o.(*corev1.Pod))
		},
	})
	if err != nil {
		return err
	}
	nodes, err := factory.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { c.engine.SawNode(nil, o.(*corev1.Node)) },
		UpdateFunc: func(was, o any) { c.engine.SawNode(was.(*corev1.Node), o.(*corev1.Node)) },
		DeleteFunc: func(o any) {
			if d, missed := o.(cache.DeletedFinalStateUnknown); missed {
				o = d.Obj
			}
			c.engine.NodeGone(o.(*corev1.Node).Name)
		},
	})
	if err != nil {
		return err
	}
	factory.StartWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), pods.HasSynced, nodes.HasSynced) {
		return errors.Join(errors.New("the cluster's pods and nodes could not be listed"), context.Cause(ctx))
	}
	return nil
}

func gated(p *corev1.Pod) bool {
	for _, g := range p.Spec.SchedulingGates {
		if g.Name == engine.Gate {
			return true
		}
	}
	return false
}

func managed(p *corev1.Pod) bool {
	_, released := p.Annotations[engine.Released]
	return released || gated(p)
}

func (c *controller) saw(p *corev1.Pod) {
	if gated(p) && len(p.Spec.SchedulingGates) > 1 && p.DeletionTimestamp == nil && !engine.Over(p) {
		return // gates of others come off first
	}
	_, known := c.engine.Core.State(string(p.UID))
	c.note(p, known || managed(p)) // somebody else may have taken its gate off
	c.engine.SawPod(p)
}

func (c *controller) gone(p *corev1.Pod) {
	c.mu.Lock()
	delete(c.open, p.UID)
	c.mu.Unlock()
	c.engine.PodGone(p)
}

// note keeps what is known of a released pod without a node.
func (c *controller) note(p *corev1.Pod, ours bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was, known := c.open[p.UID]
	switch now, no := time.Now(), refused(p); {
	case !ours || gated(p) || p.Spec.NodeName != "" || engine.Over(p):
		if delete(c.open, p.UID); known && p.Spec.NodeName != "" {
			c.heard = now
		}
	case !known || no && !was.refused:
		if c.open[p.UID] = (opened{now, no}); no {
			c.heard = now
		}
	}
}

// refused reports whether its scheduler has found no node for a released pod.
func refused(p *corev1.Pod) bool {
	s := engine.Condition(p, corev1.PodScheduled)
	return s != nil && s.Status == corev1.ConditionFalse && s.Reason == corev1.PodReasonUnschedulable &&
		s.Message != engine.Marked
}

// strand gives the room of pods that find no node to others.
func (c *controller) strand(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-time.After(time.Second):
			ids := c.lost(now)
			for _, id := range ids {
				c.engine.Core.Strand(id)
			}
			if len(ids) > 0 {
				c.engine.Wake()
			}
		}
	}
}

// lost are the released pods that have found no node.
func (c *controller) lost(now time.Time) (ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, p := range c.open {
		switch waited := now.Sub(p.since); {
		case p.refused && waited > unschedulable, waited > silent && c.heard.After(p.since), waited > longest:
			ids = append(ids, string(id))
		}
	}
	return ids
}

// write takes gates off.
func (c *controller) write(ctx context.Context) {
	for t := range c.work {
		if ctx.Err() != nil {
			return
		}
		if !c.try(ctx, t, 0) {
			c.writers.Go(func() { // writers are for those that wait for the first try
				for pause := firstPause; !c.try(ctx, t, pause); pause = min(2*pause, lastPause) {
				}
			})
		}
	}
}

// try takes the gate off a pod, after a pause, and reports whether that is settled: until then the pod keeps its room, however long the API server does not answer.
// What it will not have, or has answered with an error for long, is held again, and tried ever more seldom.
func (c *controller) try(ctx context.Context, t *live.Task, pause time.Duration) bool {
	name := t.Ref.(types.NamespacedName)
	if pause > 0 {
		select {
		case <-ctx.Done():
			return true
		case <-time.After(pause):
		}
		if p, err := c.pods.Pods(name.Namespace).Get(name.Name); err == nil && (string(p.UID) != t.ID || !gated(p)) || apierrors.IsNotFound(err) {
			return true // the engine hears of it
		}
	}
	type list []map[string]string
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": t.ID, "annotations": map[string]string{engine.Released: time.Now().UTC().Format(time.RFC3339Nano)}},
		"spec":     map[string]any{"schedulingGates": list{{"$patch": "delete", "name": engine.Gate}}},
	})
	if err != nil {
		panic(err) // of strings
	}
	begin := time.Now()
	_, err = c.client.CoreV1().Pods(name.Namespace).Patch(ctx, name.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	c.writes.Observe(time.Since(begin).Seconds())
	if err == nil || ctx.Err() != nil {
		return true
	}
	c.failed.WithLabelValues(string(apierrors.ReasonForError(err))).Inc()
	var answer apierrors.APIStatus
	switch {
	case apierrors.IsNotFound(err):
		c.engine.Core.Gone(t.ID)
		c.engine.Wake()
		return true
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsMethodNotSupported(err), apierrors.IsRequestEntityTooLargeError(err),
		pause == lastPause && errors.As(err, &answer) && answer.Status().Code == http.StatusInternalServerError:
		c.engine.Core.TakeBack(t.ID, live.NoNode)
		c.engine.Wake()
		c.engine.Warn(ctx, "GateStays", fmt.Sprintf("the gate of pod %s cannot be taken off: %v", name, err))
		return true
	}
	klog.FromContext(ctx).V(1).Info("Gate not taken off yet", "pod", name, "err", err)
	return false
}
