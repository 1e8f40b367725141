package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/jobfile"
	"github.com/yardmaster/yardmaster/workload/spark"
	"github.com/yardmaster/yardmaster/workload/trace"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// sparkKept keeps the jobs of logs that come in any order: beyond a few million listed lengths in sorted temporary files.
type sparkKept struct {
	ids     map[string]bool
	notes   workload.Notes
	broken  error // of the first file that made no job
	failed  error // of the first log that could not be read
	pending workload.Slice
	weight  int
	first   unit.Time // the earliest submission
	dir     string
	parts   []string
}

// Weights are in listed lengths: eight bytes.
const (
	maxPending  = 1 << 22
	jobWeight   = 128 // of what every job has
	stageWeight = 32
	edgeWeight  = 3
)

// note counts a note together with the same of other logs.
func (k *sparkKept) note(text string, n int64) {
	if i := slices.IndexFunc(k.notes, func(o workload.Note) bool { return o.Text == text }); i >= 0 {
		k.notes[i].Count += n
		return
	}
	k.notes.Add(n, "%s", text)
}

// take keeps a job, or counts why there is none.
func (k *sparkKept) take(j *workload.Job, notes workload.Notes, err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, spark.ErrNoAnswer), errors.Is(err, rest.ErrUnavailable), errors.Is(err, rest.ErrUnauthenticated):
		return fmt.Errorf("%w: nothing was written: try again", err) // what follows would be missing, too, and nobody would know
	case errors.Is(err, spark.ErrRunning):
		k.note("applications whose log has no end, left out: --running takes them as of their last event", 1)
		return nil
	case errors.Is(err, spark.ErrNoLog):
		k.broken = cmp.Or(k.broken, err)
		k.note("files that are no event logs, left out", 1)
		return nil
	case errors.Is(err, spark.ErrNoTasks), errors.Is(err, spark.ErrStages):
		k.note("applications left out: "+err.Error(), 1)
		return nil
	case errors.Is(err, jobfile.ErrTooLarge):
		k.note("applications left out: "+jobfile.ErrTooLarge.Error(), 1)
		return nil
	case err != nil:
		if k.failed == nil {
			k.failed = err
		}
		k.broken = cmp.Or(k.broken, err)
		k.note("logs that could not be read, left out; the first: "+k.failed.Error(), 1)
		return nil
	case k.ids[j.ID]:
		k.note("second logs of an application, left out", 1)
		return nil
	}
	for _, n := range notes {
		k.note(n.Text, n.Count)
	}
	k.ids[j.ID] = true
	k.first = min(k.first, j.Submit)
	k.pending = append(k.pending, j)
	k.weight += jobWeight
	for i := range j.Stages {
		k.weight += stageWeight + len(j.Stages[i].Length.Values) + edgeWeight*len(j.Stages[i].After)
	}
	if k.weight < maxPending {
		return nil
	}
	return k.spill()
}

func (k *sparkKept) sort() {
	slices.SortFunc(k.pending, func(a, b *workload.Job) int { return cmp.Or(cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.ID, b.ID)) })
}

// spill writes what is pending to a temporary file.
func (k *sparkKept) spill() (err error) {
	if k.dir == "" {
		if k.dir, err = os.MkdirTemp("", "yardmaster-"); err != nil {
			return err
		}
	}
	k.sort()
	part := filepath.Join(k.dir, fmt.Sprintf("part-%d.parquet", len(k.parts)))
	file, err := os.Create(part)
	if err != nil {
		return err
	}
	w := jobfile.NewWriter(file, nil)
	for _, j := range k.pending {
		err = cmp.Or(err, w.Write(j))
	}
	k.parts, k.pending, k.weight = append(k.parts, part), nil, 0
	return cmp.Or(err, w.Close(), file.Close())
}

// each yields all jobs by submission, which counts from the first.
func (k *sparkKept) each(do func(*workload.Job) error) error {
	k.sort()
	all := []workload.Source{k.pending.Source()}
	for _, p := range k.parts {
		r, err := jobfile.Open(p)
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }() // read-only
		all = append(all, r)
	}
	merged := trace.Merged(all...)
	for {
		j, err := merged.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		shifted, seen := *j, *j.Observed
		shifted.Submit -= k.first
		seen.Launch, seen.Finish = seen.Launch-k.first, seen.Finish-k.first
		shifted.Observed = &seen
		if err := do(&shifted); err != nil {
			return err
		}
	}
}

// close removes the temporary files, if there are any.
func (k *sparkKept) close() { _ = os.RemoveAll(k.dir) }
