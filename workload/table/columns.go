package table

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/unit"
)

// role is what a column may say.
type role int

const (
	id role = iota
	name
	user
	queue
	class
	submit
	start
	finish
	seconds
	tasks
	memory
	cores
	gpus
	priority
	deadline
	outcome
	stage
	after
	roles
)

// known are the roles with the names by which their columns are recognised, the best first: Slurm's sacct, and plain words. They are compared
// without regard to case and punctuation. Slurm's NTasks is last: only steps have it.
var known = [roles]struct {
	name  string
	words string
}{
	id:       {"id", "jobid jobidraw id applicationid appid queryid job runid"},
	name:     {"name", "jobname name applicationname appname"},
	user:     {"user", "user username owner userid submitter"},
	queue:    {"queue", "partition queue queuename pool resourcegroup"},
	class:    {"class", "class jobclass jobtype applicationtype"},
	submit:   {"submit", "submit submittime submitted submittedat submissiontime creationtime createtime created createdat arrival arrivaltime"},
	start:    {"start", "start starttime started startedat launchtime begin"},
	finish:   {"finish", "end endtime finish finishtime finished finishedat completiontime completed completedat ended endedat"},
	seconds:  {"seconds", "elapsedraw elapsed seconds duration durationseconds durations runtime runseconds elapsedseconds durationms elapsedms runtimems"},
	tasks:    {"tasks", "tasks numtasks taskcount instances nnodes allocnodes ntasks"},
	memory:   {"memory", "reqmem memory mem memorymb memorymib memmb memorygb memorygib memgb memorybytes"},
	cores:    {"cores", "alloccpus reqcpus ncpus cores vcores cpus cpu numcpus"},
	gpus:     {"gpus", "gpus gpu ngpus numgpus alloctres reqtres"},
	priority: {"priority", "priority"},
	deadline: {"deadline", "deadline due"},
	outcome:  {"outcome", "state status outcome finalstatus result"},
	stage:    {"stage", "stage stagename"},
	after:    {"after", "after dependson"},
}

// whole are Slurm's columns that count for a whole job and not for one of its tasks.
var whole = []string{"alloccpus", "reqcpus", "ncpus", "reqmem", "alloctres", "reqtres"}

// column is one that is read.
type column struct {
	role  role
	res   string // with gpus: the name of the resource
	title string // as the header has it
	plain string // title, for comparisons
	at    int    // in the header
	unit  string // of numbers without one; "": guessed
	whole bool   // counts for the whole job
	hint  int    // the layout of times that fit last
}

func plainWord(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		}
		return -1
	}, s)
}

// Roles are what a column may say, as typed.
func Roles() []string {
	var all []string
	for _, k := range known {
		all = append(all, k.name)
	}
	return all
}

// parseMapping reads ROLE=COLUMN or ROLE=COLUMN:UNIT. A role with a slash is a named resource.
func parseMapping(text string, header []string) (column, error) {
	what, title, ok := strings.Cut(text, "=")
	what, title = strings.TrimSpace(what), strings.TrimSpace(title)
	if !ok || what == "" || title == "" {
		return column{}, fmt.Errorf("%q is not ROLE=COLUMN, as in submit=SubmitTime", text)
	}
	c := column{role: role(slices.Index(Roles(), what)), title: title}
	if strings.Contains(what, "/") {
		c.role, c.res = gpus, what
		if _, err := (unit.Extra{}).With(what, 1); err != nil {
			return c, err
		}
	}
	if c.role < 0 {
		return c, fmt.Errorf("%q is not what a column can say%s: it is one of %s, or a resource such as nvidia.com/gpu", what,
			suggest.Hint(what, Roles()), strings.Join(Roles(), ", "))
	}
	if c.at = slices.Index(header, title); c.at < 0 { // it may end in a unit
		if plain, u, ok := strings.Cut(title, ":"); ok && slices.Contains(units, u) {
			c.title, c.unit, c.at = plain, u, slices.Index(header, plain)
		}
	}
	if c.at < 0 {
		return c, fmt.Errorf("%s: there is no such column%s; the header has %s", text, suggest.Hint(c.title, header), some(header))
	}
	if _, ofTime := timeScale[c.unit]; c.unit != "" && (ofTime != c.role.isTime() || !ofTime && c.role != memory) {
		return c, fmt.Errorf("%s: %s is not in %s", text, known[c.role].name, c.unit)
	}
	return c, nil
}

// choose finds the columns of a header: those of the mappings, and for other roles those whose names are known.
func choose(header, mappings []string) ([]column, error) {
	var all []column
	taken := map[int]bool{}
	var has [roles]bool
	for _, m := range mappings {
		c, err := parseMapping(m, header)
		if err != nil {
			return nil, fmt.Errorf("--columns %w", err)
		}
		if has[c.role] && c.res == "" {
			return nil, fmt.Errorf("--columns gives %s twice", known[c.role].name)
		}
		has[c.role], taken[c.at] = true, true
		all = append(all, c)
	}
	place := map[string]int{} // in the header, of plain words
	for at, title := range slices.Backward(header) {
		place[plainWord(title)] = at
	}
	for r := range known {
		for word := range strings.FieldsSeq(known[r].words) {
			if at, ok := place[word]; ok && !has[r] && !taken[at] {
				has[r], taken[at] = true, true
				all = append(all, column{role: role(r), title: header[at], at: at})
			}
		}
	}
	for i := range all {
		c := &all[i]
		c.plain = plainWord(c.title)
		c.whole = slices.Contains(whole, c.plain)
		if c.unit == "" {
			c.guessUnit()
		}
		if c.role == gpus && c.res == "" {
			c.res = "gpu"
		}
	}
	switch {
	case !has[submit] && !has[start]:
		return nil, fmt.Errorf("no column says when a job was submitted: give --columns submit=COLUMN; the header has %s", some(header))
	case !has[seconds] && !(has[start] && has[finish]):
		return nil, fmt.Errorf("no column says how long a job ran: give --columns seconds=COLUMN, or start and finish; the header has %s", some(header))
	case has[stage] && !has[id]:
		return nil, fmt.Errorf("a stage belongs to a job: give --columns id=COLUMN; the header has %s", some(header))
	}
	slices.SortStableFunc(all, func(a, b column) int { return int(a.role - b.role) })
	return all, nil
}

// guessUnit takes the unit from the column's name.
func (c *column) guessUnit() {
	var endings []string
	switch {
	case c.role == memory && c.plain == "reqmem":
		c.unit = "MB"
	case c.role == memory:
		c.unit = "B"
		endings = []string{"kib", "kb", "mib", "mb", "gib", "gb"}
	case c.role.isTime():
		endings = []string{"ms", "_us", "_ns"}
	}
	for _, e := range endings {
		if strings.HasSuffix(strings.ToLower(c.title), e) {
			c.unit = strings.TrimPrefix(e, "_")
		}
	}
}

func (r role) isTime() bool {
	return slices.Contains([]role{submit, start, finish, seconds, deadline}, r)
}

// some lists names, not all of many.
func some(names []string) string {
	const most = 40
	var all []string
	for _, n := range names[:min(len(names), most)] {
		all = append(all, fmt.Sprintf("%.60q", n))
	}
	if len(names) > most {
		all = append(all, fmt.Sprintf("and %d more", len(names)-most))
	}
	return strings.Join(all, ", ")
}
