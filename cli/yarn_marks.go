package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/yarn/rest"
	"github.com/yardmaster/yardmaster/yarn/yard"
)

// LostError says that the ResourceManager has changes of a journal that has nothing about them: it was emptied, cut short or removed.
type LostError struct {
	Dir   string
	Marks []yard.Mark
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
	if path := filepath.Join(e.Dir, recordFile); exists(path) {
		old = "If \"yarn apply\" made the change, " + path + " has the old values"
	}
	return fmt.Sprintf("the journal %s has nothing to restore, but the ResourceManager says that a change of it was not restored: %s. So the journal was emptied, "+
		"cut short or removed. %s. Set the values that you want by hand, then remove the markers (%s): \"Two steerers of one queue\" in docs/who-restores-when.md says how",
		e.Dir, strings.Join(what, ", "), old, strings.Join(names, ", "))
}

// nothingIn reports whether a folder is empty, as before a first start.
func nothingIn(dir string) bool {
	list, err := os.ReadDir(dir)
	return err == nil && len(list) == 0
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// lostFrom fails if one of the marks is of the journal in a folder, and nothing is open there. A steerer writes a change down before it makes it, and closes it
// after it has restored: whoever reads the marks first and the journal then does not take a change in progress for a lost one.
func lostFrom(dir string, marks []yard.Mark) error {
	lost := &LostError{Dir: dir}
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
func removedHere(marks []yard.Mark, queues []string) error {
	host, _, _ := strings.Cut(live.MarkOf("/"), ":")
	for _, m := range marks {
		if queues != nil && !slices.ContainsFunc(queues, func(q string) bool { return strings.HasPrefix(q+".", m.Queue+".") }) {
			continue
		}
		machine, dir, _ := strings.Cut(m.Journal, ":")
		if _, err := os.Lstat(dir); machine == host && live.MarkOf(dir) == m.Journal && errors.Is(err, fs.ErrNotExist) {
			return lostFrom(dir, marks)
		}
	}
	return nil
}

// closedJournal is one with nothing open.
type closedJournal struct {
	dir   string
	blank bool // it has no line at all
}

// askMarks asks the ResourceManagers of journals that have nothing to restore whether that is true. A journal that says how its changes were closed needs no
// ResourceManager to be believed if none answers; one without a line does.
func (f *restoreFlags) askMarks(ctx context.Context, cmd *cobra.Command, list []closedJournal) error {
	notice := noticesTo(cmd.ErrOrStderr())
	asked := map[string][]yard.Mark{}
	var blind error
	for _, j := range list {
		k, err := f.with(cmd, j.dir, nil)
		var marks []yard.Mark
		if err == nil {
			name := strings.Join(k.rm, ",")
			if known, ok := asked[name]; ok {
				marks = known
			} else if marks, err = k.marks(ctx); err == nil {
				asked[name] = marks
			}
		}
		switch {
		case err == nil:
			if err := lostFrom(j.dir, marks); err != nil {
				return err
			}
		case j.blank && k == nil && nothingIn(j.dir):
			notice("There is no journal in %s, and no ResourceManager to ask whether there was one: --rm names it.", j.dir)
		case j.blank:
			blind = errors.Join(blind, fmt.Errorf("the journal %s is empty, and the ResourceManager cannot be asked whether that is true: %w", j.dir, err))
		case k != nil: // it is known which
			notice("The ResourceManager was not asked whether a change is left: %v", err)
		}
	}
	if f.journal != "" {
		return blind
	}
	for _, marks := range asked {
		if err := removedHere(marks, nil); err != nil {
			return err
		}
	}
	if len(asked) > 0 { // a start that was refused leaves an empty journal
		return nil
	}
	return blind
}

// marks reads the marks of a ResourceManager; none if it cannot keep any.
func (k *knobFlags) marks(ctx context.Context) (list []yard.Mark, err error) {
	c, err := k.client(rest.Options{Timeout: 10 * time.Second, Retries: 2, RMRate: -1})
	if err != nil {
		return nil, err
	}
	defer c.CloseIdle()
	err = k.inTime(ctx, func(in context.Context) (err error) { list, err = yard.ReadMarks(in, c); return err })
	return list, err
}
