// Package steering runs the steering of a real ResourceManager as an experiment: batches of MapReduce jobs on real daemons, under fixed
// AM shares and under every controller of steer/marp, in turn and repeatedly, with the Fair and with the
// Capacity Scheduler.
//
// The controllers run as an operator runs them: the program's own "yarn steer --act", as a separate process. The cluster's behaviour is
// measured independently, by this package's own samples of the ResourceManager and of the kernel's counters, and stored: one record per
// batch, so that an interrupted study resumes, and anybody can recompute the report without Hadoop.
package steering

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"text/template"
	"time"

	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/steer/marp"
	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/harness"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// Study is the live study.
type Study struct {
	Size       Size
	Schedulers []string // fair, capacity; empty: both
}

const (
	// Seed of the orders in which the arms of a repetition run.
	Seed = 6
	// round is how many repetitions run before switching to the other scheduler, with new daemons.
	round = 2
)

// schedulers in the order of the page.
var schedulers = []string{"fair", "capacity"}

// sweeps reports whether a scheduler also runs the fixed shares between one job and all.
func sweeps(scheduler string) bool { return scheduler == "capacity" }

// Study declares it. Only batches without a record are run.
func (s *Study) Study() *harness.Study[Batch] {
	h := &harness.Study[Batch]{Options: harness.Options{Repetitions: 5}, Folder: "marp-live", Command: true, Resume: true, Again: errStuck, Template: pageText}
	for _, a := range s.Size.arms(true) {
		h.Ways = append(h.Ways, a.Name)
	}
	h.Flags = func(f *flag.FlagSet) {
		f.Func("scheduler", "fair, capacity or both (default: both)", func(name string) error {
			if s.Schedulers = []string{name}; name == "both" {
				s.Schedulers = nil
			} else if !slices.Contains(schedulers, name) {
				return errors.New("choose fair, capacity or both")
			}
			return nil
		})
		f.BoolFunc("first", "raise the priority of daemons and jobs, where permitted", func(string) error {
			h.Nice = -10
			return nil
		})
		f.BoolFunc("report", "the same as --offline", func(string) error { return f.Set("offline", "true") })
	}
	h.Parts = func() (parts []*harness.Study[Batch]) {
		which := s.Schedulers
		if len(which) == 0 {
			which = schedulers
		}
		for from := 1; from <= h.Repetitions; from += round {
			for _, scheduler := range which {
				part := s.part(h, scheduler)
				part.From, part.Repetitions = from, min(round, h.Repetitions-from+1)
				parts = append(parts, part)
			}
		}
		return parts
	}
	h.Stored = func() ([]evidence.Run, []*Batch, error) {
		var all []*Batch
		for _, scheduler := range schedulers {
			list, err := kept(h.Dir, scheduler)
			if err != nil {
				return nil, nil, err
			}
			all = append(all, list...)
		}
		return nil, all, nil
	}
	h.Facts = func(ctx context.Context, _ []evidence.Run, list []*Batch) (map[string]any, template.FuncMap, error) {
		return s.report(ctx, h.Dir, list)
	}
	return h
}

// part is the study with one scheduler: every arm once per repetition, reshuffled for each.
func (s *Study) part(whole *harness.Study[Batch], scheduler string) *harness.Study[Batch] {
	part, all := *whole, marp.PRJ(s.Size.am(), s.Size.Jobs)
	part.Key = func(b *Batch) (string, int) { return b.Arm, b.Repetition }
	part.Stored = func() ([]evidence.Run, []*Batch, error) {
		list, err := kept(whole.Dir, scheduler)
		return nil, list, err
	}
	part.Keep = func(began *evidence.Run, b *Batch) (evidence.Run, error) { return keep(whole.Dir, b, began) }
	part.Order = func(repetition int) (names []string) {
		which := uint64(repetition)
		if scheduler == "capacity" {
			which += 1000
		}
		for _, a := range s.Size.arms(sweeps(scheduler)) {
			names = append(names, a.Name)
		}
		rand.New(rand.NewPCG(Seed, which)).Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
		return names
	}
	part.Lab = func() hadoop.Options { return s.Size.options(scheduler, all) }
	var n *bench
	part.Ready = func(ctx context.Context, on *harness.Bench) (err error) {
		n = &bench{size: s.Size, c: on.Cluster, share: all, binary: on.Bin, log: on.Log}
		if n.rm, err = rest.New(rest.Options{RM: []string{n.c.RM()}, History: n.c.History(), Auth: rest.User("yardmaster"), RMRate: -1}); err != nil || !s.Size.Archive {
			return err
		}
		if err := n.archive(ctx); err != nil {
			return err
		}
		fmt.Fprintln(n.log, "a batch to warm the daemons up")
		if _, err := n.batch(ctx, Arm{Name: "warm", Share: n.share}, 0, 0); err != nil {
			return fmt.Errorf("warming up: %w", err)
		}
		return nil
	}
	part.Run = func(ctx context.Context, now *harness.Run) (*Batch, string, error) {
		b, err := n.batch(ctx, s.Size.arm(now.Way), now.Repetition, now.Place)
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", scheduler, err)
		}
		b.Program = now.Program
		return b, fmt.Sprintf("%s, %.1f s, idle %.1f core-s, %d writes", scheduler, b.span(), b.idle(), len(b.Writes)), nil
	}
	return &part
}

// Size is the cluster and the batch.
//
// AMs and tasks are of one size, and the queue is the whole cluster: it holds twelve of them. All six jobs at once leave half of it to
// their tasks, three per processor; one job alone leaves eleven.
type Size struct {
	Nodes, NodeMB, NodeVcores int
	ContainerMB               int // of AMs and tasks
	MinMB                     int // minimum allocation, and the Fair Scheduler's steps of it, which are 1024 by default
	Jobs, Maps, Reduces       int
	Bytes                     int64 // of each map's input
	Archive                   bool  // start processes from a class archive, and warm the daemons up with a first batch
	// Scale is the ratio of the controllers' waits to the source's, whose jobs took about 130 s each when alone.
	Scale float64
	// FileWait is the min wait after an increase with the Fair Scheduler, which takes up to 15 s to reload its file.
	FileWait time.Duration
}

// Sizes of the study and of the miniature that tests run.
var (
	Full = Size{Archive: true, Nodes: 3, NodeMB: 2048, NodeVcores: 4, ContainerMB: 512, MinMB: 128, Jobs: 6, Maps: 2, Reduces: 1, Bytes: 1 << 20, Scale: 1.0 / 4, FileWait: 15 * time.Second}
	Mini = Size{Nodes: 2, NodeMB: 3072, NodeVcores: 6, ContainerMB: 512, MinMB: 128, Jobs: 4, Maps: 1, Reduces: 1, Bytes: 1 << 14, Scale: 1.0 / 4, FileWait: 15 * time.Second}
)

const queue = "root.default"

// QueueMB is what the queue may use.
func (s Size) QueueMB() int { return s.Nodes * s.NodeMB }

// AM is one AM's share of the queue.
func (s Size) am() float64 { return float64(s.ContainerMB) / float64(s.QueueMB()) }

// Arm is one way to run a batch.
type Arm struct {
	Name   string
	Share  float64 // configured when the jobs are submitted
	Policy string  // the controller; "": the share is fixed
	What   string
}

// arms of a scheduler, including the sweep.
func (s Size) arms(sweep bool) []Arm {
	one, all := marp.Derive(s.am()).Start, marp.PRJ(s.am(), s.Jobs)
	list := []Arm{
		{"fifo", one, "", "one job at a time"},
		{"prj", all, "", "all jobs at once"},
	}
	if sweep {
		list = append(list, Arm{"prj-2", marp.SlotShare(s.am(), 2), "", "two jobs at a time"})
		list = append(list, Arm{"0.9", 0.9, "", "more than all jobs need"})
	}
	for _, name := range []string{"cbt", "cbtws", "cbtwat", "ahead", "kalman-mem"} {
		list = append(list, Arm{name, one, name, "controller"})
	}
	return list
}

// arm is the one with that name.
func (s Size) arm(name string) Arm {
	arms := s.arms(true)
	return arms[slices.IndexFunc(arms, func(a Arm) bool { return a.Name == name })]
}

// waitsOf are the durations among a controller's settings, by name.
func waitsOf(d *marp.Settings) map[string]*unit.Time {
	return map[string]*unit.Time{"settle": &d.Settle, "warm": &d.Warm, "lockout": &d.Lockout, "nothing-waits": &d.NothingWaits, "after-increase": &d.AfterIncrease}
}

// waits are the controller's settings that differ from its defaults, in the command's syntax.
func (s Size) waits(policy, scheduler string) map[string]time.Duration {
	d := marp.Defaults(policy, queue)
	if scheduler == "capacity" {
		d = d.On(amlimit.Capacity)
	}
	m := map[string]time.Duration{}
	for name, v := range waitsOf(&d) {
		if samples := name == "lockout" || name == "nothing-waits"; *v > 0 && (!samples || policy == "cbtws" || policy == "cbtwat") {
			m[name] = (time.Duration(float64(*v)*s.Scale) * time.Microsecond).Round(100 * time.Millisecond)
		}
	}
	if v, ok := m["after-increase"]; ok && scheduler == "fair" {
		m["after-increase"] = max(v, s.FileWait)
	}
	return m
}

// options configure the cluster.
func (s Size) options(scheduler string, share float64) hadoop.Options {
	xml := fairFile(share)
	if scheduler == "capacity" {
		xml = capacityFile(share)
	}
	mb := strconv.Itoa(s.ContainerMB)
	return hadoop.Options{
		Scheduler: scheduler, SchedulerXML: xml, Nodes: s.Nodes, NodeMB: s.NodeMB, NodeVcores: s.NodeVcores, HDFS: true, History: true,
		Site: map[string]string{"yarn.scheduler.minimum-allocation-mb": strconv.Itoa(s.MinMB), "yarn.scheduler.increment-allocation-mb": strconv.Itoa(s.MinMB), "yarn.resourcemanager.rm.container-allocation.expiry-interval-ms": "600000"},
		Mapred: map[string]string{
			"yarn.app.mapreduce.am.resource.mb": mb, "mapreduce.map.memory.mb": mb, "mapreduce.reduce.memory.mb": mb,
		},
	}
}

// text is a share as the scheduler's files have it.
func text(share float64) string { return strconv.FormatFloat(share, 'f', -1, 64) }

func fairFile(share float64) string {
	return `<?xml version="1.0"?>
<allocations>
  <queue name="default"><maxAMShare>` + text(share) + `</maxAMShare></queue>
  <queuePlacementPolicy><rule name="specified"/><rule name="default" queue="default"/></queuePlacementPolicy>
</allocations>
`
}

func capacityFile(share float64) string {
	return hadoop.Properties("yarn.scheduler.capacity.", map[string]string{
		"root.queues": "default", "root.default.capacity": "100", "root.default.maximum-am-resource-percent": text(share), "root.acl_administer_queue": "*", "node-locality-delay": "-1",
	})
}
