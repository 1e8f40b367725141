package marp

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/steer"
	control "github.com/yardmaster/yardmaster/steer/marp"
	"github.com/yardmaster/yardmaster/unit"
)

// The source's cluster: three nodes on one host, and masters of 1536 MB that are given 2 GiB.
const sourceNodes = 3

var (
	sourceNode   = unit.Resources{Mem: 17 * 1024, Cores: 17}
	sourceMaster = unit.Resources{Mem: 2048, Cores: 1}
	sourceTask   = unit.Resources{Mem: 1024, Cores: 1}
	sourceLeast  = unit.Resources{Mem: 1024, Cores: 1}
)

// masterShare is what one master takes of all memory.
func masterShare() float64 { return float64(sourceMaster.Mem) / float64(sourceNodes*sourceNode.Mem) }

// batch is n jobs of a benchmark on the source's cluster, with a share that is not set yet.
func (b *bench) batch(n int, seed uint64) Batch {
	return Batch{Nodes: sourceNodes, Node: sourceNode, Model: b.model(), Jobs: b.jobs(n, seed)}
}

// under sets what a batch is played under: fifo, prj, prj-K, share-S or a controller's name, on a scheduler.
//
// Controllers begin from the source's 0.050 and move by its steps; kalman-mem begins from its own 0.1.
func (b Batch) under(name string, on Scheduler) Batch {
	b.Scheduler = on
	kind, arg, _ := strings.Cut(name, "-")
	switch {
	case name == "fifo":
		b.Share = control.SourceFIFO
	case name == "prj":
		if b.Share = control.SourcePRJ; len(b.Jobs) > 6 {
			b.Share = control.PRJ(masterShare(), len(b.Jobs))
		}
	case kind == "prj":
		k, err := strconv.ParseInt(arg, 10, 64)
		if err != nil {
			panic("marp: " + name)
		}
		b.Share = control.SlotShare(masterShare(), k)
	case kind == "share":
		share, err := strconv.ParseFloat(arg, 64)
		if err != nil {
			panic("marp: " + name)
		}
		b.Share = share
	default:
		b.Controller, b.Settings = name, control.Defaults(name, Queue)
		b.Settings.Limit, b.Settings.Master, b.Settings.Least = on.Rule(), sourceMaster, sourceLeast
		b.Settings.Headroom = false // as published: it goes by the processors of the cluster, which is one queue
		b.Share = control.SourceFIFO
		if name == "kalman-mem" {
			b.Share = b.Settings.Min
		} else {
			b.Settings.Steps = control.SourceSteps()
		}
	}
	return b
}

func (b Batch) with(change func(*control.Settings)) Batch {
	change(&b.Settings)
	return b
}

// undelayed takes a new share at once.
func (b Batch) undelayed() Batch {
	b.Delays = &steer.Delays{}
	return b
}

// title is a variant's name for people.
func title(name string) string {
	if t, ok := map[string]string{"fifo": "FIFO", "prj": "PRJ", "cbt": "CBT", "cbtws": "CBTwS", "cbtwat": "CBTwAT"}[name]; ok {
		return t
	}
	if k, ok := strings.CutPrefix(name, "prj-"); ok {
		return fmt.Sprintf("PRJ-%s", k)
	}
	return name
}
