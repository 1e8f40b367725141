// Package kube reads the history of a Kubernetes cluster, and says what its pods are to a policy: of which job, queue and user, and how large.
//
// The rules are the same for a history and for the live cluster. They assume that whoever may create pods in a namespace writes every label, annotation and
// owner reference there as he likes. So a job's key begins with its namespace, and its queue and user are what the settings give the namespace. A label chooses
// among these at most.
package kube

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/unit"
)

// Domain is that of the labels and annotations that are read.
const Domain = "yardmaster.io/"

const (
	maxName    = 253 // bytes of a name that is printed
	maxGang    = 1 << 20
	maxDevices = 4
)

// Rules say what pods are to a policy. They do not change.
type Rules struct {
	queue, user choice
	priority    bool
	devices     []string
}

// choice is how a queue or a user is chosen.
type choice struct {
	label string              // that chooses; "": none does
	of    map[string][]string // the names that a namespace may choose from, its own first; the namespace "" has those of all others
}

// anyName in a list lets the namespace choose every name.
const anyName = "*"

// NewRules reads settings. Others are the names of settings that the caller reads:
//
//	queue: namespace       # or label: the label yardmaster.io/queue, as far as the next lines allow
//	queues.NAMESPACE: a,b  # the queues of a namespace, the first where no label chooses; * lets it choose any. Default: the namespace's name
//	queues: a              # of all other namespaces
//	user: namespace        # or label: the label yardmaster.io/user, likewise
//	users.NAMESPACE: a,b
//	priority: no           # yes: jobs have the priority of their pods
//	gpu: nvidia.com/gpu    # extended resources that policies count, separated by commas
func NewRules(settings map[string]string, others ...string) (*Rules, error) {
	r := &Rules{queue: choice{of: map[string][]string{}}, user: choice{of: map[string][]string{}}}
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		value := strings.TrimSpace(settings[key])
		if slices.Contains(others, key) {
			continue
		}
		if err := r.set(key, value, others); err != nil {
			return nil, fmt.Errorf("setting %s: %w", shown(key), err)
		}
	}
	return r, nil
}

func (r *Rules) set(key, value string, others []string) (err error) {
	list, namespace, named := strings.Cut(key, ".")
	switch {
	case key == "queue":
		r.queue.label, err = either(value, Domain+key)
	case key == "user":
		r.user.label, err = either(value, Domain+key)
	case key == "priority":
		if r.priority = value == "yes"; !r.priority && value != "no" {
			err = fmt.Errorf("%q is neither yes nor no", shown(value))
		}
	case key == "gpu":
		r.devices, err = devices(value)
	case list == "queues" && named == (namespace != ""):
		r.queue.of[namespace], err = names(value)
	case list == "users" && named == (namespace != ""):
		r.user.of[namespace], err = names(value)
	default:
		known := append([]string{"queue", "queues", "user", "users", "priority", "gpu"}, others...)
		err = fmt.Errorf("there is no such setting%s", suggest.Hint(shown(key), known))
	}
	return err
}

// either returns the label that chooses, if one does.
func either(value, label string) (string, error) {
	switch value {
	case "label":
		return label, nil
	case "namespace":
		return "", nil
	}
	return "", fmt.Errorf("%q is neither namespace nor label", shown(value))
}

// names reads a list of queues or users.
func names(text string) ([]string, error) {
	var all []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name == "" || name != shown(name) {
			return nil, fmt.Errorf("%q is not a list of names: write a,b,c", shown(text))
		}
		all = append(all, name)
	}
	return all, nil
}

// devices reads a list of extended resources.
func devices(text string) ([]string, error) {
	all, err := names(text)
	for _, name := range all {
		domain, _, extended := strings.Cut(name, "/")
		if _, bad := (unit.Extra{}).With(name, 1); bad != nil {
			return nil, bad
		}
		if !extended || domain == "" || strings.HasSuffix(domain, "kubernetes.io") {
			return nil, fmt.Errorf("%q is not an extended resource, as nvidia.com/gpu is", name)
		}
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) > maxDevices {
		return nil, fmt.Errorf("%d resources; at most %d are counted", len(all), maxDevices)
	}
	return all, err
}

// Identity is what a pod is to a policy.
type Identity struct {
	Key      string // of its job; begins with the namespace
	Name     string // of its job, for people: NAMESPACE/NAME
	Owner    Owner  // of its job, if it is a controller: whose end is the job's end
	Queue    string
	User     string
	Class    string
	Stage    string // its role in the job
	Gang     int64  // pods of the stage that start together; 0: no gang
	Priority int
	Deadline time.Time // zero: none, or Within
	Within   unit.Time // the deadline, after the job's creation; 0: none
	Ignored  string    // the first label or annotation that is not understood: "yardmaster.io/gang: ..."
}

// Due is the deadline of a job that was created then; zero: it has none.
func (id *Identity) Due(created time.Time) time.Time {
	if id.Within > 0 {
		return created.Add(time.Duration(id.Within) * time.Microsecond)
	}
	return id.Deadline
}

// Labels of others.
const (
	jobSet     = "jobset.sigs.k8s.io/jobset-"
	replicated = "jobset.sigs.k8s.io/replicatedjob-name"
	sparkApp   = "spark-app-selector"
	sparkName  = "spark-app-name"
	sparkRole  = "spark-role"

	zone         = "topology.kubernetes.io/zone"
	instanceType = "node.kubernetes.io/instance-type"
)

// Job says which job a pod belongs to: its JobSet, its Spark application, its controller (a Job), the label yardmaster.io/job, or itself.
func (r *Rules) Job(p *Pod) Identity {
	label := func(name string) string { return shown(p.Labels[name]) }
	id := Identity{Class: label(Domain + "class"), Stage: label(Domain + "stage")}
	key, name, stage := "pod/"+p.UID, p.Name, ""
	owner := slices.IndexFunc(p.Owners, func(o Owner) bool { return o.Controller && o.UID != "" })
	switch {
	case label(jobSet+"uid") != "":
		id.Owner = Owner{Kind: "JobSet", Name: label(jobSet + "name"), UID: label(jobSet + "uid"), Controller: true}
		stage = label(replicated)
	case label(sparkApp) != "":
		key, name, stage = "spark/"+label(sparkApp), cmp.Or(label(sparkName), label(sparkApp)), label(sparkRole)
	case owner >= 0:
		id.Owner = p.Owners[owner]
	case label(Domain+"job") != "":
		key, name = "label/"+label(Domain+"job"), label(Domain+"job")
	}
	if id.Owner.UID != "" {
		key, name = id.Owner.UID, id.Owner.Name
	}
	id.Key, id.Name, id.Stage = shown(p.Namespace+"/"+key), shown(p.Namespace+"/"+name), cmp.Or(id.Stage, stage)
	id.Queue, id.User = r.queue.name(p), r.user.name(p)
	if r.priority {
		id.Priority = int(p.Spec.Priority)
	}
	id.read(p)
	return id
}

// read reads what a tenant may get wrong.
func (id *Identity) read(p *Pod) {
	const gang, deadline = Domain + "gang", Domain + "deadline"
	if text, set := p.Labels[gang]; set {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 || n > maxGang {
			id.Ignored = fmt.Sprintf("%s: %q is not a number from 1 to %d", gang, shown(text), maxGang)
		} else if n > 1 {
			id.Gang = n
		}
	}
	text, set := p.Annotations[deadline]
	if !set {
		return
	}
	within, err := unit.ParseTime(text)
	if d, bad := time.ParseDuration(text); bad == nil { // 1h30m
		within, err = unit.Time(d.Microseconds()), nil
	}
	if at, bad := time.Parse(time.RFC3339, text); bad == nil && at.Year() >= 2000 && at.Year() < 2200 {
		id.Deadline = at
	} else if err == nil && within > 0 && within <= 10*365*unit.Day {
		id.Within = within
	} else {
		id.Ignored = cmp.Or(id.Ignored, fmt.Sprintf("%s: %q is not a time, as 2026-11-01T06:00:00Z, nor a time after the job's creation, as 2h", deadline, shown(text)))
	}
}

// name chooses the queue or the user of a pod.
func (c *choice) name(p *Pod) string {
	allowed, ruled := c.of[p.Namespace]
	if !ruled {
		allowed = c.of[""]
	}
	if wish := shown(p.Labels[c.label]); c.label != "" && wish != "" && (slices.Contains(allowed, wish) || slices.Contains(allowed, anyName)) && wish != anyName {
		return wish
	}
	if len(allowed) == 0 || allowed[0] == anyName {
		return shown(p.Namespace)
	}
	return allowed[0]
}

// shown is text from the cluster as it may be printed: not long, without control characters.
func shown(text string) string {
	if len(text) > maxName {
		text = strings.ToValidUTF8(text[:maxName], "")
	}
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, text)
}
