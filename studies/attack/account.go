package attack

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// accountAttacks are those of another account of the machine on which the operator runs the commands.
func accountAttacks() []Attack {
	return []Attack{
		{Name: "journal in a folder open to others", Actor: Account, run: openFolder,
			Tries: "Can write to the folder of the journal or of prepare's record, and so decide what is restored.",
			Holds: "`apply`, `steer`, `restore` and `prepare` refuse the folder; nothing is changed."},
		{Name: "journal or record is a link", Actor: Account, run: linkedJournal,
			Tries: "Puts symbolic links to a victim's file in the place of the journal, the record of changes and prepare's record.",
			Holds: "The victim's file is not written; nothing is changed."},
		{Name: "journal is a pipe", Actor: Account, run: pipes,
			Tries: "Puts pipes in the place of the journal, prepare's record and the new configuration, so that a command waits for ever.",
			Holds: "Every command ends with an error."},
		{Name: "journal emptied", Actor: Account, run: func(t *trial) { tampered(t, func(file string) error { return os.Truncate(file, 0) }) },
			Tries: "Empties the journal while the ResourceManager has a changed value with its mark.",
			Holds: "`restore` ends with 1 and says so; a steerer refuses to take the value for the original."},
		{Name: "journal truncated", Actor: Account, run: func(t *trial) { tampered(t, half) },
			Tries: "Cuts the journal in the middle of a line.",
			Holds: "`restore` ends with 1 and says so, or restores; a steerer refuses to take the value for the original."},
		{Name: "journal deleted", Actor: Account, run: func(t *trial) { tampered(t, os.Remove) },
			Tries: "Deletes the journal.",
			Holds: "`restore` ends with 1 and says so; a steerer refuses to take the value for the original."},
		{Name: "journal with other values", Actor: Account, run: func(t *trial) { tampered(t, replaced("0.3", "0.9")) },
			Tries: "Replaces values in the journal, to have them written.",
			Holds: "The damage is detected by the checksum, and nothing of it is written."},
		{Name: "prepare's record with other values", Actor: Account, run: editedRecord,
			Tries: "Replaces an old value in prepare's record, to have it written by `--undo`.",
			Holds: "`prepare --undo` ends with 1; nothing is changed until the record is the old one again."},
		{Name: "new configuration that others can write", Actor: Account, run: swappedFile,
			Tries: "Replaces the file that tune has written between the operator's check and `apply FILE --act`.",
			Holds: "`apply --act` refuses a file that another account can replace; nothing is changed."},
		{Name: "output is a link", Actor: Account, run: linkedOut,
			Tries: "Puts a link to a victim's file where `apply --out` and `prepare --out` write.",
			Holds: "The victim's file is not written."},
		{Name: "false journal beside ours", Actor: Account, run: besides,
			Tries: "Puts journals of other accounts beside ours: huge, open, a pipe, so that a command reads them or waits.",
			Holds: "They are not read: the change is made and rolled back."},
	}
}

// steers are the commands that would use a journal.
func (t *trial) refuse(why ...string) {
	change := []string{"--journal", t.journal(), "--act"}
	t.wants(t.yarn("apply", append(change, "root.prod.user-limit-factor=2.5")...), 1, why...)
	t.wants(t.yarn("steer", append(change, "--queue", "root.batch", "--policy", "static", "--set", "value=0.4", "--listen", "off", "--for", "2s")...), 1, why...)
}

func openFolder(t *trial) {
	t.must(os.Mkdir(t.journal(), 0o700))
	t.must(os.Chmod(t.journal(), 0o777))
	t.refuse("other")
	t.wants(t.yarn("restore", "--journal", t.journal()), 1)
	t.wants(t.yarn("prepare", "--queue", "root.batch", "--policy", "fbq", "--journal", t.journal(), "--act"), 1)
}

func linkedJournal(t *trial) {
	const text = "precious\n"
	victim := t.file("victim", text)
	untouched := func(by string) {
		if b, err := os.ReadFile(victim); err != nil || string(b) != text {
			t.harm("%s wrote to the victim: %q %v", by, b, err)
		}
	}
	for _, name := range []string{"journal.jsonl", "lock", "applied.jsonl"} {
		t.must(os.RemoveAll(t.journal())) // of the one before
		t.must(os.Mkdir(t.journal(), 0o700))
		t.must(os.Symlink(victim, filepath.Join(t.journal(), name)))
		t.wants(t.yarn("apply", "--journal", t.journal(), "--act", "root.prod.user-limit-factor=2.5"), 1)
		untouched("apply, with a link as " + name)
	}
	// prepare's record is replaced, link and all.
	t.wants(t.yarn("prepare", "--queue", "root.batch", "--policy", "fbq", "--journal", t.journal(), "--act"), 0)
	record := t.record()
	t.must(os.Rename(record, record+".ours"))
	t.must(os.Symlink(victim, record))
	t.wants(t.yarn("prepare", "--queue", "root.batch", "--journal", t.journal(), "--undo"), 1)
	t.must(os.Rename(record+".ours", record))
	untouched("prepare --undo")
	t.wants(t.yarn("prepare", "--queue", "root.batch", "--journal", t.journal(), "--undo"), 0)
}

// record is the file of prepare.
func (t *trial) record() string {
	names, _ := filepath.Glob(filepath.Join(t.journal(), "yarn_*.json")) // the pattern is sound
	if len(names) != 1 {
		t.harm("prepare has left %d records", len(names))
		return filepath.Join(t.dir, "none")
	}
	return names[0]
}

func pipes(t *trial) {
	t.must(os.Mkdir(t.journal(), 0o700))
	journal := filepath.Join(t.journal(), "journal.jsonl")
	t.must(syscall.Mkfifo(journal, 0o600))
	t.refuse()
	t.wants(t.yarn("restore", "--journal", t.journal()), 1)
	t.must(os.Remove(journal))
	t.wants(t.yarn("prepare", "--queue", "root.batch", "--policy", "fbq", "--journal", t.journal(), "--act"), 0)
	record := t.record()
	t.must(os.Rename(record, record+".ours"))
	t.must(syscall.Mkfifo(record, 0o600))
	t.wants(t.yarn("prepare", "--queue", "root.batch", "--journal", t.journal(), "--undo"), 1)
	t.must(os.Rename(record+".ours", record))
	t.wants(t.yarn("prepare", "--queue", "root.batch", "--journal", t.journal(), "--undo"), 0)
	file := filepath.Join(t.dir, "new.xml")
	t.must(syscall.Mkfifo(file, 0o600))
	t.wants(t.yarn("apply", "--journal", t.journal(), "--act", file), 1)
}

func half(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	return os.Truncate(file, info.Size()/2)
}

func replaced(old, other string) func(file string) error {
	return func(file string) error {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return os.WriteFile(file, []byte(strings.ReplaceAll(string(b), old, other)), 0o600)
	}
}

// tampered changes the journal of a steerer that left a value changed.
func tampered(t *trial, change func(file string) error) {
	if !t.left() {
		return
	}
	back := t.copies(t.journal())
	now := t.settings()
	t.must(change(filepath.Join(t.journal(), "journal.jsonl")))
	o := t.yarn("restore", "--journal", t.journal())
	restored := t.settings() != now && t.setting("root.batch.maximum-am-resource-percent") == "unset"
	if o.code == 0 && !restored {
		t.harm("restore ends with 0, and the value stays: %s", tail(o.text))
	}
	if !restored {
		if t.settings() != now {
			t.harm("it wrote %s", difference(now, t.settings()))
		}
		o := t.yarn("steer", "--journal", t.journal(), "--act", "--queue", "root.batch", "--policy", "static", "--set", "value=0.4", "--listen", "off", "--for", "3s")
		if t.settings() != now || o.code == 0 {
			t.harm("a steerer took the value for the original (exit %d): %s\n%s", o.code, difference(now, t.settings()), tail(o.text))
		}
	}
	if back(); !restored {
		t.wants(t.yarn("restore", "--journal", t.journal()), 0)
	}
	if got := t.setting("root.batch.maximum-am-resource-percent") + t.setting("root.batch.yardmaster.journal"); got != "unsetunset" {
		t.set("root.batch", "maximum-am-resource-percent", "")
		t.set("root.batch", "yardmaster.journal", "")
		t.harm("the old journal does not restore any more: %s", got)
	}
}

func (t *trial) settings() string {
	s, err := t.state(t.ctx)
	t.must(err)
	return s.settings
}

func editedRecord(t *trial) {
	args := []string{"--queue", "root.batch", "--journal", t.journal()}
	t.wants(t.yarn("prepare", append(args, "--policy", "fbq", "--act")...), 0)
	file := t.record()
	old, err := os.ReadFile(file)
	t.must(err)
	now := t.settings()
	name := strings.Index(string(old), `"user-limit-factor"`)
	if name < 0 || !t.must(err) {
		t.harm("the record does not have the old settings: %.300s", old)
		return
	}
	t.must(os.WriteFile(file, []byte(string(old[:name])+strings.Replace(string(old[name:]), `"3"`, `"1"`, 1)), 0o600))
	t.wants(t.yarn("prepare", append(args, "--undo")...), 1)
	if t.settings() != now {
		t.harm("it wrote what the edited record says: %s", difference(now, t.settings()))
		t.set("root.batch", "user-limit-factor", "3")
		return
	}
	t.must(os.WriteFile(file, old, 0o600))
	t.wants(t.yarn("prepare", append(args, "--undo")...), 0)
}

// tuned is the present configuration with one other setting, as tune writes it.
func (t *trial) tuned(name string, more ...string) string {
	text := strings.Builder{}
	text.WriteString("<?xml version=\"1.0\"?>\n<configuration>\n")
	for line := range strings.Lines(t.settings()) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if key == "yarn.scheduler.capacity.root.prod.user-limit-factor" {
			value = "2.5"
		}
		text.WriteString("<property><name>" + key + "</name><value>" + value + "</value></property>\n")
	}
	for _, m := range more {
		text.WriteString(m)
	}
	text.WriteString("</configuration>\n")
	return t.file(name, text.String())
}

func swappedFile(t *trial) {
	file := t.tuned("new.xml")
	t.wants(t.yarn("apply", "--journal", t.journal(), file), 0, "Nothing is changed")
	t.must(os.Chmod(file, 0o666))
	t.wants(t.yarn("apply", "--journal", t.journal(), "--act", file), 1)
	t.must(os.Chmod(file, 0o600))
	folder := filepath.Join(t.dir, "shared")
	t.must(os.Mkdir(folder, 0o700))
	t.must(os.Chmod(folder, 0o777))
	other := filepath.Join(folder, "new.xml")
	t.must(os.Rename(file, other))
	t.wants(t.yarn("apply", "--journal", t.journal(), "--act", other), 1)
	t.must(os.Symlink(other, file))
	t.wants(t.yarn("apply", "--journal", t.journal(), "--act", file), 1)
	if got := t.setting("root.prod.user-limit-factor"); got != "2" {
		t.harm("root.prod.user-limit-factor is %s", got)
		t.set("root.prod", "user-limit-factor", "2")
	}
}

func linkedOut(t *trial) {
	victim := t.file("victim", "precious\n")
	t.must(os.Symlink(victim, filepath.Join(t.dir, "out.xml")))
	t.must(os.Link(victim, filepath.Join(t.dir, "hard.xml")))
	for _, out := range []string{"out.xml", "hard.xml"} {
		t.wants(t.yarn("apply", "--journal", t.journal(), "root.prod.user-limit-factor=2.5", "--out", filepath.Join(t.dir, out)), 0)
		t.wants(t.yarn("prepare", "--queue", "root.batch", "--policy", "fbq", "--journal", t.journal(), "--out", filepath.Join(t.dir, out)), 0)
	}
	if b, err := os.ReadFile(victim); err != nil || string(b) != "precious\n" {
		t.harm("the victim's file is now %.100q", b)
	}
}

func besides(t *trial) {
	for i, name := range []string{"huge", "pipe", "open"} {
		dir := filepath.Join(t.dir, name)
		file := filepath.Join(dir, "journal.jsonl")
		t.must(os.Mkdir(dir, 0o700))
		switch i {
		case 0:
			t.file("huge/journal.jsonl", "{}\n")
			t.must(os.Truncate(file, 900<<20))
		case 1:
			t.must(syscall.Mkfifo(file, 0o600))
		case 2:
			t.file("open/journal.jsonl", `{"what":"before","engine":"yarn:x/root.prod","knob":{"kind":2,"queue":"root.prod"}}`+"\n")
		}
		t.must(os.Chmod(dir, 0o777))
	}
	t.wants(t.yarn("apply", "--journal", t.journal(), "--act", "root.prod.user-limit-factor=2.5"), 0, "Kept")
	t.set("root.prod", "user-limit-factor", "2")
}
