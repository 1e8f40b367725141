package attack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/proc"
	"github.com/yardmaster/yardmaster/studies/lab/steerer"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

const unset = "unset"

// setting is one of the configuration, or unset.
func (a *arena) setting(name string) string {
	p, err := a.admin.SchedulerConf(context.Background())
	if err != nil {
		return err.Error()
	}
	if x := p.Get("yarn.scheduler.capacity." + name); x != nil {
		return x.Value
	}
	return unset
}

// set changes a setting, root.QUEUE.NAME, directly, as an administrator does; "" unsets it.
func (t *trial) set(name, value string) {
	parts := strings.SplitN(name, ".", 3)
	change := rest.QueueChange{Queue: parts[0] + "." + parts[1], Settings: []rest.Setting{{Name: parts[2], Value: value}}}
	_, err := t.admin.ChangeScheduler(t.ctx, rest.SchedulerChange{Update: []rest.QueueChange{change}})
	t.must(err)
}

func (t *trial) settings() string {
	s, err := t.state(t.ctx)
	t.must(err)
	return s.settings
}

// tuned writes the present configuration with one other setting, as tune writes it, and more.
func tuned(t *trial, args []string) {
	text := strings.Builder{}
	text.WriteString("<?xml version=\"1.0\"?>\n<configuration>\n")
	for line := range strings.Lines(t.settings()) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if key == "yarn.scheduler.capacity.root.prod.user-limit-factor" {
			value = "2.5"
		}
		text.WriteString("<property><name>" + key + "</name><value>" + value + "</value></property>\n")
	}
	text.WriteString(strings.Join(args[1:], "") + "</configuration>\n")
	t.must(os.WriteFile(args[0], []byte(text.String()), 0o600))
}

// untouched reports harm if the victim's file was written.
func untouched(t *trial, _ []string) {
	if b, err := os.ReadFile(filepath.Join(t.dir, "victim")); err != nil || string(b) != "precious\n" {
		t.harm("the victim's file is now %.100q %v, after %s", b, err, t.seen)
	}
}

// record is prepare's journal.
func (t *trial) record() string {
	names, _ := filepath.Glob(filepath.Join(t.journal(), "yarn_*", "journal.jsonl")) // the pattern is sound
	if len(names) != 1 {
		t.harm("prepare has left %d journals", len(names))
		return filepath.Join(t.dir, "none")
	}
	return names[0]
}

// undoWith tries to take back what prepare did with a pipe, or a link to the victim, in the place of its record.
func undoWith(t *trial, args []string) {
	record := t.record()
	words := map[string][]string{"pipe": {record}, "link": {filepath.Join(t.dir, "victim"), record}}
	t.must(os.Rename(record, record+".ours"))
	t.must(files[args[0]](words[args[0]]))
	t.wants(1, t.yarn("undo"))
	t.must(os.Rename(record+".ours", record))
}

// editedRecord replaces a value in prepare's record.
func editedRecord(t *trial, _ []string) {
	t.wants(0, t.yarn("levels", "--act"))
	file := t.record()
	old, err := os.ReadFile(file)
	t.must(err)
	now := t.settings()
	name := strings.Index(string(old), `\"user-limit-factor\"`)
	if name < 0 || !t.must(err) {
		t.harm("the record does not have the old settings: %.300s", old)
		return
	}
	t.must(os.WriteFile(file, []byte(string(old[:name])+strings.Replace(string(old[name:]), `\"3\"`, `\"1\"`, 1)), 0o600))
	t.wants(1, t.yarn("undo"))
	if t.settings() != now {
		t.harm("it wrote what the edited record says: %s", difference(now, t.settings()))
		t.set("root.batch.user-limit-factor", "3")
		return
	}
	t.wants(1, t.yarn("undo")) // until a person has looked
	t.must(os.Remove(filepath.Join(filepath.Dir(file), "journal.damaged.1.jsonl")))
	t.must(os.WriteFile(file, old, 0o600))
	t.wants(0, t.yarn("undo"))
}

// tamper changes the journal of a steerer that left a value changed, by a step of files.
func tamper(t *trial, args []string) {
	if !t.left() {
		return
	}
	back := t.copies(t.journal())
	now := t.settings()
	t.must(files[args[0]](args[1:]))
	o := t.yarn("restore")
	restored := t.settings() != now && t.setting("root.batch.maximum-am-resource-percent") == unset
	if o.code == 0 && !restored {
		t.harm("restore ends with 0, and the value stays: %s", tail(o.text))
	}
	if !restored {
		if t.settings() != now {
			t.harm("it wrote %s", difference(now, t.settings()))
		}
		o := t.yarn("static", "--set", "value=0.4", "--for", "3s")
		if t.settings() != now || o.code == 0 {
			t.harm("a steerer took the value for the original (exit %d): %s\n%s", o.code, difference(now, t.settings()), tail(o.text))
		}
	}
	if back(); !restored {
		t.wants(0, t.yarn("restore"))
	}
	if got := t.setting("root.batch.maximum-am-resource-percent") + t.setting("root.batch.yardmaster.journal"); got != unset+unset {
		t.set("root.batch.maximum-am-resource-percent", "")
		t.set("root.batch.yardmaster.journal", "")
		t.harm("the old journal does not restore any more: %s", got)
	}
}

// left leaves a setting of root.batch changed, with the mark of the trial's journal, as a steerer does that is killed together with its guard.
func (t *trial) left() bool {
	p, err := steerer.Start(t.bin, t.lab.Dir, nil, t.words([]string{"steer", "--queue", "root.batch", "--policy", "static", "--set", "value=0.3",
		"--listen", "off", "--journal", t.journal(), "--act"})...)
	if !t.must(err) {
		return false
	}
	marked := proc.Await(t.ctx, maxTime, 20*time.Millisecond, func() bool { return t.setting("root.batch.yardmaster.journal") != unset || !p.Alive() })
	time.Sleep(200 * time.Millisecond) // until its lines are on disk: kills between them are an attack of their own
	p.End(p.Guards()...)
	if !marked || t.setting("root.batch.maximum-am-resource-percent") != "0.3" {
		return t.must(fmt.Errorf("the steerer changed nothing: %s", p.Last()))
	}
	return true
}

// copies are the files of a folder, to put them back.
func (t *trial) copies(dir string) (back func()) {
	to := dir + ".copy"
	t.must(os.CopyFS(to, os.DirFS(dir)))
	return func() {
		t.must(os.RemoveAll(dir))
		t.must(os.Rename(to, dir))
		t.must(os.Chmod(dir, 0o700))
		entries, _ := os.ReadDir(dir) // it was there a moment ago
		for _, e := range entries {
			t.must(os.Chmod(filepath.Join(dir, e.Name()), 0o600))
		}
	}
}
