package endure

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/host"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// The steered queues, and one that is not steered. That one has its own application and no room for another; the policy tries to turn its knobs, too.
const (
	steered = "root.a,root.b"
	foreign = "root.c"
)

var (
	//go:embed knobs-capacity.xml
	knobCapacity string
	//go:embed knobs-fair.xml
	knobFair string
)

// knobQueues are the queues of the knobs.
func knobQueues(scheduler string) (queues string, o hadoop.Options) {
	o = hadoop.Options{Scheduler: scheduler, Site: map[string]string{
		"yarn.cluster.max-application-priority": "10", "yarn.am.liveness-monitor.expiry-interval-ms": "3600000", // the resident applications have no AM
	}}
	o.SchedulerXML = knobCapacity
	if scheduler == "fair" {
		o.SchedulerXML = knobFair
	}
	return steered, o
}

// turned are the knobs of each scheduler, with two values each.
var turned = map[string]map[string]string{
	"capacity": {"capacities": "30:50", "maximum-capacity": "70:85", "user-limit-factor": "2:3", "priority": "4:7", "queue": "root.a:root.b"},
	"fair":     {"weight": "2:3", "maxRunningApps": "30:50", "queue": "root.a:root.b"},
}

// knobs kills steerers that turn properties of two queues and the priorities and queues of applications. Each kill has its own choice of knobs.
func (s *Study) knobs(ctx context.Context, t *sheet) error {
	dir, err := s.folder("turner")
	if err != nil {
		return err
	}
	bin, err := host.Build(ctx, dir, "studies/endure/turner") // the command with the policy turn
	if err != nil {
		return err
	}
	return s.killed(ctx, t, map[string]int{"capacity": s.Knobs, "fair": s.Knobs}, []string{"mixed"}, func(ctx context.Context, k *killer) error {
		k.bin = bin
		names := slices.Sorted(maps.Keys(turned[k.scheduler]))
		k.policy = func() (string, []string) {
			args := []string{"--policy", "turn"}
			k.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
			chosen := names[:1+k.random.IntN(len(names))]
			if k.scheduler == "fair" && (k.n%2 == 0 || s.Brief && k.n > 3) { // restoring properties of a file takes 16 s
				chosen = []string{"queue"}
			}
			for _, name := range chosen {
				args = append(args, "--set", name+"="+turned[k.scheduler][name])
			}
			return "turn", args
		}
		return k.settlers(ctx)
	})
}

// settlers submits the resident applications, records where they belong, and tries by hand what the scheduler accepts.
func (k *killer) settlers(ctx context.Context) error {
	set, first := k.y.set, ""
	set.homes = map[string]home{}
	for i, q := range []string{"root.a", "root.a", "root.b", foreign} {
		id, err := k.y.submit(ctx, "carol", q, 1, i)
		if err != nil {
			return err
		}
		a, err := set.rm.App(ctx, id[0])
		if err != nil {
			return err
		}
		set.homes[a.ID] = home{a.Queue, a.Priority}
		first = cmp.Or(first, a.ID)
	}
	var err error
	if set.inForce, err = set.tree(ctx); err != nil {
		return err
	}
	for _, try := range []struct {
		what string
		do   func(h home) (rest.Result, error)
	}{
		{"priority 5", func(home) (rest.Result, error) { return set.rm.SetPriority(ctx, first, 5) }},
		{"its own priority again", func(h home) (rest.Result, error) { return set.rm.SetPriority(ctx, first, int(h.priority)) }},
		{"a move to another queue", func(home) (rest.Result, error) { return set.rm.MoveApp(ctx, first, "root.b") }},
		{"a move to a queue that has all the applications it may have", func(home) (rest.Result, error) { return set.rm.MoveApp(ctx, first, foreign) }},
		{"a move back", func(h home) (rest.Result, error) { return set.rm.MoveApp(ctx, first, h.queue) }},
	} {
		_, err := try.do(set.homes[first])
		a, lost := set.rm.App(ctx, first)
		if lost != nil {
			return lost
		}
		answer := "taken"
		if err != nil {
			answer = "refused: " + oneLine(err.Error())
		}
		k.sum.Tried = append(k.sum.Tried, fmt.Sprintf("%s: %s: %s; the application is then in %s with priority %d", k.scheduler, try.what, strings.ReplaceAll(answer, first, "ID"), a.Queue, a.Priority))
	}
	return nil
}

// heldKnobs counts open knobs by kind.
func heldKnobs(open []drive.Entry, policy string) map[string]int {
	if policy != "turn" {
		return nil
	}
	held := map[string]int{}
	for _, e := range open {
		name := map[steer.Kind]string{steer.SetPriority: "priority of an application", steer.MoveJob: "queue of an application"}[e.Knob.Kind]
		if e.Knob.Kind == steer.SetQueue {
			name = e.Knob.Property + " of " + e.Knob.Queue
		}
		held[name]++
	}
	return held
}
