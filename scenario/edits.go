package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/cluster/clusterfile"
	"github.com/yardmaster/yardmaster/internal/setting"
	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/trace"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Move submits the jobs of a user, a class or a queue to another queue.
type Move struct{ Kind, Name, To string }

func (m Move) String() string { return m.Kind + ":" + m.Name + "=" + m.To }

// editSettings change the cluster and the workload that a scenario names.
func editSettings() []Setting {
	return []Setting{
		setting.Text("nodes", "", "N", "more or fewer nodes like the cluster's: +100, -10 or 700", func(s *Scenario) *string { return &s.Nodes }, func(v string) error {
			if v == "" {
				return nil
			}
			_, _, err := cluster.ParseSize(v)
			return err
		}),
		list("move", "", "WHO=QUEUE", "submit jobs to another queue: user:ana=root.adhoc, class:etl=root.batch or queue:root.a=root.b; the first that applies",
			func(s *Scenario) *[]Move { return &s.Moves }, parseMove, Move.String),
		list("gang", "", "WHO", "all tasks of a stage of these jobs start together: user:ana, class:train or queue:root.models",
			func(s *Scenario) *[]Move { return &s.Gangs }, parseGang, func(m Move) string { return m.Kind + ":" + m.Name }),
		executorSetting(),
		list("lose-node", "model", "NODE@TIME[+FOR]", "lose a node at a given time, for a while or for good: node7@1h+10m",
			func(s *Scenario) *[]sim.Loss { return &s.Model.Losses }, parseLoss, formatLoss),
		list("lose-rack", "model", "RACK@TIME[+FOR]", "lose all nodes of a rack: rack3@12h+30m",
			func(s *Scenario) *[]sim.Loss { return &s.RackLosses }, parseLoss, formatLoss),
	}
}

func parseMove(text string) (Move, error) {
	selector, queue, ok := text, "", false
	if i := strings.LastIndexAny(text, "= "); i > 0 {
		selector, queue, ok = strings.TrimSpace(text[:i]), text[i+1:], true
	}
	m, err := parseGang(selector)
	if !ok || queue == "" || err != nil {
		return Move{}, fmt.Errorf("%q does not say who moves where; write user:NAME=QUEUE, class:NAME=QUEUE or queue:NAME=QUEUE", text)
	}
	m.To = queue
	return m, nil
}

// parseGang parses a selector of jobs.
func parseGang(text string) (Move, error) {
	kind, name, _ := strings.Cut(text, ":")
	if name == "" || kind != "user" && kind != "class" && kind != "queue" {
		return Move{}, fmt.Errorf("%q selects no jobs; write user:NAME, class:NAME or queue:NAME", text)
	}
	return Move{Kind: kind, Name: name}, nil
}

// attribute is what a move selects a job by.
func (m *Move) attribute(j *workload.Job) string {
	switch {
	case m.Kind == "user":
		return j.User
	case m.Kind == "class":
		return j.Class
	case m.Kind == "job" && j.ID == m.Name:
		return j.ID
	case m.Kind == "job":
		return j.Name
	case j.Queue == "":
		return "default"
	}
	return j.Queue
}

// openCluster opens the cluster, with as many nodes as the scenario says.
func (s *Scenario) openCluster() (*cluster.Cluster, error) {
	c, err := trace.OpenCluster(s.Cluster)
	switch {
	case errors.Is(err, clusterfile.ErrFile):
		return nil, err
	case err != nil:
		return nil, &MisuseError{err}
	case s.Nodes == "":
		return c, nil
	case s.Data.Network != "":
		c.Network = nil // the setting replaces it
	}
	if c, err = c.Resize(s.Nodes); err != nil {
		return nil, misuse("nodes: %w", err)
	}
	return c, nil
}

// resolveLosses rejects losses of nodes and racks that do not exist, and replaces racks by their nodes.
func (s *Scenario) resolveLosses(out *Setup) error {
	if len(s.Model.Losses)+len(s.RackLosses) == 0 {
		return nil
	}
	c := out.Cluster
	names := make(map[string]bool, len(c.Nodes))
	racks := make([][]string, len(c.Racks))
	for _, n := range c.Nodes {
		names[n.Name] = true
		racks[n.Rack] = append(racks[n.Rack], n.Name)
	}
	for _, l := range s.Model.Losses {
		if !names[l.Node] {
			return misuse("lose-node: the cluster has no node %q; its first is %q", l.Node, c.Nodes[0].Name)
		}
	}
	out.Model.Losses = slices.Clone(s.Model.Losses)
	for _, l := range s.RackLosses {
		r := slices.IndexFunc(c.Racks, func(name string) bool { return strings.Trim(name, "/") == strings.Trim(l.Node, "/") })
		switch {
		case r < 0 && len(c.Racks) == 1:
			return misuse("lose-rack: the cluster has no rack %q: its only one is %q", l.Node, c.Racks[0])
		case r < 0:
			return misuse("lose-rack: the cluster has no rack %q: its racks are %q to %q%s", l.Node, c.Racks[0], c.Racks[len(c.Racks)-1], suggest.Hint(l.Node, c.Racks))
		}
		for _, node := range racks[r] {
			out.Model.Losses = append(out.Model.Losses, sim.Loss{Node: node, At: l.At, For: l.For})
		}
	}
	return nil
}

// lossAssumptions lists the nodes and racks that are lost.
func (s *Scenario) lossAssumptions() (out []string) {
	add := func(kind string, losses []sim.Loss) {
		for _, l := range losses {
			until := "for good"
			if l.For > 0 {
				until = "for " + l.For.String()
			}
			out = append(out, fmt.Sprintf("cluster: %s %s is lost %v after the start, %s", kind, l.Node, l.At, until))
		}
	}
	add("node", s.Model.Losses)
	add("rack", s.RackLosses)
	if len(out) > 0 && s.Clock != Ideal {
		out = append(out, "cluster: the loss of a node is known at once (a ResourceManager waits up to 10 min); lost tasks are requested again; a job whose AM is lost starts over in a new attempt; the output of finished tasks is not lost")
	}
	return out
}

// checkMoves rejects queues that a scheduler's file does not have.
func (s *Scenario) checkMoves(out *Setup) error {
	for i := range out.Schedulers {
		scheduler := &out.Schedulers[i]
		if len(s.Moves) == 0 || !s.isFile(scheduler.Name) {
			continue
		}
		_, _, leaves, err := scheduler.Publishes()
		if err != nil {
			return err
		}
		for _, m := range s.Moves {
			if len(leaves) > 0 && !slices.ContainsFunc(leaves, func(leaf string) bool { return conf.QueueNamesMatch(leaf, m.To) }) {
				return misuse("move %v: %s has no queue %q to submit to%s", m, scheduler.Name, m.To, suggest.Hint(m.To, leaves))
			}
		}
	}
	return nil
}

// edit applies the settings move, gang and executors to jobs, which are shared and not modified. A queue that jobs name already keeps that name: root.batch and batch
// are one. A selector that selects none is an error.
func (s *Scenario) edit(jobs workload.Slice) (workload.Slice, error) {
	out := slices.Clone(jobs)
	for i := len(s.Moves) - 1; i >= 0; i-- { // the first that applies decides
		m := &s.Moves[i]
		queue := m.To
		if k := slices.IndexFunc(jobs, func(j *workload.Job) bool { return conf.QueueNamesMatch(j.Queue, m.To) }); k >= 0 {
			queue = jobs[k].Queue
		}
		if !m.change(jobs, out, func(j *workload.Job) { j.Queue = queue }) {
			return nil, m.nobody("move "+m.String(), jobs)
		}
	}
	for i := range s.Gangs {
		m := &s.Gangs[i]
		if !m.change(jobs, out, func(j *workload.Job) {
			j.Stages = slices.Clone(j.Stages)
			for k := range j.Stages {
				j.Stages[k].Gang = j.Stages[k].Tasks
			}
		}) {
			return nil, m.nobody("gang "+m.Kind+":"+m.Name, jobs)
		}
	}
	return out, s.editExecutors(jobs, out)
}

// change changes copies, in out, of the jobs that m selects, and reports whether there are any.
func (m *Move) change(jobs, out workload.Slice, do func(*workload.Job)) (found bool) {
	for k, j := range jobs {
		if v := m.attribute(j); v == m.Name || m.Kind == "queue" && conf.QueueNamesMatch(v, m.Name) {
			changed := *out[k]
			do(&changed)
			out[k], found = &changed, true
		}
	}
	return found
}

func (m *Move) nobody(setting string, jobs workload.Slice) error {
	var names []string
	for _, j := range jobs {
		if v := m.attribute(j); len(names) < 1000 && !slices.Contains(names, v) {
			names = append(names, v)
		}
	}
	return misuse("%s: no job of the workload has the %s %q%s", setting, m.Kind, m.Name, suggest.Hint(m.Name, names))
}
