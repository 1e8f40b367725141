package steering

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/yardmaster/yardmaster/studies/evidence"
)

// Batch is the record of one batch. Instants are ms since Zero.
type Batch struct {
	Scheduler  string    `json:"scheduler"`
	Arm        string    `json:"arm"`
	Repetition int       `json:"repetition"` // from 1
	Place      int       `json:"place"`      // in the order of the repetition, from 1
	At         time.Time `json:"at"`
	Zero       int64     `json:"zero"` // ms since 1970: the first job reached the ResourceManager
	Hadoop     string    `json:"hadoop"`
	Program    string    `json:"program,omitempty"` // the version that steered and measured; "": not recorded
	Load       float64   `json:"load"`              // of the computer before the batch, one-minute mean

	Preset  float64       `json:"preset"`            // the share configured when the jobs were submitted
	Set     *Write        `json:"set,omitempty"`     // its change, on the idle cluster; nil: already set
	Command []string      `json:"command,omitempty"` // arguments of the controller's process
	Jobs    []Job         `json:"jobs"`              // in the order in which they reached the ResourceManager
	CPU     []CPU         `json:"cpu"`               // one per second
	Limits  []Limit       `json:"limits"`            // of AMs, when it changed
	Reloads []int64       `json:"reloads,omitempty"` // of the Fair Scheduler's file, by the ResourceManager's log
	Writes  []Write       `json:"writes,omitempty"`  // by the controller
	Lines   []Decision    `json:"lines,omitempty"`   // of the controller's log, where it acted or its reasoning changed
	Notes   []string      `json:"notes,omitempty"`   // of the controller's standard error
	After   time.Duration `json:"after,omitempty"`   // from the end of the last job to the exit of the controller's process, with the value restored
}

// Job is one job of a batch.
type Job struct {
	ID       string `json:"id"`
	Came     int64  `json:"came"`     // accepted by the ResourceManager
	Launched int64  `json:"launched"` // its AM was launched
	Ended    int64  `json:"ended"`
	State    string `json:"state"`
	Tasks    []Task `json:"tasks"`
}

// Task is one task of a job: 1 for a reduce, start, end.
type Task [3]int64

func (t Task) Reduce() bool { return t[0] == 1 }
func (t Task) Start() int64 { return t[1] }
func (t Task) End() int64   { return t[2] }

// CPU is the processors' time by state up to an instant, in hundredths of a second: user, nice, system, idle, iowait, and the
// rest (interrupts, steal).
type CPU struct {
	At    int64
	Spent [6]int64
}

// MarshalJSON writes it as a short list.
func (c CPU) MarshalJSON() ([]byte, error) {
	return json.Marshal(append([]int64{c.At}, c.Spent[:]...))
}

// UnmarshalJSON reads it.
func (c *CPU) UnmarshalJSON(b []byte) error {
	s := &c.Spent
	return evidence.List(b, &c.At, &s[0], &s[1], &s[2], &s[3], &s[4], &s[5])
}

// Limit is the AM limit and usage from an instant on.
type Limit struct {
	At     int64 `json:"t"`
	MB     int64 `json:"mb"`
	UsedMB int64 `json:"used"`
}

// Write is one change of the share.
type Write struct {
	Asked int64   `json:"asked"` // -1: before the batch, on the idle cluster
	Old   float64 `json:"old"`
	New   float64 `json:"new"`
	Took  int64   `json:"took"` // ms until the file was reloaded, or the limit shown by the ResourceManager changed; -1: not observed
	Said  int64   `json:"said"` // ms, as the controller measured it; -1: it did not
	Kind  string  `json:"kind,omitempty"`
}

// Decision is one line of a controller's log.
type Decision struct {
	At   int64          `json:"t"`
	Kind string         `json:"kind"`
	Text map[string]any `json:"x,omitempty"`
}

// span is the makespan of the batch: from the first job's arrival to the last one's end, in seconds.
func (b *Batch) span() float64 {
	last := int64(0)
	for _, j := range b.Jobs {
		last = max(last, j.Ended)
	}
	return float64(last) / 1000
}

// whole returns an error if a batch is incomplete.
func (b *Batch) whole(jobs int) error {
	if len(b.Jobs) != jobs {
		return fmt.Errorf("%d of %d jobs were seen", len(b.Jobs), jobs)
	}
	for _, j := range b.Jobs {
		if j.State != "SUCCEEDED" {
			return fmt.Errorf("job %s: %s", j.ID, j.State)
		}
	}
	return nil
}

// file is that of a scheduler's records.
func file(scheduler string) string { return scheduler + ".jsonl.gz" }

// keep appends a record to its scheduler's file, as a line of JSON in its own gzip member: a truncated file loses its last record only.
func keep(dir string, b *Batch, run *evidence.Run) (evidence.Run, error) {
	member, err := evidence.Packed(b)
	if err != nil {
		return *run, err
	}
	return run.Append(dir, file(b.Scheduler), member)
}

// kept reads the records of a scheduler; there may be none.
func kept(dir, scheduler string) ([]*Batch, error) {
	name := filepath.Join(dir, file(scheduler))
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	var list []*Batch
	for d := json.NewDecoder(z); ; {
		b := &Batch{}
		if err := d.Decode(b); err != nil {
			if errors.Is(err, io.EOF) {
				return list, nil
			}
			return nil, fmt.Errorf("reading %s: record %d: %w", name, len(list)+1, err)
		}
		list = append(list, b)
	}
}
