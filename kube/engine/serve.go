package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yardmaster/yardmaster/policy/live"
	"github.com/yardmaster/yardmaster/unit"
)

const maxRows = 1000

// Answer is what people ask for, as JSON. Text is the same for people.
type Answer struct {
	Text string `json:"text"`
	Jobs []Job  `json:"jobs,omitempty"`
	// Of check:
	Policy   string   `json:"policy,omitempty"`
	Settings string   `json:"settings,omitempty"` // what is wrong with them
	Lacks    []string `json:"lacks,omitzero"`     // rights; nil: it is not known what the driver needs
}

// Job is a job as people see it.
type Job struct {
	Name     string        `json:"name"` // NAMESPACE/NAME
	Queue    string        `json:"queue"`
	User     string        `json:"user"`
	Held     int           `json:"held"`
	Released int           `json:"released"` // without a node
	Stranded int           `json:"stranded,omitempty"`
	Running  int           `json:"running"`
	Done     int64         `json:"done"`
	Age      time.Duration `json:"age"`
	Refused  string        `json:"refused,omitempty"`
}

// Handler serves metrics, health, and what kubectl yardmaster asks for: /why/NAMESPACE/JOB, /queue and /check, as text or, with ?o=json, as JSON.
//
// It asks nobody who they are. kubectl reaches it through the API server's proxy, so that RBAC decides; the NetworkPolicy in kube/deploy, if it is installed, keeps pods away. Whoever may ask learns
// the names of jobs, queues and users of all namespaces: it is for operators. Tenants read the events on their own jobs, which name no others.
func (e *Engine) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", e.metrics.handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		e.mu.RLock()
		stuck := e.started && time.Since(e.alive) > time.Minute
		e.mu.RUnlock()
		if stuck {
			http.Error(w, "no decision for a minute", http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		e.mu.RLock()
		ready := e.started
		e.mu.RUnlock()
		if !ready {
			http.Error(w, "starting", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	mux.HandleFunc("GET /why/{namespace}/{name}", func(w http.ResponseWriter, r *http.Request) {
		a, ok := e.why(r.PathValue("namespace") + "/" + r.PathValue("name"))
		if !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		respond(w, r, a)
	})
	mux.HandleFunc("GET /queue", func(w http.ResponseWriter, r *http.Request) {
		respond(w, r, e.queue(r.FormValue("queue"), r.FormValue("namespace")))
	})
	mux.HandleFunc("GET /check", func(w http.ResponseWriter, r *http.Request) { respond(w, r, e.check(r.Context())) })
	return mux
}

func respond(w http.ResponseWriter, r *http.Request, a Answer) {
	if r.FormValue("o") == "json" {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(a)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, a.Text)
}

// why explains the jobs of a name, of which there may be several.
func (e *Engine) why(name string) (Answer, bool) {
	var keys []string
	e.mu.RLock()
	for key, k := range e.known {
		if k.name == name {
			keys = append(keys, key)
		}
	}
	e.mu.RUnlock()
	slices.Sort(keys)
	var a Answer
	var text strings.Builder
	for _, key := range keys[:min(len(keys), 10)] {
		v, ok := e.Core.Why(key)
		if !ok {
			continue
		}
		e.mu.RLock()
		for i := range v.Reasons {
			for n := range v.Reasons[i].Next {
				v.Reasons[i].Next[n] = e.name(v.Reasons[i].Next[n])
			}
		}
		j, ignored := e.job(&v), ""
		if k := e.known[key]; k != nil {
			ignored = k.ignored
		}
		e.mu.RUnlock()
		a.Jobs = append(a.Jobs, j)
		_, _ = fmt.Fprintf(&text, "%s, queue %s, user %s: %s held, %d released, %d running, %d done.\n", j.Name, j.Queue, j.User, unit.Count(int64(j.Held), "pod"), j.Released, j.Running, j.Done)
		for _, s := range e.sentences(&v, v.Reasons) {
			_, _ = fmt.Fprintln(&text, s)
		}
		if ignored != "" {
			_, _ = fmt.Fprintf(&text, "Ignored: %s.\n", ignored)
		}
	}
	if a.Text = text.String(); len(a.Jobs) > 0 {
		return a, true
	}
	a.Text = fmt.Sprintf("No job %s has pods here: it has ended, has none yet, or its pods lack the scheduling gate %s or have gates of others, which come off first.\n", name, Gate)
	return a, false
}

func (e *Engine) job(v *live.View) Job {
	j := Job{
		Name: e.name(v.Key), Queue: v.Queue, User: v.User, Held: v.Held, Released: v.Released, Stranded: v.Stranded, Running: v.Bound, Done: v.Done,
		Age: time.Duration(v.Now-v.Submitted) * time.Microsecond,
	}
	if v.Refused != nil {
		j.Refused = v.Refused.Error()
	}
	return j
}

// queue lists the jobs in the order of their arrival.
func (e *Engine) queue(queue, namespace string) Answer {
	var a Answer
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "JOB\tQUEUE\tUSER\tHELD\tRELEASED\tRUNNING\tDONE\tAGE")
	more := 0
	for _, v := range e.Core.Jobs() {
		e.mu.RLock()
		j := e.job(&v)
		e.mu.RUnlock()
		switch {
		case queue != "" && j.Queue != queue || namespace != "" && !strings.HasPrefix(v.Key, namespace+"/"):
			continue
		case len(a.Jobs) == maxRows:
			more++
			continue
		}
		a.Jobs = append(a.Jobs, j)
		age := unit.FormatSeconds(j.Age.Seconds())
		if j.Refused != "" {
			age += "\t" + j.Refused
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\n", j.Name, j.Queue, j.User, j.Held, j.Released+j.Stranded, j.Running, j.Done, age)
	}
	_ = w.Flush()
	if more > 0 {
		_, _ = fmt.Fprintf(&text, "and %d more\n", more)
	}
	a.Text = text.String()
	if len(a.Jobs) == 0 {
		of, hint := "", ""
		if queue != "" {
			of = " of queue " + queue
		}
		if namespace != "" {
			of, hint = of+" in namespace "+namespace, "; -A lists those of all namespaces"
		}
		a.Text = fmt.Sprintf("No job%s has pods that are managed%s.\n", of, hint)
	}
	return a
}

// check says what is in effect.
func (e *Engine) check(ctx context.Context) Answer {
	s, lacks := e.Core.Stats(), e.lacks(ctx)
	e.mu.RLock()
	defer e.mu.RUnlock()
	a := Answer{Policy: e.settings.policy, Lacks: lacks}
	if e.refused != nil {
		a.Settings = e.refused.Error()
	}
	a.Text = fmt.Sprintf("policy %s, replica %s\n%d jobs (%d refused by the policy), %d pods held, %d released, %d running, %d without a node that suits\nsettings: %s\n",
		a.Policy, e.cfg.Identity, s.Jobs, s.Refused, s.Held, s.Released, s.Bound, s.Stranded, cmp.Or(a.Settings, "accepted"))
	return a
}

// lacks asks the API server which of the rights that the driver needs are missing, once a minute at most, whoever asks us.
func (e *Engine) lacks(ctx context.Context) []string {
	e.asking.Lock()
	defer e.asking.Unlock()
	if e.cfg.Needs != nil && time.Since(e.asked) > time.Minute {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second) // others want the answer, too
		defer cancel()
		e.missing = e.ask(ctx)
		e.asked = time.Now()
	}
	return e.missing
}

func (e *Engine) ask(ctx context.Context) []string {
	needs, missing := e.cfg.Needs, []string{}
	if e.current().autoscale > 0 {
		needs = append(slices.Clone(needs), Need{Resource: "/pods/status", Verbs: []string{"patch"}})
	}
	for _, need := range needs {
		namespace := ""
		if need.Namespaced {
			namespace = e.cfg.Namespace
		}
		group, resource, _ := strings.Cut(need.Resource, "/")
		resource, sub, _ := strings.Cut(resource, "/")
		for _, verb := range need.Verbs {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: verb, Group: group, Resource: resource, Subresource: sub, Name: need.Name,
			}}}
			review, err := e.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			if err != nil {
				return append(missing, "ask for its rights: "+err.Error())
			}
			if !review.Status.Allowed {
				missing = append(missing, strings.TrimSpace(verb+" "+need.Resource+" "+need.Name))
			}
		}
	}
	return missing
}

// Need is a right. The resource is GROUP/RESOURCE, with /SUBRESOURCE if any.
type Need struct {
	Resource, Name string
	Verbs          []string
	Namespaced     bool // in the namespace of the installation only
}

// Needs are the rights of the engine itself.
var Needs = []Need{
	{Resource: "/configmaps", Name: Name, Verbs: []string{"get", "list", "watch"}, Namespaced: true},
	{Resource: "/configmaps", Verbs: []string{"create"}, Namespaced: true},
	{Resource: "/configmaps", Name: StateName, Verbs: []string{"get", "update"}, Namespaced: true},
	{Resource: "/events", Verbs: []string{"create", "patch"}},
	{Resource: "batch/jobs", Verbs: []string{"list", "watch"}},
}
