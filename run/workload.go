package run

import (
	"io"

	"github.com/yardmaster/yardmaster/workload"
)

// Workload is the source of the jobs.
type Workload struct {
	Title    string // as typed
	SHA256   string // of the file, if it is a single one
	Jobs     int64  // 0: unknown
	Drawn    bool   // the jobs themselves depend on the seed
	Draws    string // what a seed draws for itself, if Drawn: "days of the history"; "": jobs
	Once     bool   // it can be opened only once
	InMemory int    // max jobs that runs share in memory; 0: a default; negative: never share
	// Open starts the workload afresh. What the source says about itself goes into the result: see Described.
	Open func(seed uint64) (workload.Source, error)
}

// Jobs is a workload of jobs in memory.
func Jobs(jobs workload.Slice) *Workload {
	return &Workload{Jobs: int64(len(jobs)), Open: func(uint64) (workload.Source, error) { return jobs.Source(), nil }}
}

// Read reads all jobs.
func (w *Workload) Read(seed uint64) (workload.Slice, error) {
	src, err := w.Open(seed)
	if err != nil {
		return nil, err
	}
	defer closeSource(src)
	return workload.ReadAll(src)
}

// Described is a source with what is known about it from elsewhere. Sources may have any of its methods.
type Described struct {
	workload.Source
	Count   int64
	Noted   []workload.Note
	Assumed []string
}

// Jobs is their number; 0: unknown.
func (d *Described) Jobs() int64 { return d.Count }

// Notes are what the reader left out and made up; complete once all is read.
func (d *Described) Notes() []workload.Note { return d.Noted }

// Assumptions are those of the source.
func (d *Described) Assumptions() []string { return d.Assumed }

// Describe collects what a source says about itself.
func Describe(src workload.Source) *Described {
	d := &Described{Source: src}
	if n, ok := src.(interface{ Jobs() int64 }); ok {
		d.Count = n.Jobs()
	}
	if n, ok := src.(interface{ Notes() []workload.Note }); ok {
		d.Noted = n.Notes()
	}
	if a, ok := src.(interface{ Assumptions() []string }); ok {
		d.Assumed = a.Assumptions()
	}
	return d
}

func closeSource(src workload.Source) {
	if c, ok := src.(io.Closer); ok {
		_ = c.Close() // read-only
	}
}
