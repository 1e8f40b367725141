package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/drive/live"
)

// LostError says that the scheduler has changes of a journal that has nothing about them: it was emptied, cut short or removed.
type LostError struct {
	Program
	Dir   string
	Marks []drive.Mark
}

func (e *LostError) Error() string {
	var what, names []string
	for _, m := range e.Marks {
		setting := m.Queue + " " + m.Property
		if m.Value != "" {
			setting += fmt.Sprintf(" (%.40s now)", m.Value)
		}
		what, names = append(what, setting), append(names, m.Name)
	}
	old := "What the values were before is not known here"
	if path := filepath.Join(e.Dir, RecordFile); exists(path) {
		old = path + " has the old values of changes that were tried"
	}
	return fmt.Sprintf("the journal %s has nothing to restore, but %s says that a change of it was not restored: %s. So the journal was emptied, "+
		"cut short or removed. %s. Set the values that you want by hand, then remove the markers (%s): \"Two steerers of one queue\" in docs/who-restores-when.md says how",
		e.Dir, e.Server, strings.Join(what, ", "), old, strings.Join(names, ", "))
}

// RecordFile is beside the journal: what a command that tries changes notes of them.
const RecordFile = "applied.jsonl"

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// lostFrom fails if one of the marks is of the journal in a folder, and nothing is open there. A steerer writes a change down before it makes it, and closes it
// after it has restored: whoever reads the marks first and the journal then does not take a change in progress for a lost one.
func (p *Program) lostFrom(dir string, marks []drive.Mark) error {
	lost := &LostError{Program: *p, Dir: dir}
	for _, m := range marks {
		if m.Journal == live.MarkOf(dir) {
			lost.Marks = append(lost.Marks, m)
		}
	}
	if _, open, _ := live.ReadJournal(dir); len(lost.Marks) == 0 || len(open) > 0 { // damage is reported elsewhere
		return nil
	}
	return lost
}

// removedHere fails if one of the marks, on one of the queues or a parent of one, is of a journal on this machine whose folder is gone. Without queues, all marks count.
func (p *Program) removedHere(marks []drive.Mark, queues []string) error {
	host, _, _ := strings.Cut(live.MarkOf("/"), ":")
	for _, m := range marks {
		if queues != nil && !slices.ContainsFunc(queues, func(q string) bool { return strings.HasPrefix(q+".", m.Queue+".") }) {
			continue
		}
		machine, dir, _ := strings.Cut(m.Journal, ":")
		if _, err := os.Lstat(dir); machine == host && live.MarkOf(dir) == m.Journal && errors.Is(err, fs.ErrNotExist) {
			return p.lostFrom(dir, marks)
		}
	}
	return nil
}

// Closed is a journal with nothing open.
type Closed struct {
	Dir   string
	Blank bool // it has no line at all
}

// AskMarks asks the schedulers of journals that have nothing to restore whether that is true. A journal that says how its changes were closed needs no
// scheduler to be believed if none answers; one without a line does. The function reads the marks of a journal's scheduler and says which that is; "":
// unknown. all: journals that are gone count, too.
func (p *Program) AskMarks(list []Closed, all bool, read func(dir string) (scheduler string, marks []drive.Mark, err error), notice func(format string, args ...any)) error {
	asked := map[string][]drive.Mark{}
	var blind error
	for _, j := range list {
		scheduler, marks, err := read(j.Dir)
		switch {
		case err == nil:
			asked[scheduler] = marks
			if err := p.lostFrom(j.Dir, marks); err != nil {
				return err
			}
		case j.Blank && scheduler == "" && isEmpty(j.Dir):
			notice("There is no journal in %s, and it is not known which scheduler to ask whether there was one.", j.Dir)
		case j.Blank:
			blind = errors.Join(blind, fmt.Errorf("the journal %s is empty, and %s cannot be asked whether that is true: %w", j.Dir, p.Server, err))
		case scheduler != "":
			notice("Not asked of %s whether a change is left: %v", p.Server, err)
		}
	}
	if !all {
		return blind
	}
	for _, marks := range asked {
		if err := p.removedHere(marks, nil); err != nil {
			return err
		}
	}
	if len(asked) > 0 { // a start that was refused leaves an empty journal
		return nil
	}
	return blind
}

// isEmpty reports whether a folder is empty, as before a first start.
func isEmpty(dir string) bool {
	list, err := os.ReadDir(dir)
	return err == nil && len(list) == 0
}
