// Package history turns the history of a YARN cluster into a workload that can be simulated.
//
// It reads up to five sources: the job history files of MapReduce (in a local folder or through WebHDFS:
// one file holds all of a job, see yarn/jhist), the JobHistoryServer (its list, and its data on single jobs where a
// file cannot be read), the ResourceManager (what it knows of applications of other kinds, the nodes, the queues and
// the settings), and the event logs of Spark.
//
// # Jobs
//
// A MapReduce job has a map and a reduce stage. A task's length is that of its successful attempt, from the launch of its
// container (so it includes the start of its process) to its end. A reduce that was started while maps still ran has waited for
// them; the simulator repeats that waiting, so only what the reduce did after the job's last map counts, and at least what
// it did after its own shuffle. Container sizes come from the job's own counters (memory times time over time) or its
// configuration. The locations of a task's input are kept by host name. An application of another kind, of which the
// ResourceManager knows only memory-seconds and vcore-seconds, becomes as many containers as it held on average, of at most two
// sizes, which hold exactly those totals. With its event log, a Spark application becomes stages in executors that it keeps (see workload/spark),
// which hold the ResourceManager's memory-seconds too: see executorStart.
//
// # Incremental imports
//
// Jobs are written in parts into the folder .import beside the output, each renamed into place when complete. The parts are the
// record of what is known: a call after a kill resumes where the last part ended, and a later call fetches only what is new. At
// the end of each call all parts are merged into the workload file, in the order of submission. There are no duplicates, because a job
// is identified by its cluster's start time and its number, whichever source it comes from.
//
// Memory holds one part, a few files in flight and the ids of known jobs.
package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// Options say what to import, and where to.
type Options struct {
	Client  *rest.Client // nil: only Files are read
	RM      bool         // query the ResourceManager
	History bool         // query the JobHistoryServer
	Files   Folder       // folder of history files; nil: query the JobHistoryServer for every job
	Check   bool         // take only files that are what the JobHistoryServer knows of their jobs
	Logs    Folder       // event logs of Spark applications that the ResourceManager lists; may be nil

	Since   time.Time // applications that finished at this time or later; zero: all
	Until   time.Time // and no later than this; zero: until now
	Running bool      // also those that run now, with what they have held so far
	Now     time.Time

	Dir      string // of all output
	Jobs     string // name of the workload file in Dir
	Parallel int    // history files read at a time; 0: 4
	NoConf   bool   // do not read the jobs' own configurations (some 300 KB each)

	Anonymise bool
	Salt      string // "": drawn once, and stored beside the parts

	Tool     string                            // version of the program, for the file
	Source   string                            // what it is imported from, in words, for the file
	Progress func(done float64, detail string) // may be nil; done is negative if unknown
}

// Summary is the outcome of an import.
type Summary struct {
	Jobs, New   int64 // in the file; those new in this call
	Tasks       int64
	Span        unit.Time // from the first to the last submission
	Files       []string  // files written, starting with the workload
	Kept        []string  // existing files left alone because somebody had changed them
	Scenario    bool      // they include nodes and queues: the folder can be simulated
	Notes       []workload.Note
	Assumptions []string
	Calibration Calibration
}

// Run imports. After an error or the end of ctx what was read so far is kept, and another call resumes from there.
func Run(ctx context.Context, o Options) (*Summary, error) {
	o.Parallel = unit.Positive(o.Parallel, 4)
	if o.Now.IsZero() {
		return nil, errors.New("history: the options do not say what time it is")
	}
	if d, err := os.Stat(filepath.Join(o.Dir, o.Jobs)); err == nil && d.IsDir() {
		return nil, fmt.Errorf("%s is a folder, and a file of that name is to be written: name another with -o", filepath.Join(o.Dir, o.Jobs))
	}
	st, err := openStore(filepath.Join(o.Dir, ".import"))
	if err != nil {
		return nil, err
	}
	defer st.close()
	names, err := st.names(&o)
	if err != nil {
		return nil, err
	}
	im := &importer{Options: o, store: st, names: names}
	if err := im.fetch(ctx); err != nil {
		if kept := st.flush(); kept != nil {
			return nil, errors.Join(err, kept)
		}
		if ctx.Err() != nil && st.count() == 0 {
			return nil, errors.New("stopped before the first job was read: nothing was written")
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("stopped before the end: %d jobs are kept in %s, and the same command goes on from there", st.count(), st.dir)
		}
		return nil, err
	}
	if err := st.flush(); err != nil {
		return nil, err
	}
	return im.finish()
}
