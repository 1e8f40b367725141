package whatif

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/yardmaster/yardmaster/report"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/workload"
)

// defaultInMemory is the number of jobs that are worth keeping: a few hundred megabytes.
const defaultInMemory = 300_000

// lots keeps what the runs of one seed share: its jobs, if they are few enough, and their times on the empty cluster. Jobs
// are read when the first run of the seed wants them and dropped after its last one.
type lots struct {
	plan Plan
	lot  []*lot
	same *jobs // when all seeds have the same jobs
}

// lot is one seed's part.
type lot struct {
	mu    sync.Mutex
	left  int // runs still to come
	alone *sim.Alone
	jobs  *jobs
	// assumed is what the source of this seed's jobs says of itself; it outlives the jobs.
	assumed []string
}

// jobs is a workload that is read at most once.
type jobs struct {
	once  sync.Once
	kept  workload.Slice // nil: too many to keep
	notes []string
	err   error

	assumed []string
}

// opened is a workload for one run.
type opened struct {
	src   workload.Source
	total int64 // jobs; 0 when nobody knows
	alone *sim.Alone
	notes []string // set when the jobs were read already
}

// close releases the source and returns what its reader had to say about it.
func (o *opened) close() []string {
	if o.notes == nil {
		o.notes = notesOf(o.src)
	}
	if c, ok := o.src.(io.Closer); ok {
		_ = c.Close() // it was only read
	}
	return o.notes
}

// notesOf asks a reader what it dropped and assumed, once it has read everything.
func notesOf(src workload.Source) []string {
	notes := []string{}
	if n, ok := src.(interface{ Notes() []workload.Note }); ok {
		for _, note := range n.Notes() {
			text := note.Text
			if note.Count > 0 {
				text += " (" + report.Number(note.Count) + ")"
			}
			notes = append(notes, "workload: "+text)
		}
	}
	return notes
}

func newLots(p Plan) *lots {
	l := &lots{plan: p, same: &jobs{}}
	for range p.Seeds {
		l.lot = append(l.lot, &lot{left: len(p.Schedulers)})
	}
	return l
}

// open returns the jobs of a seed and what its runs share.
func (l *lots) open(ctx context.Context, seed int) (*opened, error) {
	lt, number := l.lot[seed], l.plan.Seeds[seed]
	lt.mu.Lock()
	if lt.alone == nil {
		lt.alone = sim.NewAlone(l.plan.Cluster, l.plan.Model, number)
		if lt.jobs = l.same; !l.plan.Workload.Same {
			lt.jobs = &jobs{}
		}
	}
	alone, js := lt.alone, lt.jobs
	lt.mu.Unlock()

	js.once.Do(func() { js.err = l.read(ctx, number, js) })
	if js.err != nil {
		return nil, js.err
	}
	if js.kept != nil {
		lt.says(js.assumed)
		return &opened{src: js.kept.Source(), total: int64(len(js.kept)), alone: alone, notes: js.notes}, nil
	}
	src, err := l.plan.Workload.Open(number)
	if err != nil {
		return nil, err
	}
	lt.says(assumptionsOf(src))
	total := l.plan.Workload.Jobs
	if n, ok := src.(interface{ Jobs() int64 }); ok && total == 0 {
		total = n.Jobs()
	}
	return &opened{src: src, total: total, alone: alone}, nil
}

// shared returns the jobs that all seeds have in common; nil where seeds have their own, or the jobs are too many to keep. An error of
// the reader is told by the first run.
func (l *lots) shared(ctx context.Context) workload.Slice {
	if !l.plan.Workload.Same {
		return nil
	}
	l.same.once.Do(func() { l.same.err = l.read(ctx, l.plan.Seeds[0], l.same) })
	return l.same.kept
}

// read collects a workload into js if it is small enough.
func (l *lots) read(ctx context.Context, seed uint64, js *jobs) error {
	most := cmp.Or(l.plan.Workload.InMemory, defaultInMemory)
	if most < 0 || l.plan.Workload.Jobs > int64(most) {
		return nil
	}
	src, err := l.plan.Workload.Open(seed)
	if err != nil {
		return err
	}
	if c, ok := src.(io.Closer); ok {
		defer c.Close()
	}
	kept := workload.Slice{}
	for {
		j, err := src.Next()
		if errors.Is(err, io.EOF) {
			js.kept, js.notes, js.assumed = kept, notesOf(src), assumptionsOf(src)
			return nil
		}
		if err != nil {
			return err
		}
		if kept = append(kept, j); len(kept) > most {
			return nil
		}
		if len(kept)%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// says notes what a seed's source says of itself.
func (lt *lot) says(assumed []string) {
	lt.mu.Lock()
	defer lt.mu.Unlock()
	lt.assumed = assumed
}

// assumptionsOf asks a source what it made up.
func assumptionsOf(src workload.Source) []string {
	if a, ok := src.(interface{ Assumptions() []string }); ok {
		return a.Assumptions()
	}
	return nil
}

// ofSeed puts what a seed's source says of itself in the place of what the first seed's says. It is called when all runs are over.
func (l *lots) ofSeed(assumptions []string, seed int) []string {
	first, own := l.lot[0].assumed, l.lot[seed].assumed
	if slices.Equal(first, own) || len(own) == 0 {
		return assumptions
	}
	var out []string
	placed := false
	for _, line := range assumptions {
		if !slices.Contains(first, line) {
			out = append(out, line)
		} else if !placed {
			out, placed = append(out, own...), true
		}
	}
	return out
}

// done says that a run of a seed is over.
func (l *lots) done(seed int) {
	lt := l.lot[seed]
	lt.mu.Lock()
	defer lt.mu.Unlock()
	if lt.left--; lt.left == 0 {
		lt.alone, lt.jobs = nil, nil
	}
}
