package endure

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
	"github.com/yardmaster/yardmaster/studies/lab/steerer"
)

// FaultResult is the result of one fault: a wrong answer or a refusal.
type FaultResult struct {
	Case    string   `json:"case"`
	Where   string   `json:"where"`    // "REST", or "file"
	Samples int      `json:"looks"`    // samples while it lasted
	Writes  []string `json:"writes"`   // attempted writes meanwhile; "" is unset
	Line    string   `json:"line"`     // the first line that reports it
	Ended   bool     `json:"ended"`    // the steerer exited by itself
	Again   int64    `json:"again_ms"` // from the fault's end to the next change; -1: none
	Miss    string   `json:"miss,omitempty"`
}

// faults injects faults into the real ResourceManager's answers, one after another, and makes files unwritable.
func (s *Study) faults(ctx context.Context, t *sheet) error {
	if err := s.restFaults(ctx, t); err != nil {
		return err
	}
	return s.fileFaults(ctx, t)
}

// addFault adds a result.
func (s *Study) addFault(t *sheet, row *FaultResult) {
	s.say("%s: %s %s", row.Case, row.Line, row.Miss)
	row.Line = strings.ReplaceAll(row.Line, s.work, "WORK") // the records are published
	t.add(row, row.Miss, "%s", row.Case)
}

func (s *Study) restFaults(ctx context.Context, t *sheet) error {
	y, err := s.open(ctx, "lies-rest", queue, hadoop.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = y.Down() }()
	l := &load{c: y.Cluster, queue: queue, apps: 60, hold: 6000}
	if err := l.begin(ctx, y.rm); err != nil {
		return err
	}
	defer l.cancel()
	x, err := NewProxy(y.RM())
	if err != nil {
		return err
	}
	defer x.Close()
	for _, c := range faultCases() {
		if s.Brief && !c.brief {
			continue
		}
		row, err := s.inject(ctx, y, x, c)
		if err != nil {
			return err
		}
		s.addFault(t, &row)
	}
	t.Sum.Apps, err = y.leave(ctx, l, &t.Sum, "REST")
	return err
}

// inject injects one fault into a running steerer, or one about to start.
func (s *Study) inject(ctx context.Context, y *yard, x *Proxy, c faultCase) (FaultResult, error) {
	row := FaultResult{Case: c.name, Where: "REST", Again: -1}
	miss := func(format string, a ...any) {
		if row.Miss == "" {
			row.Miss = fmt.Sprintf(format, a...)
		}
	}
	if c.first {
		x.Inject(&c.fault)
	}
	p, err := y.steer(s.bin, x.URL, nil, lively("300ms")...)
	if err != nil {
		return row, err
	}
	defer p.End()
	if !c.first {
		if !p.Await(ctx, 20*time.Second, 0, "taken") {
			miss("it changed nothing while all was well: %s", p.Last())
		}
		x.Inject(&c.fault)
		time.Sleep(300 * time.Millisecond) // drain requests in flight
	}
	p.Fresh()
	x.Asked()
	long := c.long
	if long == 0 {
		long = 4 * time.Second
		if s.Brief {
			long /= 2
		}
	}
	proc.Await(ctx, long, 50*time.Millisecond, func() bool { return !p.Alive() })
	lines, asked := p.Fresh(), x.Asked()
	row.Ended = !p.Alive()
	row.Writes = values(asked)
	for _, line := range lines {
		if k := line.Kind(); k == "decided" || k == "blind" {
			row.Samples++
		}
	}
	row.Line = firstReport(lines)
	if row.Line == "" && row.Ended {
		row.Line = p.Last()
	}
	if row.Line == "" {
		miss("no line tells of it")
	}
	refused := c.fault.Status != nil && changes(asked) > 0 // it may request what is refused
	for _, v := range row.Writes {
		if v != "" && v != y.set.configured && !refused { // otherwise it is restored
			miss("it changed something: %q", v)
		}
	}
	x.Inject(nil)
	cleared := time.Now()
	if !row.Ended {
		if p.Await(ctx, 60*time.Second, p.Count("taken"), "taken") {
			row.Again = time.Since(cleared).Milliseconds()
		} else {
			miss("it did not go on afterwards: %s", p.Last())
		}
		if _, ok := p.Stop(40 * time.Second); !ok {
			miss("it does not end")
		}
	}
	if !y.set.original(ctx) || !y.set.obeyed(ctx) {
		now, _ := y.set.read(ctx)
		miss("the setting is not as found: %s", now)
	}
	if open := openJournal(y.journal); open != "" {
		miss("%s", open)
	}
	if row.Miss != "" {
		p.Keep(filepath.Join(s.work, "lie "+c.name+".log"))
	}
	return row, nil
}

// firstReport is the first line that reports the fault.
func firstReport(list []steerer.Line) string {
	for _, want := range [][]string{{"blind", "refused", "unverified", "foreign", "restore-failed", "dead-man"}, {"decided"}} {
		for _, l := range list {
			for _, k := range want {
				if l.Kind() != k || k == "decided" && l.Field("decision") != "refuse" {
					continue
				}
				why := l.Field("why")
				if e := l.Field("error"); e != "" && !strings.Contains(why, e) {
					why += ": " + e
				}
				return k + ": " + strings.TrimPrefix(why, ": ")
			}
		}
	}
	return ""
}

// faultCase is one fault and how it is injected.
type faultCase struct {
	name  string
	fault Fault
	first bool          // injected from the start
	long  time.Duration // duration; 4 s, in CI 2 s
	brief bool          // also run in CI
}

// answers reports whether a path is one of the ResourceManager's named answers.
func answers(path string, names ...string) bool {
	name, ok := strings.CutPrefix(path, "/ws/v1/cluster/")
	return ok && slices.Contains(names, name)
}

// every calls f for each object below x, x included.
func every(x any, f func(m map[string]any)) {
	switch x := x.(type) {
	case map[string]any:
		f(x)
		for _, v := range x {
			every(v, f)
		}
	case []any:
		for _, v := range x {
			every(v, f)
		}
	}
}

// put sets fields wherever they occur; nil deletes them.
func put(value any, names ...string) func(x map[string]any) {
	return func(x map[string]any) {
		every(x, func(m map[string]any) {
			for _, n := range names {
				if _, ok := m[n]; ok && value != nil {
					m[n] = value
				} else {
					delete(m, n)
				}
			}
		})
	}
}

// fields alters an answer's fields.
func fields(answer string, change ...func(x map[string]any)) Fault {
	return Fault{JSON: func(path string, x map[string]any) {
		if answers(path, answer) {
			for _, f := range change {
				f(x)
			}
		}
	}}
}

// numbers replaces every number of some answers with a text.
func numbers(text string, names ...string) Fault {
	number := regexp.MustCompile(`:\s*-?[0-9.]+(E-?[0-9]+)?([,}])`)
	return Fault{Text: func(path string, b []byte) []byte {
		if answers(path, names...) {
			return number.ReplaceAll(b, []byte(":"+text+"$2"))
		}
		return b
	}}
}

var countNames = []string{"numApplications", "numActiveApplications", "numPendingApplications", "numPendingApps", "numActiveApps", "numContainers"}

// faultCases are the faults over REST.
func faultCases() []faultCase {
	status := func(put bool, code int, text string) Fault {
		return Fault{Status: func(r *http.Request) (int, string) {
			if put && r.Method != http.MethodPut {
				return 0, ""
			}
			return code, text
		}}
	}
	replaced := func(text string) Fault { return Fault{Text: func(string, []byte) []byte { return []byte(text) }} }
	noNodes := Fault{JSON: func(path string, x map[string]any) {
		if answers(path, "metrics") {
			put(json.Number("0"), "activeNodes", "totalNodes", "totalMB", "totalVirtualCores", "availableMB", "availableVirtualCores")(x)
		}
		if answers(path, "nodes") {
			x["nodes"] = nil
		}
	}}
	broken := status(false, 500, "java.lang.NullPointerException")
	return []faultCase{
		{name: "every count of the queue is negative", brief: true, fault: fields("scheduler", put(json.Number("-7"), countNames...))},
		{name: "the cluster's counts are negative", fault: fields("metrics",
			put(json.Number("-1"), "appsPending", "appsRunning", "totalMB", "allocatedMB", "totalVirtualCores", "allocatedVirtualCores", "activeNodes"))},
		{name: "every number is NaN", brief: true, fault: numbers("NaN", "scheduler", "metrics", "apps")},
		{name: "every number is 1e300", fault: numbers("1e300", "scheduler", "metrics")},
		{name: "every number is 99999999999999999999", fault: numbers("99999999999999999999", "scheduler", "metrics")},
		{name: "10^9 applications wait in the queue", brief: true, fault: fields("scheduler", put(json.Number("1000000000"), "numPendingApplications", "numPendingApps"))},
		{name: "500 more wait than are listed", fault: fields("scheduler", put(json.Number("500"), "numPendingApplications", "numPendingApps"))},
		{name: "the list of applications is empty", fault: fields("apps", func(x map[string]any) { x["apps"] = nil })},
		{name: "progress is 10^9 %", fault: fields("apps", put(json.Number("1000000000"), "progress"))},
		{name: "progress is -50 %", fault: fields("apps", put(json.Number("-50"), "progress"))},
		{name: "applications have no progress, state or queue", fault: fields("apps", put(nil, "progress", "state", "queue"))},
		{name: "applications have no id", fault: fields("apps", put(nil, "id"))},
		{name: "the queue is not in the tree", fault: fields("scheduler", put("elsewhere", "queueName"), put("root.elsewhere", "queuePath"))},
		{name: "the queue has no counts and no sizes", fault: fields("scheduler", put(nil, countNames...),
			put(nil, "AMResourceLimit", "usedAMResource", "configuredMaxAMResourceLimit", "resourcesUsed", "absoluteMaxCapacity", "absoluteCapacity"))},
		{name: "the cluster has no counts", fault: fields("metrics", func(x map[string]any) { x["clusterMetrics"] = map[string]any{} })},
		{name: "no nodes", brief: true, fault: noNodes},
		{name: "no nodes, from the start", first: true, fault: noNodes},
		{name: "half of each answer", fault: Fault{Text: func(_ string, b []byte) []byte { return b[:len(b)/2] }}},
		{name: "a login page instead of each answer", fault: replaced("<html><head><title>Sign in</title></head><body></body></html>")},
		{name: "an empty object instead of each answer", fault: replaced("{}")},
		{name: "500 for everything", brief: true, fault: broken},
		{name: "500 for everything, from the start", first: true, fault: broken},
		{name: "500 for changes", fault: status(true, 500, "java.lang.NullPointerException")},
		{name: "400 for changes", brief: true, fault: status(true, 400, "Illegal value of maximumAMResource Percent")},
		{name: "403 for changes", fault: status(true, 403, "Only admins can carry out this operation.")},
		{name: "changes are answered 200 and not made", fault: status(true, 200, ""), long: 45 * time.Second},
		{name: "nothing listens", brief: true, fault: Fault{Refuse: true}},
		{name: "nothing listens, from the start", first: true, fault: Fault{Refuse: true}},
		{name: "each answer takes 30 s", fault: Fault{Stall: 30 * time.Second}, long: 35 * time.Second},
		{name: "nothing listens for 80 s", fault: Fault{Refuse: true}, long: 80 * time.Second},
	}
}

// values are the shares that the changes would set: the value beside the knob's name, or none for an unset.
func values(list []Request) (all []string) {
	find := regexp.MustCompile(amPercent + `</key>\s*(<value>([^<]*)</value>)?`)
	for _, r := range list {
		if m := find.FindStringSubmatch(r.Body); m != nil {
			all = append(all, m[2])
		} else if strings.Contains(r.Body, amPercent) {
			all = append(all, r.Body)
		}
	}
	return all
}
