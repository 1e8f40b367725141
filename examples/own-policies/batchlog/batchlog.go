// Package batchlog reads the log of a made-up batch system: a line "batchlog 1", then a job per line, with its name, its user, when it was submitted, how
// many tasks it has and how long each takes, in seconds.
package batchlog

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/trace"
)

const header = "batchlog 1"

// Format is what cli.WithTrace takes.
var Format = trace.Format{
	Name:  "batchlog",
	About: "log of the batch system",
	Sniff: func(prefix []byte) bool { return bytes.HasPrefix(prefix, []byte(header+"\n")) },
	Read: func(r io.Reader, name string) (workload.Source, error) {
		s := &source{lines: bufio.NewScanner(r), name: name, line: 1}
		s.lines.Scan() // the header, which Sniff has seen
		return s, s.lines.Err()
	},
}

type source struct {
	lines *bufio.Scanner
	name  string
	line  int
}

// Next implements workload.Source.
func (s *source) Next() (*workload.Job, error) {
	if s.line++; !s.lines.Scan() {
		if err := s.lines.Err(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	var id, user string
	var submit, length float64
	var tasks int64
	if _, err := fmt.Sscan(s.lines.Text(), &id, &user, &submit, &tasks, &length); err != nil {
		return nil, fmt.Errorf("%s:%d: want name, user, submit time, tasks and seconds a task: %w", s.name, s.line, err)
	}
	return &workload.Job{
		ID: id, User: user, Submit: unit.FromSeconds(submit),
		Stages: []workload.Stage{{Tasks: tasks, Ask: unit.Resources{Mem: 1024, Cores: 1}, Length: workload.Fixed(unit.FromSeconds(length))}},
	}, nil
}
