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
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/marp"
	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/host"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// Study is the live study.
type Study struct {
	Size        Size
	Dir         string   // of the records and pictures
	Page        string   // the report's file
	Work        string   // of the daemons; "": a temporary folder
	Binary      string   // the program; "": it is built
	Schedulers  []string // fair, capacity
	Only        []string // arms; empty: all
	Repetitions int
	First       bool // raise the priority of the daemons and their jobs, where permitted
	Log         io.Writer

	program string // its version
}

// Seed of the orders in which the arms of a repetition run.
const Seed = 6

// sweeps reports whether a scheduler also runs the fixed shares between one job and all.
func sweeps(scheduler string) bool { return scheduler == "capacity" }

// Record runs the batches without a record.
func (s *Study) Record(ctx context.Context) error {
	bin, remove, err := host.Program(ctx, s.Binary)
	if err != nil {
		return err
	}
	defer remove()
	if s.program, err = evidence.Program(s.Dir, s.Binary); err != nil {
		return err
	}
	if s.First {
		end, err := host.First(-10)
		defer end()
		if err != nil {
			fmt.Fprintln(s.Log, "going before other work is not allowed here:", err)
		}
	}
	for from := 1; from <= s.Repetitions; from += round {
		for _, scheduler := range s.Schedulers {
			err := s.round(ctx, bin, scheduler, from)
			for again := 0; errors.Is(err, errStuck) && again < 3; again++ {
				fmt.Fprintf(s.Log, "%s: %v: again, on new daemons\n", scheduler, err)
				err = s.round(ctx, bin, scheduler, from)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", scheduler, err)
			}
		}
	}
	return nil
}

// round is how many repetitions run before switching to the other scheduler, with new daemons.
const round = 2

// todo is one batch to run.
type todo struct {
	arm               Arm
	repetition, place int
}

// plan is all batches of a scheduler in order: every arm once per repetition, reshuffled for each.
func (s *Study) plan(scheduler string) []todo {
	var list []todo
	for r := 1; r <= s.Repetitions; r++ {
		arms := s.Size.arms(sweeps(scheduler))
		which := uint64(r)
		if scheduler == "capacity" {
			which += 1000
		}
		random := rand.New(rand.NewPCG(Seed, which))
		random.Shuffle(len(arms), func(i, k int) { arms[i], arms[k] = arms[k], arms[i] })
		for i, a := range arms {
			if len(s.Only) == 0 || slices.Contains(s.Only, a.Name) {
				list = append(list, todo{a, r, i + 1})
			}
		}
	}
	return list
}

func (s *Study) file(scheduler string) string {
	return filepath.Join(s.Dir, scheduler+".jsonl.gz")
}

// round runs the missing batches of some repetitions, on its own daemons.
func (s *Study) round(ctx context.Context, bin, scheduler string, from int) error {
	have, err := kept(s.file(scheduler))
	if err != nil {
		return err
	}
	list := slices.DeleteFunc(s.plan(scheduler), func(t todo) bool {
		return t.repetition < from || t.repetition >= from+round || slices.ContainsFunc(have, func(b *Batch) bool { return b.Arm == t.arm.Name && b.Repetition == t.repetition })
	})
	if len(list) == 0 {
		return nil
	}
	work := s.Work
	if work != "" { // one folder per attempt
		if err := os.MkdirAll(s.Work, 0o755); err != nil {
			return err
		}
		if work, err = os.MkdirTemp(s.Work, fmt.Sprintf("%s-%d-", scheduler, from)); err != nil {
			return err
		}
	}
	all := marp.PRJ(s.Size.am(), s.Size.Jobs)
	o := s.Size.options(scheduler, all)
	o.Log = s.Log
	c, down, err := hadoop.UpIn(ctx, work, o)
	if err != nil {
		return err
	}
	defer down()
	rm, err := rest.New(rest.Options{RM: []string{c.RM()}, History: c.History(), Auth: rest.User("yardmaster"), RMRate: -1})
	if err != nil {
		return err
	}
	n := &bench{size: s.Size, c: c, rm: rm, share: all, binary: bin, log: s.Log}
	if s.Size.Archive {
		if err := n.archive(ctx); err != nil {
			return err
		}
		fmt.Fprintln(s.Log, "a batch to warm the daemons up")
		if _, err := n.batch(ctx, Arm{Name: "warm", Share: n.share}, 0, 0); err != nil {
			return fmt.Errorf("warming up: %w", err)
		}
	}
	fmt.Fprintf(s.Log, "%s: %d batches from repetition %d on\n", scheduler, len(list), from)
	began := time.Now()
	for i, t := range list {
		run := evidence.Begin(s.program)
		b, err := n.batch(ctx, t.arm, t.repetition, t.place)
		if err != nil {
			return fmt.Errorf("repetition %d, %s: %w", t.repetition, t.arm.Name, err)
		}
		b.Program = s.program
		if err := keep(s.file(scheduler), b, run); err != nil {
			return err
		}
		left := time.Duration(float64(time.Since(began)) / float64(i+1) * float64(len(list)-i-1)).Round(time.Second)
		fmt.Fprintf(s.Log, "%s %s %d/%d: repetition %d, %-10s %5.1f s, idle %4.1f core-s, %d writes, load %.1f; about %v left of this round\n", time.Now().Format("15:04:05"), scheduler, i+1, len(list),
			b.Repetition, b.Arm, b.span(), b.idle(), len(b.Writes), b.Load, left)
	}
	return nil
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

// waitsOf are the durations among a controller's settings, by name.
func waitsOf(d *marp.Settings) map[string]*unit.Time {
	return map[string]*unit.Time{"settle": &d.Settle, "warm": &d.Warm, "lockout": &d.Lockout, "nothing-waits": &d.NothingWaits, "after-increase": &d.AfterIncrease}
}

// waits are the controller's settings that differ from its defaults, in the command's syntax.
func (s Size) waits(policy, scheduler string) map[string]time.Duration {
	d := marp.Defaults(policy, queue)
	if scheduler == "capacity" {
		d = d.On(steer.CapacityAM)
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
