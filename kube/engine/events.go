package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/live"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/whatif/reason"
)

const (
	// A job that has waited for so long gets an event, and another when the reason changes, at most every again.
	defaultPatience, again = 30 * time.Second, 5 * time.Minute
	// No more events about jobs than that are written on average, whoever makes jobs.
	eventsPerSecond, eventsAtOnce = 1, 25
	maxEvent                      = 1000 // bytes; the API takes 1,024
	maxDue                        = 100  // jobs that are asked about at a time
)

func newRecorder(ctx context.Context, client kubernetes.Interface, cfg Config) record.EventRecorder {
	b := record.NewBroadcaster(record.WithContext(ctx), record.WithCorrelatorOptions(record.CorrelatorOptions{SpamKeyFunc: func(event *corev1.Event) string {
		key, _ := record.EventAggregatorByReasonFunc(event) // one reason, however often, silences no other
		return key
	}}))
	b.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	return b.NewRecorder(scheme.Scheme, corev1.EventSource{Component: Name, Host: cfg.Identity})
}

// Warn says something of the installation, as an event on its settings and in the log.
func (e *Engine) Warn(ctx context.Context, reason, text string) {
	klog.FromContext(ctx).Info(text, "reason", reason)
	e.recorder.Event(e.settingsObject(), corev1.EventTypeWarning, reason, bounded(text))
}

// explain writes an event about each job that has waited for long, and forgets jobs that are gone.
func (e *Engine) explain(ctx context.Context) {
	now, present := time.Now(), map[string]bool{}
	var due []string
	var waiting []live.View
	for _, v := range e.Core.Jobs() {
		present[v.Key] = true
		if v.Held > 0 {
			waiting = append(waiting, v)
		}
		e.mu.Lock()
		if k := e.known[v.Key]; k != nil {
			switch {
			case v.Held == 0 || v.Released+v.Bound > 0:
				k.waits = time.Time{}
			case k.waits.IsZero():
				k.waits = now
			case now.Sub(k.waits) >= e.cfg.Patience && now.Sub(k.said) >= again:
				due = append(due, v.Key)
			}
		}
		e.mu.Unlock()
	}
	e.mu.Lock()
	for key := range e.known {
		if !present[key] {
			delete(e.known, key)
		}
	}
	slices.SortStableFunc(due, func(a, b string) int { return e.known[a].said.Compare(e.known[b].said) })
	e.mu.Unlock()
	e.mark(ctx, waiting)
	token := false // taken and not used
	for _, key := range due[:min(len(due), maxDue)] {
		if token = token || e.budget.TryAccept(); !token {
			e.metrics.eventsDropped.Inc()
			continue
		}
		v, ok := e.Core.Why(key)
		if !ok || v.Held == 0 {
			continue
		}
		text := bounded(e.public(&v))
		e.mu.Lock()
		if k := e.known[key]; k != nil {
			if k.said = now; k.text != text {
				k.text, token = text, false
				object := k.object
				e.recorder.Event(&object, corev1.EventTypeNormal, "Held", text)
			}
		}
		e.mu.Unlock()
	}
}

// public says why a job waits, for those who may read its namespace: nothing of other jobs but how many come first.
func (e *Engine) public(v *live.View) string {
	e.mu.RLock()
	ignored := ""
	if k := e.known[v.Key]; k != nil {
		ignored = k.ignored
	}
	e.mu.RUnlock()
	ahead := int64(0)
	reasons := slices.Clone(v.Reasons)
	for i := range reasons {
		ahead = max(ahead, reasons[i].Ahead)
		reasons[i].Ahead = 0
		if reasons[i].Queue != v.Queue {
			reasons[i].Queue = ""
		}
		if reasons[i].User != v.User {
			reasons[i].User = ""
		}
		reasons[i].Node = ""
	}
	text := e.sentences(v, reasons)
	if ahead > 0 {
		text = append(text, fmt.Sprintf("%s before it.", comes(ahead)))
	}
	if ignored != "" {
		text = append(text, "Ignored: "+ignored+".")
	}
	return strings.Join(text, " ")
}

func comes(n int64) string {
	if n == 1 {
		return "1 job comes"
	}
	return unit.Number(n) + " jobs come"
}

// sentences say why a job waits.
func (e *Engine) sentences(v *live.View, reasons []policy.Reason) (text []string) {
	if v.Refused != nil {
		return append(text, fmt.Sprintf("The policy refuses it: %v.", v.Refused))
	}
	if v.Held > 0 {
		reason.Say(func(s string) { text = append(text, wording.Replace(s)) }, reasons)
	}
	if v.Stranded > 0 {
		text = append(text, fmt.Sprintf("%s let go and found no node.", unit.Count(int64(v.Stranded), "pod")))
	}
	return text
}

// wording is that of people who use Kubernetes.
var wording = strings.NewReplacer(", 1 pod", "", "its next container has", "its next pod asks for")

func bounded(text string) string {
	if len(text) > maxEvent {
		return strings.ToValidUTF8(text[:maxEvent], "") + "..."
	}
	return text
}

func newBudget() flowcontrol.RateLimiter {
	return flowcontrol.NewTokenBucketRateLimiter(eventsPerSecond, eventsAtOnce)
}
