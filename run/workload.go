package run

import (
	"io"

	"github.com/yardmaster/yardmaster/workload"
)

// Workload is where the jobs come from.
type Workload struct {
	Title    string // as typed
	SHA256   string // of the file, when it is one
	Jobs     int64  // 0: unknown
	Drawn    bool   // the jobs themselves depend on the seed
	InMemory int    // jobs up to which runs share them in memory; 0: a default; negative: never
	// Open starts the workload afresh. What a source says of itself goes into the result: see Described.
	Open func(seed uint64) (workload.Source, error)
}

// Jobs is a workload of jobs in memory.
func Jobs(jobs workload.Slice) *Workload {
	return &Workload{Jobs: int64(len(jobs)), Open: func(uint64) (workload.Source, error) { return jobs.Source(), nil }}
}

// Described is a source with what was found out about it elsewhere. Sources may have any of its methods.
type Described struct {
	workload.Source
	Count   int64
	Noted   []workload.Note
	Assumed []string
}

// Jobs is how many there are; 0: unknown.
func (d *Described) Jobs() int64 { return d.Count }

// Notes are what the reader left out and made up, once all is read.
func (d *Described) Notes() []workload.Note { return d.Noted }

// Assumptions are what the source takes for granted.
func (d *Described) Assumptions() []string { return d.Assumed }

// Describe asks a source what it says of itself.
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
		_ = c.Close() // it was only read
	}
}
