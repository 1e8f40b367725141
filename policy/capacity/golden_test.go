package capacity

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// The scenarios in testdata are scripts of commands and the transcripts they print; run with -rewrite to regenerate them.
//
//	config mem=N               settings as lines: a scheduler from a file, on a cluster of N GiB with as many vcores
//	plain mem=N [args]         the scheduler without a file, with parameters as lines
//	arrive ID user= queue= [tasks=] [gb=] [AM=] [prio=]
//	offer [n=]                 so many free containers, or until nobody takes one; prints who takes each
//	end ID [n=] [lost]         the job's oldest n containers (its AM last) come back
//	set QUEUE PROPERTY VALUE | move ID QUEUE | priority ID N | resize mem=
//	state                      queues, users and applications
func TestScenarios(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, path := range scripts {
		t.Run(filepath.Base(path), func(t *testing.T) {
			s := &scenario{}
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return s.run(t, d) })
		})
	}
}

type scenario struct {
	o *Order
	w *world
}

func (s *scenario) run(t *testing.T, d *datadriven.TestData) string {
	gb := func(key string, otherwise int64) unit.Resources {
		d.MaybeScanArgs(t, key, &otherwise)
		return mb(otherwise * 1024)
	}
	fail := func(err error) string {
		if err != nil {
			return err.Error()
		}
		return "ok"
	}
	switch d.Cmd {
	case "config":
		s.o = fromSettings(t, strings.Fields(d.Input)...)
		s.w = newWorld(gb("mem", 100), s.o)
		return s.state()
	case "plain":
		p := policy.Params{}
		for _, line := range strings.Fields(d.Input) {
			k, v, _ := strings.Cut(line, "=")
			p[k] = v
		}
		s.o = fromParams(t, p)
		s.w = newWorld(gb("mem", 100), s.o)
		return s.state()
	case "resize":
		s.w.resize(gb("mem", 100))
		return s.state()
	case "arrive":
		user, queue, prio, tasks := "u", "", 0, int64(1)
		d.MaybeScanArgs(t, "user", &user)
		d.MaybeScanArgs(t, "queue", &queue)
		d.MaybeScanArgs(t, "prio", &prio)
		d.MaybeScanArgs(t, "tasks", &tasks)
		return fail(s.w.arrive(d.CmdArgs[0].Key, user, queue, prio, gb("am", 0), gb("gb", 1), tasks))
	case "offer":
		n := 1000
		d.MaybeScanArgs(t, "n", &n)
		return s.offer(n)
	case "end":
		n := 1
		d.MaybeScanArgs(t, "n", &n)
		j := s.w.jobs[d.CmdArgs[0].Key]
		for ; n > 0 && len(j.running) > 0; n-- {
			i := 0
			if j.running[0].stage == policy.AMStage && len(j.running) > 1 && !d.HasArg("am") {
				i = 1
			}
			s.w.end(j, i, d.HasArg("lost"))
		}
		return "ok"
	case "set":
		var v float64
		fmt.Sscan(d.CmdArgs[2].Key, &v)
		old, err := s.o.SetQueue(d.CmdArgs[0].Key, d.CmdArgs[1].Key, v)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("was %.6g", old)
	case "move":
		return fail(s.o.Move(&s.w.jobs[d.CmdArgs[0].Key].Job, d.CmdArgs[1].Key))
	case "priority":
		j := s.w.jobs[d.CmdArgs[0].Key]
		old := j.Priority
		fmt.Sscan(d.CmdArgs[1].Key, &j.Priority)
		s.o.SetPriority(&j.Job, old)
		return "ok"
	case "state":
		return s.state()
	}
	t.Fatalf("unknown command %s", d.Cmd)
	return ""
}

// offer prints runs of takers: a x3, b, a.
func (s *scenario) offer(n int) string {
	var runs []string
	last, count := "", 0
	flush := func() {
		switch {
		case count == 1:
			runs = append(runs, last)
		case count > 1:
			runs = append(runs, fmt.Sprintf("%s x%d", last, count))
		}
	}
	for range n {
		id := s.w.once()
		if id != last {
			flush()
			last, count = id, 0
		}
		if id == "" {
			runs = append(runs, "nobody")
			count = 0
			break
		}
		count++
	}
	if last != "" {
		flush()
	}
	return strings.Join(runs, ", ")
}

func (s *scenario) state() string {
	var b strings.Builder
	var walk func(q *queue, indent string)
	walk = func(q *queue, indent string) {
		fmt.Fprintf(&b, "%s%s: used %d of %d..%d MB", indent, q.Name, q.Used.Mem, q.EffMin.Mem, q.EffMax.Mem)
		if l := q.Leaf; l != nil {
			saved := *l // looking must not bring a stale limit up to date
			defer func() { *l = saved }()
			all, one := s.o.amLimits(q)
			fmt.Fprintf(&b, "; AMs %d of %d, one user %d; user limit %d; active users %d\n", l.AMUsed.Mem, all.Mem, one.Mem,
				s.o.UserLimit(&q.Queue).Mem, l.ActiveUsers)
			for _, j := range s.w.list {
				if a := &s.o.apps[j.Index]; s.o.users[a.user].q == q {
					fmt.Fprintf(&b, "%s  %s of %s: %s, holds %d MB, waits for %d\n", indent, j.ID, j.User,
						[...]string{"absent", "not activated", "active"}[a.state], a.used.Mem, j.Pending)
				}
			}
		} else {
			b.WriteByte('\n')
		}
		for _, k := range q.Children {
			walk(k, indent+"  ")
		}
	}
	walk(s.o.Root, "")
	return b.String()
}
