// Package sls reads the inputs of Hadoop's Scheduler Load Simulator (hadoop-sls): its own job traces (Reader), its
// descriptions of synthetic workloads (SynthReader) and its node files (ReadNodes).
//
// A job of an SLS trace lists tasks ("job.tasks"), each with a type, a size, a length and how often it repeats. Tasks of
// the same type and size become one stage. As in SLS, a mapreduce job asks for its reduces when its last map is done
// (slow-start 1); in other jobs (dag, stream) no stage waits for another. Submit times are taken as given, unless they
// count from 1970, when the first job's becomes 0.
//
// Unsupported features of SLS are counted in Notes: request delays, opportunistic containers, node
// labels, and streams that ask for a new container when one ends.
package sls

import (
	"cmp"
	"fmt"
	"io"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Limits that keep a hostile file from exhausting memory.
const (
	MaxTasks  = 500_000       // tasks of a job that are listed one by one
	MaxCount  = 1_000_000_000 // "count" of a task: identical tasks cost nothing
	MaxCopies = 1_000_000     // "job.count" of a job
	MaxHosts  = 200_000       // different hosts that a job names
	maxName   = 255           // bytes of a name

	maxHostBytes = 16 << 20 // bytes of the names of all its hosts
)

// Times, in milliseconds.
const (
	maxInstant = 100_000_000_000_000     // 1970 to the year 5138
	maxLength  = 10 * 365 * 24 * 3600000 // ten years
	sinceEpoch = 100_000_000_000         // a submit time from here on counts from 1970: three years are no offset
)

// Options says how a trace is interpreted. The zero value is what SLS does.
type Options struct {
	Ask  unit.Resources // container of a task without a size; zero: 1024 MiB, 1 vcore (yarn.sls.container.*)
	AM   unit.Resources // container of a job's AM without a size; zero: 1024 MiB, 1 vcore (yarn.sls.am.container.*)
	NoAM bool           // jobs have no AM
}

func (o Options) withDefaults() Options {
	o.Ask, o.AM = cmp.Or(o.Ask, cluster.Unit), cmp.Or(o.AM, cluster.Unit)
	return o
}

// Reader streams the jobs of an SLS trace in the order of the file, holding one job at a time.
type Reader struct {
	opt    Options
	js     *input.JSON
	err    error
	p      parser
	base   int64
	based  bool
	last   unit.Time
	counts counts

	nodes, racks int64 // what the trace itself says of the cluster ("num.nodes", "num.racks"); 0: nothing
}

// The file's order is kept, which need not be that of submit times: sort the jobs before a run.
var _ workload.Source = (*Reader)(nil)

// NewReader reads an SLS trace from r; name is what errors call it.
func NewReader(r io.Reader, name string, opt Options) *Reader {
	rd := &Reader{opt: opt.withDefaults(), js: input.NewJSON(r, name)}
	rd.p.js, rd.p.ask = rd.js, rd.opt.Ask
	return rd
}

// Next returns the next job; io.EOF after the last.
func (r *Reader) Next() (*workload.Job, error) {
	for r.err == nil {
		if j := r.copy(); j != nil {
			return j, nil
		}
		err := r.js.Record()
		if err == nil {
			err = r.p.job()
		}
		if err == nil {
			err = r.build()
		}
		r.err = err
	}
	return nil, r.err
}

// copy returns one of the identical jobs that "job.count" asks for.
func (r *Reader) copy() *workload.Job {
	if r.p.left == 0 {
		return nil
	}
	j := r.p.made
	if r.p.count > 1 {
		again := *j
		again.ID = fmt.Sprintf("%s_%d", j.ID, r.p.count-r.p.left+1)
		j = &again
	}
	r.p.left--
	r.counts.kept++
	r.counts.tasks += j.Tasks()
	return j
}

// build makes a job from the parser's fields.
func (r *Reader) build() error {
	p, c := &r.p, &r.counts
	if p.nodes > 0 {
		r.nodes, r.racks = p.nodes, max(p.racks, 1)
	}
	switch {
	case !p.isJob && p.nodes > 0: // a header
		return nil
	case !p.isJob:
		return r.js.Errorf("neither a job (job.tasks) nor a header (num.nodes): is this an SLS trace?")
	}
	c.jobs++
	if len(p.groups) == 0 {
		c.noTasks++
		return nil
	}
	if p.tooMany() {
		return r.js.Errorf("job %s has more than %d tasks that differ or name hosts: refused", p.id, MaxTasks)
	}
	if !r.based {
		r.based = true
		if p.start >= sinceEpoch {
			r.base = p.start
			c.rebased++
		}
	}
	j := &workload.Job{
		ID: p.id, User: p.user, Queue: p.queue, Submit: unit.Time(p.start-r.base) * unit.Millisecond,
		AM: r.am(), Stages: p.stages(c),
	}
	if p.id == "" {
		j.ID = fmt.Sprintf("job_%d", r.js.Records())
	}
	if j.Queue == "" {
		j.Queue = "default"
		c.noQueue++
	}
	j.User = cmp.Or(j.User, "default")
	if j.Submit < 0 {
		j.Submit = 0
		c.early++
	}
	if p.end >= p.start && p.end > 0 {
		j.Observed = &workload.Observed{
			Launch: unit.Time(p.start-r.base) * unit.Millisecond,
			Finish: unit.Time(p.end-r.base) * unit.Millisecond,
		}
	}
	if err := j.Validate(); err != nil {
		return r.js.Errorf("%w", err)
	}
	if j.Submit < r.last {
		c.unsorted++
	}
	r.last = max(r.last, j.Submit)
	c.see(p)
	p.made, p.left = j, p.count
	return nil
}

func (r *Reader) am() unit.Resources {
	if r.opt.NoAM {
		return unit.Resources{}
	}
	m := r.opt.AM
	m.Mem, m.Cores, m.Extra = cmp.Or(r.p.amMem, m.Mem), cmp.Or(r.p.amCores, m.Cores), cmp.Or(r.p.amExtra, m.Extra)
	return m
}

// Sniff says whether the beginning of a file looks like an SLS job trace.
func Sniff(prefix []byte) bool {
	k := input.JSONKeys(prefix)
	return k["job.tasks"] || k["job.start.ms"] || k["num.nodes"] || k["yarn.sls.am.type"] || k["am.type"]
}

// SniffSynth says whether the beginning of a file looks like a SYNTH description.
func SniffSynth(prefix []byte) bool {
	k := input.JSONKeys(prefix)
	return k["workloads"] && (k["num_jobs"] || k["num_nodes"] || k["rand_seed"]) || k["num_jobs"] && k["rand_seed"]
}

// SniffNodes says whether the beginning of a file looks like an SLS node file.
func SniffNodes(prefix []byte) bool {
	k := input.JSONKeys(prefix)
	return k["nodes"] && (k["rack"] || len(k) == 1)
}
