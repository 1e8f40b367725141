package table

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/unit"
)

// parser reads the rows of one file.
type parser struct {
	*Reader
	rows    rows
	columns []column
	slurm   bool
	staged  bool // a column names stages
	inTurn  bool // no column says what a stage comes after
}

// Limits of values.
const (
	maxText = 4096 // bytes
	maxID   = 256
	maxMem  = 1 << 40 // MiB
)

// describe notes what each column is taken for.
func (p *parser) describe(header []string) {
	var taken []string
	used := map[int]bool{}
	for _, c := range p.columns {
		what := known[c.role].name
		if c.res != "" {
			what = c.res
		}
		text := what + "=" + c.title
		if c.unit != "" {
			text += " in " + c.unit
		}
		if c.whole {
			text += " of the whole job"
		}
		taken = append(taken, text)
		used[c.at] = true
		p.slurm = p.slurm || c.role == id && strings.HasPrefix(c.plain, "jobid")
		p.staged = p.staged || c.role == stage
		p.inTurn = p.inTurn && c.role != after
	}
	p.slurm = p.slurm && slices.ContainsFunc(header, func(h string) bool { return slices.Contains(slurms, plainWord(h)) })
	p.said.Say("columns: %s", strings.Join(taken, ", "))
	var rest []string
	for i, h := range header {
		if !used[i] && h != "" { // sacct -p ends the header with a bar
			rest = append(rest, h)
		}
	}
	if len(rest) > 0 {
		p.said.Say("columns that are not read: %s", some(rest))
	}
}

// slurms are columns of sacct that no other system has.
var slurms = []string{"alloccpus", "reqcpus", "ncpus", "reqtres", "alloctres", "partition", "elapsedraw", "jobidraw", "nnodes"}

// keep returns the one copy of a name.
func (r *Reader) keep(s string) string {
	if have, ok := r.names[s]; ok {
		return have
	}
	s = strings.Clone(s)
	r.names[s] = s
	return s
}

// drop counts a row that is not taken.
func (p *parser) drop(reason string) (record, bool) {
	p.dropped.add(reason, p.rows.where())
	return record{}, false
}

// record reads a row; false: it is dropped, and counted.
func (p *parser) record(row []string) (record, bool) {
	rec := record{submit: missing, start: missing, finish: missing, deadline: missing, length: -1, tasks: -1, inTurn: p.inTurn}
	words := [roles]*string{name: &rec.name, user: &rec.user, queue: &rec.queue, class: &rec.class, stage: &rec.stage, after: &rec.after}
	times := [roles]*unit.Time{submit: &rec.submit, start: &rec.start, finish: &rec.finish, deadline: &rec.deadline}
	perCore := false
	for i := range p.columns {
		c := &p.columns[i]
		text := strings.TrimSpace(row[c.at])
		if isNone(text) {
			continue
		}
		if len(text) > maxText || c.role == id && len(text) > maxID { // a dictionary repeats a long text for nothing
			return p.drop(fmt.Sprintf("rows whose column %s is longer than %d bytes (an id: %d)", c.title, maxText, maxID))
		}
		var err error
		var n int64
		switch c.role {
		case id:
			rec.id = strings.Clone(text)
		case outcome:
			rec.outcome = p.keep(state(text))
		case seconds:
			rec.length, err = parseLength(text, c.unit)
		case tasks:
			rec.tasks, err = parseCount(text)
		case memory:
			var per byte
			if n, per, err = parseMemory(text, c.unit); per == 0 {
				n = c.share(n, rec.tasks)
			}
			rec.ask.Mem, perCore = n, per == 'c'
		case cores:
			n, err = parseCount(text)
			rec.ask.Cores = c.share(n, rec.tasks)
		case gpus:
			if n, err = parseGPUs(text); err == nil && n > 0 {
				rec.ask.Extra, err = rec.ask.Extra.With(c.res, c.share(n, rec.tasks))
			}
		case priority:
			if f, ok := number(text); ok && math.Abs(f) < 1e15 {
				rec.priority = int(f)
			} else {
				p.noPriority++
			}
		case submit, start, finish, deadline:
			var zone bool
			if *times[c.role], zone, err = parseInstant(text, c.unit, &c.hint); err == nil && !zone {
				p.zoneless++
			}
		default:
			*words[c.role] = p.keep(text)
		}
		if err != nil {
			p.dropped.add(fmt.Sprintf("rows whose column %s %v", c.title, err), fmt.Sprintf("%s: %q", p.rows.where(), input.Clip([]byte(text))))
			return record{}, false
		}
	}
	if p.slurm && step.MatchString(rec.id) {
		return p.drop("steps of Slurm jobs")
	}
	if reason := p.complete(&rec, perCore); reason != "" {
		return p.drop(reason)
	}
	return rec, true
}

// share is what one of the tasks has of n. They are read before: the columns are in the order of their roles.
func (c *column) share(n, tasks int64) int64 {
	if c.whole && tasks > 1 {
		return (n + tasks - 1) / tasks
	}
	return n
}

// unfinished are Slurm's states of jobs that go on.
var unfinished = []string{"RUNNING", "PENDING", "SUSPENDED", "COMPLETING", "CONFIGURING", "REQUEUED", "RESIZING"}

// complete fills in what the columns do not say. It returns why the row cannot be taken.
func (p *parser) complete(rec *record, perCore bool) (reason string) {
	if rec.length < 0 && rec.start != missing && rec.finish != missing {
		if rec.length = rec.finish - rec.start; rec.length < 0 {
			return "jobs that finished before they started"
		}
	}
	switch {
	case slices.Contains(unfinished, rec.outcome):
		return "jobs that had not ended"
	case rec.length < 0:
		return "rows without a length, of jobs that did not start or did not end"
	case rec.length == 0 && rec.failed():
		return "jobs that ended before they started"
	case p.opt.FinishedOnly && rec.failed():
		return "jobs that failed or were killed"
	case rec.tasks == 0:
		return "rows without tasks"
	case p.staged && (rec.stage == "" || rec.id == ""):
		return "rows without a job or a stage"
	case rec.submit == missing && rec.start == missing:
		return "rows without a submit time"
	}
	if rec.submit == missing {
		rec.submit = rec.start
		p.fromStart++
	}
	if rec.finish == missing && rec.start != missing {
		rec.finish = rec.start + rec.length
	}
	if rec.start == missing && rec.finish != missing {
		rec.start = rec.finish - rec.length
	}
	if rec.tasks < 0 {
		rec.tasks = 1
		p.noTasks++
	}
	if rec.id == "" {
		rec.id = "row" + strconv.FormatInt(p.read, 10)
	}
	if rec.ask.Cores <= 0 {
		rec.ask.Cores = p.opt.Ask.Cores
		p.noCores++
	}
	switch {
	case rec.ask.Mem <= 0: // to Slurm, 0 is all that the node has
		rec.ask.Mem = p.opt.Ask.Mem
		p.noMem++
	case perCore && rec.ask.Mem > maxMem/max(rec.ask.Cores, 1):
		return "rows whose cores have too much memory together"
	case perCore:
		rec.ask.Mem *= rec.ask.Cores
	}
	if rec.gang = p.slurm && rec.tasks > 1; rec.gang {
		p.gangs++
	}
	return ""
}

func (r *record) failed() bool { return r.outcome != "" && r.outcome != "SUCCESS" }

// state is how a job ended, in one word: SUCCESS, or what the table says.
func state(text string) string {
	word, _, _ := strings.Cut(strings.ToUpper(text), " ") // CANCELLED by 1000
	switch word {
	case "COMPLETED", "COMPLETE", "SUCCEEDED", "SUCCESS", "SUCCESSFUL", "FINISHED", "DONE", "OK", "0", "0:0", "TRUE":
		return "SUCCESS"
	}
	return input.Clip([]byte(word))
}
