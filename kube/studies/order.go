package main

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yardmaster/yardmaster/kube/engine"
	"github.com/yardmaster/yardmaster/kube/lab"
	simkube "github.com/yardmaster/yardmaster/sim/kube"
	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/harness"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

func init() {
	verbs = append(verbs, verb{"order", "a recorded live run of every policy, replayed by the simulator: do the same jobs start in the same order?", newOrder().study().Verb})
}

// order is the study of the order in which jobs start.
type order struct {
	site
	jobs    []job
	systems []*system
}

func newOrder() *order {
	return &order{fullSite, fullSize.made(fullSite), slices.Concat(ours(scheduler, ""), ours(controller, "-controller"))}
}

// orderRecord is one run, as far as a replay needs it.
type orderRecord struct {
	Way        string
	Repetition int
	Site       site
	Jobs       []job
	Settings   map[string]string
	Stamps     []millis // when the jobs were created, as the API server says: in whole seconds
	Pods       [][]podEnd
	Events     []event
}

// podEnd is what the cluster says of a pod that is over.
type podEnd struct {
	Node   string
	Worked int // whole seconds
}

func (o *order) study() *harness.Study[orderRecord] {
	h := &harness.Study[orderRecord]{
		Options: harness.Options{Repetitions: 1}, Folder: folder("order"), Series: "run", Template: orderPage, Run: o.run,
		Small: func() { o.site, o.jobs = miniSite, miniSize.made(miniSite) },
		Key:   func(r *orderRecord) (string, int) { return r.Way, r.Repetition },
		Facts: func(ctx context.Context, _ []evidence.Run, records []*orderRecord) (map[string]any, template.FuncMap, error) {
			return o.facts(ctx, records)
		},
	}
	for _, s := range o.systems {
		h.Ways = append(h.Ways, s.name)
	}
	return h
}

func (o *order) run(ctx context.Context, now *harness.Run) (*orderRecord, string, error) {
	s := o.systems[slices.IndexFunc(o.systems, func(s *system) bool { return s.name == now.Way })]
	r := &orderRecord{Way: now.Way, Repetition: now.Repetition, Site: o.site, Jobs: o.jobs, Settings: s.settings}
	if err := within(ctx, now.Log, func(t testing.TB) {
		s.play(t, r.Site, r.Jobs, func(l *lab.Lab, begin time.Time) { r.see(t, l, begin) })
	}); err != nil {
		return nil, "", err
	}
	c, err := r.compare(ctx)
	if err != nil {
		return nil, "", err
	}
	return r, fmt.Sprintf("of %d jobs %d in another order, of %d pods %d", len(r.Jobs), c.Moved, c.Releases, c.Elsewhere), nil
}

// see records what the cluster knows at the end of a run.
func (r *orderRecord) see(t testing.TB, l *lab.Lab, begin time.Time) {
	r.Events = logged(t, l, begin, r.Jobs)
	at := map[string]int{}
	for i, j := range r.Jobs {
		o, err := l.Client.BatchV1().Jobs(j.Team).Get(t.Context(), j.Name, metav1.GetOptions{})
		check(t, err)
		at[j.Team+"/"+j.Name] = i
		r.Stamps = append(r.Stamps, millis(o.CreationTimestamp.Sub(begin).Milliseconds()))
		r.Pods = append(r.Pods, make([]podEnd, len(j.Lengths)))
	}
	pods, err := l.Client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	check(t, err)
	for k := range pods.Items {
		p := &pods.Items[k]
		_, _, worked := engine.Ended(p)
		r.Pods[at[p.Namespace+"/"+p.Labels[batchv1.JobNameLabel]]][index(p)] = podEnd{p.Spec.NodeName, int(worked / unit.Second)}
	}
}

// replay is a way to replay a run, each with less of what the cluster showed than the one before.
type replay int

const (
	inTurns replay = iota // the policy is asked when it was asked live, which is after several news at times
	byNews                // it is asked after all news
	atOnce                // likewise, and all pods of a job are there with the first
	replays
)

// replay plays the run with the Kubernetes clock: jobs come when their first pods were seen, and their other pods when these were; a pod holds its room until its own end is
// known, from its release or, where the policy is asked after all news, from those by which it was released, such as another's end. Nothing else takes time. It gives
// the jobs of the pods that start.
func (r *orderRecord) replay(ctx context.Context, how replay) ([]string, error) {
	to, list, err := r.Site.simulated(r.Jobs)
	if err != nil {
		return nil, err
	}
	news, from, number := unit.Time(0), map[[2]int]unit.Time{}, map[[2]int]int{}
	seen, worked := map[*workload.Job][]unit.Time{}, map[*workload.Job][]unit.Time{}
	ended, left := map[*workload.Job]unit.Time{}, map[*workload.Job]unit.Time{}
	var turns []unit.Time
	for _, e := range r.Events {
		pod, j := [2]int{e.Job, e.Pod}, list[e.Job]
		switch e.What {
		case "release":
			if from[pod] = news; how == inTurns {
				from[pod] = e.At
			}
			if len(turns) == 0 || turns[len(turns)-1] < e.At {
				turns = append(turns, e.At)
			}
			continue
		case "bind":
			continue
		case "see": // the simulator's n-th pod of a job is that which was seen as the n-th
			number[pod], seen[j] = len(seen[j]), append(seen[j], e.At)
			worked[j] = append(worked[j], unit.Time(r.Pods[e.Job][e.Pod].Worked)*unit.Second)
		case "leave":
			left[j] = e.At - ended[j]
		case "end":
			ended[j] = e.At
			j.Stages[0].Length.Values[number[pod]] = e.At - from[pod]
		}
		news = e.At
	}
	for i, j := range list {
		if j.Submit = seen[j][0]; r.Jobs[i].Within > 0 {
			j.Deadline = (r.Stamps[i] + r.Jobs[i].Within).unit()
		}
	}
	slices.SortStableFunc(list, func(a, b *workload.Job) int { return cmp.Compare(a.Submit, b.Submit) })
	c := simkube.Config{
		Worked: func(j *workload.Job, _ int, pod int64) unit.Time { return worked[j][pod] },
		Left:   func(j *workload.Job) unit.Time { return left[j] },
	}
	if how == inTurns {
		c.Turns = turns
	}
	if how != atOnce {
		c.Creation = func(j *workload.Job, _ int, pod int64) unit.Time { return seen[j][pod] - j.Submit }
	}
	o, err := simulate(ctx, to, list, r.Settings, c)
	if err != nil {
		return nil, err
	}
	return o.starts, nil
}

// comparison of a live run and its replays.
type comparison struct {
	*orderRecord
	Releases  int          // of pods
	Moved     [replays]int // jobs in another order
	Elsewhere [replays]int // releases whose place has a pod of another job
	Each      []moved      // jobs in another order if the policy is asked after all news
}

// moved is a job that starts in another order than another.
type moved struct {
	Name, Other string
	Live        unit.Time // from the start of the other job to its own
	Turns       bool      // also if the policy is asked when it was asked live
}

func (r *orderRecord) compare(ctx context.Context) (*comparison, error) {
	c := &comparison{orderRecord: r}
	var was []string
	for _, e := range r.Events {
		if e.What == "release" {
			was = append(was, r.Jobs[e.Job].Name)
		}
	}
	c.Releases = len(was)
	var stay []string // in another order in turns
	for how := range replays {
		is, err := r.replay(ctx, how)
		if err != nil {
			return nil, err
		}
		for i := range was {
			if i >= len(is) || is[i] != was[i] {
				c.Elsewhere[how]++
			}
		}
		out := outOf(firsts(was), firsts(is))
		c.Moved[how] = len(out)
		switch how {
		case inTurns:
			stay = out
		case byNews:
			for _, name := range out {
				m := r.passed(name, firsts(was), firsts(is))
				m.Turns = slices.Contains(stay, name)
				c.Each = append(c.Each, m)
			}
		}
	}
	return c, nil
}

// firsts are the jobs in the order of their first pods.
func firsts(pods []string) (jobs []string) {
	known := map[string]bool{}
	for _, name := range pods {
		if !known[name] {
			known[name], jobs = true, append(jobs, name)
		}
	}
	return jobs
}

// outOf are as few as possible without which both orders are the same: those outside of a longest common subsequence.
func outOf(was, is []string) (list []string) {
	at := map[string]int{}
	for i, name := range is {
		at[name] = i
	}
	best, before, last := make([]int, len(was)), make([]int, len(was)), -1
	for k, name := range was {
		best[k], before[k] = 1, -1
		for m, other := range was[:k] {
			if at[other] < at[name] && best[m] >= best[k] {
				best[k], before[k] = best[m]+1, m
			}
		}
		if last < 0 || best[k] > best[last] {
			last = k
		}
	}
	stays := map[string]bool{}
	for k := last; k >= 0; k = before[k] {
		stays[was[k]] = true
	}
	return slices.DeleteFunc(slices.Clone(was), func(name string) bool { return stays[name] })
}

// passed says of a job that starts in another place which job it passed, or was passed by: the one whose start was farthest from its own.
func (r *orderRecord) passed(name string, was, is []string) moved {
	at := map[string]unit.Time{}
	for _, e := range slices.Backward(r.Events) {
		if e.What == "release" {
			at[r.Jobs[e.Job].Name] = e.At
		}
	}
	m := moved{Name: name}
	for _, other := range was {
		swapped := (slices.Index(was, name) < slices.Index(was, other)) != (slices.Index(is, name) < slices.Index(is, other))
		if gap := at[name] - at[other]; swapped && (m.Other == "" || max(gap, -gap) > max(m.Live, -m.Live)) {
			m.Other, m.Live = other, gap
		}
	}
	return m
}

//go:embed order.md.tmpl
var orderPage string

func (o *order) facts(ctx context.Context, records []*orderRecord) (map[string]any, template.FuncMap, error) {
	var all []*comparison
	for _, r := range records {
		c, err := r.compare(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("%s, repetition %d: %w", r.Way, r.Repetition, err)
		}
		all = append(all, c)
	}
	const other = "-controller"
	return map[string]any{"All": all, "First": records[0]}, template.FuncMap{
		"ms":     func(t unit.Time) string { return fmt.Sprintf("%.1f ms", max(t, -t).Seconds()*1000) },
		"policy": func(way string) string { return strings.TrimSuffix(way, other) },
		"driver": func(way string) string {
			if strings.HasSuffix(way, other) {
				return "controller"
			}
			return "scheduler"
		},
	}, nil
}

// Trickle is the time from a job's first pod's being there to its last one's: median and maximum.
func (r *orderRecord) Trickle() [2]unit.Time {
	seen := map[int][]unit.Time{}
	for _, e := range r.Events {
		if e.What == "see" {
			seen[e.Job] = append(seen[e.Job], e.At)
		}
	}
	var spans []unit.Time
	for _, at := range seen {
		spans = append(spans, at[len(at)-1]-at[0])
	}
	return extremes(spans)
}

// Lag is the time from news of the cluster to the release of a pod that follows: median and maximum.
func (r *orderRecord) Lag() [2]unit.Time {
	var lags []unit.Time
	news := unit.Time(0)
	for _, e := range r.Events {
		switch e.What {
		case "release":
			lags = append(lags, e.At-news)
		case "see", "end", "leave":
			news = e.At
		}
	}
	return extremes(lags)
}

func extremes(times []unit.Time) [2]unit.Time {
	slices.Sort(times)
	if len(times) == 0 {
		return [2]unit.Time{}
	}
	return [2]unit.Time{times[len(times)/2], times[len(times)-1]}
}
