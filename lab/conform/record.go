package conform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"time"

	"github.com/yardmaster/yardmaster/lab/evidence"
	"github.com/yardmaster/yardmaster/lab/hadoop/sls"
	"github.com/yardmaster/yardmaster/lab/host"
)

// Recording says how scenarios are run under SLS.
type Recording struct {
	Runs     int           // of each scenario, beside those that are kept; 0: 2
	Parallel int           // at the same time; 0: 3
	Stagger  time.Duration // between two starts; 0: 8 s: the start of a JVM must not fall into another's measurements more than need be
	Dir      string        // records are kept here
	Work     string        // folder for the runs' own files; "": a temporary one
	Missing  bool          // only as many as lack to Runs
	Log      io.Writer     // nil: silent
}

// recordExt is how the names of records end.
const recordExt = ".json.gz"

type task struct {
	s   *Scenario
	run int
}

// Record runs the scenarios under SLS and keeps their records, beside those that are there. It goes on after an error with the others.
func Record(ctx context.Context, scenarios []Scenario, r Recording) error {
	r.Runs, r.Parallel, r.Stagger, r.Log = cmp.Or(r.Runs, 2), cmp.Or(r.Parallel, 3), cmp.Or(r.Stagger, 8*time.Second), cmp.Or(r.Log, io.Discard)
	work, clean, err := host.Folder(r.Work, "conform")
	if err != nil {
		return err
	}
	defer clean()
	var tasks []task
	program := evidence.Here()
	for i := range scenarios {
		have, err := evidence.Series(r.Dir, scenarios[i].Name, recordExt)
		if err != nil {
			return err
		}
		from, to := len(have)+1, len(have)+r.Runs
		if r.Missing {
			to = r.Runs
		}
		for run := from; run <= to; run++ {
			tasks = append(tasks, task{&scenarios[i], run})
		}
	}
	sort.SliceStable(tasks, func(a, b int) bool { return tasks[a].run < tasks[b].run }) // every scenario once before any a second time
	var turn, mu sync.Mutex
	var fails []error
	err = host.Each(ctx, len(tasks), r.Parallel, func(ctx context.Context, i int) error {
		if turn.Lock(); i > 0 {
			_ = host.Sleep(ctx, r.Stagger) // cut short: the run says so
		}
		turn.Unlock()
		t := tasks[i]
		if err := record(ctx, t, &r, program, filepath.Join(work, fmt.Sprintf("%s-%d", t.s.Name, t.run)), &mu); err != nil {
			mu.Lock()
			defer mu.Unlock()
			fails = append(fails, err)
			fmt.Fprintf(r.Log, "%s run %d: %v\n", t.s.Name, t.run, err)
		}
		return nil
	})
	return errors.Join(append(fails, err)...)
}

func record(ctx context.Context, t task, r *Recording, program, dir string, mu *sync.Mutex) error {
	run := evidence.Begin(program)
	rec, err := sls.Run(ctx, t.s.Options(dir))
	if err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	if _, err := run.KeepJSON(r.Dir, t.s.Name, rec); err != nil {
		return err
	}
	m := &rec.Machine
	fmt.Fprintf(r.Log, "%s run %d: %d jobs, %d containers in %.0f s (start-up %.0f s, %.1f s of CPU), heartbeats late by %d ms (p95) and %d ms (most)",
		t.s.Name, t.run, len(rec.Jobs), len(rec.Containers), m.Wall, m.StartUp, m.CPU, m.SlipP95, m.SlipMax)
	if len(rec.Lost) > 0 {
		fmt.Fprintf(r.Log, "; lost: %v", rec.Lost)
	}
	fmt.Fprintln(r.Log)
	return os.RemoveAll(dir)
}
