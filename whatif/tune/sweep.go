package tune

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/yarn/edit"
)

// Design is the points of a sweep. Point 0 is the present settings.
type Design struct {
	Space  *Space
	Random int // points drawn at random; 0: every combination of the axes' values
	Seed   uint64
}

// maxPoints bounds a design.
const maxPoints = 1_000_000

// Points is the number of points, with the present settings.
func (d *Design) Points() (int, error) {
	n := d.Random
	if n == 0 {
		n = 1
		for _, a := range d.Space.axes {
			if a.values == nil {
				return 0, fmt.Errorf("%s has no list of values: write %s=A,B,C, or draw points with --random N", a.name(), a.name())
			}
			if n *= len(a.values); n > maxPoints {
				break
			}
		}
	}
	if n > maxPoints {
		return 0, fmt.Errorf("the design has more than %d points: leave out values, or draw points with --random N", maxPoints)
	}
	return n + 1, nil
}

// Changes are those of point i. They depend on nothing else, so that shards need not know of each other.
func (d *Design) Changes(i int) []edit.Change {
	if i == 0 {
		return nil
	}
	if d.Random > 0 {
		return d.Space.Changes(d.Space.random(rand.New(rand.NewPCG(d.Seed, uint64(i))))) //nolint:gosec // reproducible
	}
	p, rest := d.Space.Present(), i-1
	for k := len(d.Space.axes) - 1; k >= 0; k-- { // the last axis varies fastest
		n := len(d.Space.axes[k].values)
		p[k] = (float64(rest%n) + 0.5) / float64(n)
		rest /= n
	}
	return d.Space.Changes(p)
}

// Header is the first line of a sweep's file. Shards of one sweep have the same.
type Header struct {
	Tool    string `json:"tool"`
	Version string `json:"version"`
	Command string `json:"command"` // without the shard
	Inputs  string `json:"inputs"`  // SHA-256 of the files that the command reads
	Points  int    `json:"points"`
}

// differs says how the shards of two files are not of one sweep.
func (h *Header) differs(other *Header) string {
	switch {
	case h.Version != other.Version:
		return fmt.Sprintf("version %s made it, not %s", h.Version, other.Version)
	case h.Command != other.Command:
		return fmt.Sprintf("its command is\n  %s\nnot\n  %s", h.Command, other.Command)
	case h.Inputs != other.Inputs:
		return "the command read other files: the workload, the cluster or the scheduler's settings have changed in between"
	}
	return "the number of points is another"
}

// Row is a line of a sweep's file: what one point gave.
type Row struct {
	Point   int              `json:"point"`
	Changes []string         `json:"changes"`
	Error   string           `json:"error,omitempty"` // why it is not valid
	Jobs    result.JobCounts `json:"jobs"`
	Metrics result.Metrics   `json:"metrics"`
	ByQueue []result.Group   `json:"by_queue"`
}

func (r *Row) run() *result.Run {
	return &result.Run{Jobs: r.Jobs, Metrics: r.Metrics, ByQueue: r.ByQueue}
}

// Sweep runs the points shard, shard+of, shard+2 of, ... of a design on a part and writes the header and their rows in that
// order.
func Sweep(ctx context.Context, d *Design, part *Part, head Header, shard, of, workers int, w io.Writer, progress func(done float64)) ([]Row, error) {
	var mine []int
	for i := shard; i < head.Points; i += of {
		mine = append(mine, i)
	}
	rows, errs, done := make([]Row, len(mine)), make([]error, len(mine)), make(chan int, len(mine))
	run.Each(ctx, len(mine), workers, func(k int) {
		changes := d.Changes(mine[k])
		rows[k] = Row{Point: mine[k], Changes: words(changes), ByQueue: []result.Group{}}
		r, err := part.Run(ctx, changes)
		if done <- k; progress != nil {
			progress(float64(len(done)) / float64(len(mine)))
		}
		switch {
		case err == nil:
			rows[k].Jobs, rows[k].Metrics, rows[k].ByQueue = r.Jobs, r.Metrics, r.ByQueue
		case ctx.Err() != nil || mine[k] == 0:
			errs[k] = err
		default: // values that do not go together
			rows[k].Error = err.Error()
		}
	})
	if err := cmp.Or(cmp.Or(errs...), ctx.Err()); err != nil {
		return nil, err
	}
	out := json.NewEncoder(w)
	err := out.Encode(head)
	for i := 0; i < len(rows) && err == nil; i++ {
		err = out.Encode(&rows[i])
	}
	return rows, err
}

// Merge joins the files of a sweep's shards into what one machine would have written. Memory is used for what is in the files, whatever they announce.
func Merge(files map[string]io.Reader, w io.Writer) ([]Row, error) {
	type point struct {
		Row
		line []byte
		at   string
	}
	var (
		head   Header
		first  []byte // the line of the header
		points []point
	)
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		in := bufio.NewScanner(files[name])
		in.Buffer(nil, 16<<20)
		for n := 1; in.Scan(); n++ {
			line := append(bytes.Clone(in.Bytes()), '\n')
			if n == 1 {
				var h Header
				if err := json.Unmarshal(line, &h); err != nil || h.Points < 1 || h.Points > maxPoints+1 {
					return nil, fmt.Errorf("%s is not the file of a sweep", name)
				}
				if first == nil {
					head, first = h, line
				} else if !bytes.Equal(first, line) {
					return nil, fmt.Errorf("%s is of another sweep than %s: %s", name, names[0], h.differs(&head))
				}
				continue
			}
			p := point{line: line, at: fmt.Sprintf("%s:%d", name, n)}
			if json.Unmarshal(line, &p.Row) != nil || p.Point < 0 || p.Point >= head.Points {
				return nil, fmt.Errorf("%s is not a point of the sweep", p.at)
			}
			points = append(points, p)
		}
		if err := in.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if first == nil {
		return nil, errors.New("the files are empty: name the files of a sweep's shards")
	}
	slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.Point, b.Point) })
	rows := make([]Row, len(points))
	for i := range points {
		switch p := &points[i]; {
		case i > 0 && p.Point == points[i-1].Point:
			return nil, fmt.Errorf("%s: point %d is in %s too: name each shard once", p.at, p.Point, points[i-1].at)
		case p.Point > i:
			return nil, missing(i)
		default:
			rows[i] = p.Row
		}
	}
	if len(points) < head.Points {
		return nil, missing(len(points))
	}
	_, err := w.Write(first)
	for i := 0; i < len(points) && err == nil; i++ {
		_, err = w.Write(points[i].line)
	}
	return rows, err
}

func missing(point int) error {
	return fmt.Errorf("point %d is missing: name the files of all shards", point)
}

// Ranked is a row with the relative change of the goal, and why it is no answer.
type Ranked struct {
	*Row
	Change float64
	Broken string // the bound that breaks most, or why the point is not valid; "": it keeps every bound
}

// Rank sorts the rows of a sweep, best first: those that keep every bound, then the others. It needs the present settings, which
// are the first row; nil: they are not there.
func Rank(rows []Row, a *Aim) []Ranked {
	if len(rows) == 0 || rows[0].Point != 0 {
		return nil
	}
	base, list := rows[0].run(), []Ranked{}
	j := newJudge(a, []*result.Run{base})
	for i := range rows {
		r := Ranked{Row: &rows[i], Change: math.Inf(1), Broken: rows[i].Error}
		if r.Broken == "" {
			outcomes := []outcome{j.compare(base, rows[i].run())}
			mark := j.score(outcomes, 0)
			if r.Change = mark.ratio - 1; !mark.kept() {
				r.Broken = j.broken(outcomes)
			}
		}
		list = append(list, r)
	}
	slices.SortStableFunc(list, func(a, b Ranked) int {
		if (a.Broken == "") != (b.Broken == "") {
			return cmp.Compare(min(1, len(a.Broken)), min(1, len(b.Broken)))
		}
		return cmp.Compare(a.Change, b.Change)
	})
	return list
}
