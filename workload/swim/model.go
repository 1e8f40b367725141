// Package swim reads the workload files of SWIM (the Statistical Workload Injector for MapReduce), such as the days of
// Facebook's clusters in 2009 and 2010 that its authors published.
//
// A line is a job: tab-separated and without a header, its name, when it was submitted (seconds), the gap since the job
// before (seconds), the bytes its maps read, the bytes it shuffles, the bytes it writes, and in some files the path it
// reads. There are no task counts, no lengths, no users and no queues. Those come from a Model, whose every parameter
// can be set and is printed with each result:
//
//	maps        = max(1, ceil(input / block))
//	reduces     = clamp(round((shuffle + output) / bytesPerReduce), 1, cap); 0 when nothing is shuffled
//	map time    = startUp + (input / maps) / mapRate
//	reduce time = startUp + ((shuffle + output) / reduces) / reduceRate
//
// A replay on another cluster first changes the bytes: see Replay.
//
// A job that shuffles nothing is assumed map-only, with its output written by its maps; the files do not say.
// Jobs are labelled light, medium or heavy by what they shuffle (below 1 MiB, up to 100 MiB, above).
package swim

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Model supplies what a SWIM file lacks.
type Model struct {
	Block          unit.Bytes     // input of one map
	BytesPerReduce unit.Bytes     // shuffle and output of one reduce
	ReduceCap      int64          // max reduces per job
	StartUp        unit.Time      // of every task
	MapRate        float64        // bytes a second
	ReduceRate     float64        // bytes a second
	SlowStart      float64        // share of a job's maps done before its reduces may take containers
	Ask            unit.Resources // of every task
	AM             unit.Resources // of a job's AM; zero: none
	Users          int            // jobs are assigned to this many users at random
	Queues         []string       // each user submits to one of these; empty: all in "default"
	Seed           uint64
	Replay         Replay // sizes jobs as SWIM's replay tool does; zero: as the file has them
}

// Replay is a replay of the trace of a cluster on another one, as SWIM's GenerateReplayScript prepares it: bytes are scaled by the number of machines; every job
// has some input, shuffle and output, and so a reduce; a job with more reduces than there are machines gets a fifth of their number.
type Replay struct{ Machines, Traced int64 }

// The minimum bytes of a replayed job.
const (
	replayedInput = 64 * unit.MiB
	replayedOther = 1024
)

// ParseReplay reads MACHINES/TRACED, such as 50/3000.
func ParseReplay(text string) (r Replay, err error) {
	if text == "" {
		return r, nil
	}
	machines, traced, _ := strings.Cut(text, "/")
	if r.Machines, err = strconv.ParseInt(machines, 10, 32); err == nil {
		r.Traced, err = strconv.ParseInt(traced, 10, 32)
	}
	if err != nil || r.Machines < 1 || r.Traced < 1 {
		return Replay{}, fmt.Errorf("%q: want MACHINES/TRACED, such as 50/3000", text)
	}
	return r, nil
}

func (r Replay) String() string {
	if r == (Replay{}) {
		return ""
	}
	return fmt.Sprintf("%d/%d", r.Machines, r.Traced)
}

// sizes are the bytes of a job's input, shuffle and output.
func (r Replay) sizes(of [3]unit.Bytes) [3]unit.Bytes {
	if r == (Replay{}) {
		return of
	}
	for i, minimum := range [3]unit.Bytes{replayedInput, replayedOther, replayedOther} {
		of[i] = max(unit.Bytes(min(float64(of[i])*float64(r.Machines)/float64(r.Traced), maxBytes)), minimum)
	}
	return of
}

// Default is the default model.
func Default() Model {
	return Model{
		Block:          128 * unit.MiB,
		BytesPerReduce: 1e9,
		ReduceCap:      1000,
		StartUp:        2 * unit.Second,
		MapRate:        16 * float64(unit.MiB),
		ReduceRate:     16 * float64(unit.MiB),
		SlowStart:      0.05,
		Ask:            cluster.Unit,
		Users:          200,
		Seed:           1,
	}
}

// Validate reports invalid parameters.
func (m *Model) Validate() error {
	rate := func(r float64) bool { return r > 0 && !math.IsInf(r, 0) }
	switch {
	case m.Block < 1:
		return errors.New("swim model: block must be positive")
	case m.BytesPerReduce < 1:
		return errors.New("swim model: bytes per reduce must be positive")
	case m.ReduceCap < 1:
		return errors.New("swim model: the most reduces a job may have must be at least 1")
	case m.StartUp < 0:
		return errors.New("swim model: start-up time must not be negative")
	case !rate(m.MapRate), !rate(m.ReduceRate):
		return errors.New("swim model: map and reduce rates must be positive")
	case !(m.SlowStart >= 0 && m.SlowStart <= 1):
		return fmt.Errorf("swim model: slow-start %v is not between 0 and 1", m.SlowStart)
	case m.Ask.Mem < 0, m.Ask.Cores < 0, m.Ask.IsZero():
		return fmt.Errorf("swim model: a container of %v", m.Ask)
	case m.Users < 1 || m.Users > maxUsers:
		return fmt.Errorf("swim model: %d users; want 1 to %d", m.Users, maxUsers)
	case m.Replay.Machines < 0, (m.Replay.Machines > 0) != (m.Replay.Traced > 0):
		return fmt.Errorf("swim model: a replay on %d machines of a trace of %d", m.Replay.Machines, m.Replay.Traced)
	}
	return nil
}

const maxUsers = 1_000_000

// Assumptions lists the model's assumptions, for users.
func (m Model) Assumptions() []string {
	queues := "all in queue default"
	if n := len(m.Queues); n > 0 {
		queues = fmt.Sprintf("each user in one of %d queues", n)
	}
	am := "no AM container"
	if !m.AM.IsZero() {
		am = fmt.Sprintf("an AM container of %v a job", m.AM)
	}
	mib := float64(unit.MiB)
	var list []string
	if r := m.Replay; r != (Replay{}) {
		list = append(list, fmt.Sprintf("swim: sizes as SWIM's replay tool makes them for %d machines of a trace of %d: bytes times %.4g, at least %v of input and %d bytes of shuffle and output a job; %d reduces where there would be more than %d",
			r.Machines, r.Traced, float64(r.Machines)/float64(r.Traced), replayedInput, replayedOther, max(r.Machines/5, 1), r.Machines))
	}
	return append(list,
		fmt.Sprintf("swim: one map for each %v of input, at least one; one reduce for each %d bytes of shuffle and output, 1 to %d; none when nothing is shuffled (the maps write the output)",
			m.Block, int64(m.BytesPerReduce), m.ReduceCap),
		fmt.Sprintf("swim: map time = %v + input of the map at %.4g MiB/s; reduce time = %v + shuffle and output of the reduce at %.4g MiB/s; no stragglers, no failures",
			m.StartUp, m.MapRate/mib, m.StartUp, m.ReduceRate/mib),
		fmt.Sprintf("swim: every task asks for %v; %s; reduces may take containers once %.4g %% of the maps are done", m.Ask, am, m.SlowStart*100),
		fmt.Sprintf("swim: jobs dealt at random to %d users (seed %d), %s", m.Users, m.Seed, queues),
	)
}

// Classes by shuffled bytes, as in the network-aware scheduling work on these files.
const (
	lightBelow  = unit.MiB
	mediumUpTo  = 100 * unit.MiB
	classLight  = "light"
	classMedium = "medium"
	classHeavy  = "heavy"
)

func class(shuffle unit.Bytes) string {
	switch {
	case shuffle < lightBelow:
		return classLight
	case shuffle <= mediumUpTo:
		return classMedium
	}
	return classHeavy
}

// maps is how many maps read input.
func (m *Model) maps(input unit.Bytes) int64 {
	n := int64(input / m.Block)
	if input%m.Block != 0 {
		n++
	}
	return max(1, n)
}

// reduces is how many reduces a job has.
func (m *Model) reduces(shuffle, output unit.Bytes) int64 {
	if shuffle == 0 {
		return 0
	}
	n := math.Round(float64(shuffle+output) / float64(m.BytesPerReduce))
	if here := m.Replay.Machines; here > 0 && n > float64(here) {
		n = float64(here / 5)
	}
	return int64(min(max(n, 1), float64(m.ReduceCap)))
}

// Stages builds a job's stages; sizes are at most maxBytes each, so their sum does not overflow.
func (m *Model) Stages(input, shuffle, output unit.Bytes) []workload.Stage {
	maps, reduces := m.maps(input), m.reduces(shuffle, output)
	first := workload.Stage{
		Name: "map", Kind: workload.Map, Tasks: maps, Ask: m.Ask, Input: input,
		Length: workload.Lengths{Kind: workload.Cost, A: m.StartUp, Work: input / unit.Bytes(maps), Rate: m.MapRate},
	}
	if reduces == 0 {
		first.Output = output
		return []workload.Stage{first}
	}
	return []workload.Stage{first, {
		Name: "reduce", Kind: workload.Reduce, Tasks: reduces, Ask: m.Ask, Output: output,
		After: []workload.Edge{{From: 0, Shuffle: shuffle, SlowStart: m.SlowStart}},
		Length: workload.Lengths{
			Kind: workload.Cost, A: m.StartUp, Work: (shuffle + output) / unit.Bytes(reduces), Rate: m.ReduceRate,
		},
	}}
}
