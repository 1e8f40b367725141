package yard

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/internal/flock"
	"github.com/yardmaster/yardmaster/internal/securefile"
	"github.com/yardmaster/yardmaster/steer/drive"
)

const plainFair = "<allocations>\n  <queue name=\"default\">\n    <weight>1</weight>\n  </queue>\n</allocations>\n"

// plainFile writes an allocation file that is old enough to be changed at once.
func plainFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fair-scheduler.xml")
	save(t, path, plainFair)
	return path
}

// save writes as an editor does that renames, and makes the file look old.
func save(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := errors.Join(os.Chtimes(path+".new", old, old), os.Rename(path+".new", path)); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A ResourceManager can name any file of the machine: only what the operator names too is written.
func TestOperatorConfirmsTheFile(t *testing.T) {
	const setting = "yarn.scheduler.fair.allocation.file"
	file := plainFile(t)
	m := newManager("3.4.2", true)
	m.conf[setting] = file
	y := m.open(t, Options{})
	for _, err := range []error{y.CanAct(t.Context()), y.Write(t.Context(), y.Knob(), y.Value(y.Knob(), 0.3))} {
		if err == nil || errors.Is(err, drive.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "confirm it with --file "+file) {
			t.Error(err)
		}
	}
	if content(t, file) != plainFair {
		t.Error("a file was written that only the ResourceManager has named")
	}
	for _, evil := range []string{"/tmp/$(reboot)", "/tmp/a b", "/tmp/\x1b[2J", "/tmp/`id`", "/" + strings.Repeat("x", 300)} {
		m.conf[setting] = evil
		if err := m.open(t, Options{}).CanAct(t.Context()); err == nil || !strings.Contains(err.Error(), "name the ResourceManager's fair-scheduler.xml with --file") {
			t.Errorf("%q: %v", evil, err)
		}
	}

	differ := func(named, given string) bool {
		m.conf[setting] = named
		y := m.open(t, Options{File: given})
		if err := y.CanAct(t.Context()); err != nil {
			t.Error(err)
		}
		return strings.Contains(strings.Join(y.Notes(), "\n"), "unless they are the same file")
	}
	link := filepath.Join(t.TempDir(), "link.xml")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	if differ(file, file) || differ(link, file) || differ("fair-scheduler.xml", file) {
		t.Error("the same file, or one that is not told, counts as another")
	}
	if !differ("/no/such/file.xml", file) || !differ(plainFile(t), file) {
		t.Error("another file is named and nothing says so")
	}
}

func TestFoldersThatOthersWriteAreRefused(t *testing.T) {
	for _, mode := range []os.FileMode{0o777, 0o775, 0o777 | os.ModeSticky} {
		file := plainFile(t)
		m := newManager("3.4.2", true)
		y := m.open(t, Options{File: file})
		if err := os.Chmod(filepath.Dir(file), mode); err != nil {
			t.Fatal(err)
		}
		if _, err := y.Read(t.Context(), y.Knob()); !errors.Is(err, securefile.ErrInsecure) {
			t.Errorf("%v: read: %v", mode, err)
		}
		if err := y.CanAct(t.Context()); !errors.Is(err, securefile.ErrInsecure) {
			t.Errorf("%v: %v", mode, err)
		}
		if err := y.Write(t.Context(), y.Knob(), y.Value(y.Knob(), 0.3)); !errors.Is(err, securefile.ErrInsecure) || !strings.Contains(err.Error(), "not changed: ") || errors.Is(err, drive.ErrOutcomeUnknown) {
			t.Errorf("%v: %v", mode, err)
		}
		if content(t, file) != plainFair {
			t.Errorf("%v: written", mode)
		}
	}
}

// What an administrator saves while a change is under way stays, whenever it comes and however the editor writes.
func TestEditsOfOthersStay(t *testing.T) {
	heavier := func(s string) string { return strings.Replace(s, "<weight>1</weight>", "<weight>2</weight>", 1) }
	for name, edit := range map[string]func(t *testing.T, file string){
		"by a rename": func(t *testing.T, file string) { save(t, file, heavier(content(t, file))) },
		"in place": func(t *testing.T, file string) {
			old := time.Now().Add(-time.Hour)
			if err := errors.Join(os.WriteFile(file, []byte(heavier(content(t, file))), 0o644), os.Chtimes(file, old, old)); err != nil {
				t.Fatal(err)
			}
		},
		"in place, with the time kept": func(t *testing.T, file string) {
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.WriteFile(file, []byte(heavier(content(t, file))), 0o644), os.Chtimes(file, info.ModTime(), info.ModTime())); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := plainFile(t)
			if securefile.Exchange(file, file) != nil {
				t.Skip("files cannot be exchanged here")
			}
			y := newManager("3.4.2", true).open(t, Options{File: file})
			if _, err := y.Read(t.Context(), y.Knob()); err != nil {
				t.Fatal(err)
			}
			times := 0
			atSwap(t, func() {
				if times++; times == 1 {
					edit(t, file)
				}
			})
			if err := y.Write(t.Context(), y.Knob(), y.Value(y.Knob(), 0.3)); err != nil {
				t.Fatal(err)
			}
			if got, want := content(t, file), strings.Replace(heavier(plainFair), "  </queue>", "    <maxAMShare>0.3</maxAMShare>\n  </queue>", 1); got != want || times != 2 {
				t.Errorf("after %d tries:\n%s\nwant\n%s", times, got, want)
			}
			if left := securefile.Leftovers(file); len(left) > 0 {
				t.Error(left)
			}
		})
	}
}

func atSwap(t *testing.T, do func()) {
	t.Helper()
	beforeSwap = do
	t.Cleanup(func() { beforeSwap = func() {} })
}

// A value that somebody else sets between the reading and the writing of ours is theirs: the driver has to see it before it goes on.
func TestAValueOfOthersIsNotWrittenOver(t *testing.T) {
	theirs := strings.Replace(plainFair, "<weight>", "<maxAMShare>0.8</maxAMShare><weight>", 1)
	for name, when := range map[string]func(file string, edit func()){
		"before the file is opened":   func(_ string, edit func()) { edit() },
		"before ours is put in place": func(_ string, edit func()) { atSwap(t, edit) },
	} {
		t.Run(name, func(t *testing.T) {
			file := plainFile(t)
			y := newManager("3.4.2", true).open(t, Options{File: file})
			if _, err := y.Read(t.Context(), y.Knob()); err != nil {
				t.Fatal(err)
			}
			when(file, func() { save(t, file, theirs) })
			err := y.Write(t.Context(), y.Knob(), y.Value(y.Knob(), 0.3))
			beforeSwap = func() {}
			if err == nil || errors.Is(err, drive.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "somebody else has set it to 0.8") {
				t.Error(err)
			}
			if content(t, file) != theirs {
				t.Error(content(t, file))
			}
			if v, err := y.Read(t.Context(), y.Knob()); err != nil || v.Text != "0.8" { // now it is known, and may be written over
				t.Error(v, err)
			}
			if err := y.Write(t.Context(), y.Knob(), y.Value(y.Knob(), 0.3)); err != nil {
				t.Error(err)
			}
		})
	}
}

// The same for the other scheduler's file, which is read when a command says so.
func TestEditsOfOthersStayInCapacityFile(t *testing.T) {
	const text = "<configuration>\n  <property><name>yarn.scheduler.capacity.root.queues</name><value>default</value></property>\n" +
		"  <property><name>yarn.scheduler.capacity.root.default.capacity</name><value>100</value></property>\n  <!-- ours -->\n</configuration>\n"
	file := filepath.Join(t.TempDir(), "capacity-scheduler.xml")
	save(t, file, text)
	if securefile.Exchange(file, file) != nil {
		t.Skip("files cannot be exchanged here")
	}
	m := newManager("3.4.2", false)
	m.conf["yarn.scheduler.configuration.store.class"] = "file"
	y := m.open(t, Options{File: file, Refresh: []string{"true"}})
	times := 0
	atSwap(t, func() {
		if times++; times <= 3 {
			save(t, file, strings.Replace(content(t, file), "ours", "ours, too", 1))
		}
	})
	if err := y.Write(t.Context(), y.Knob(), y.Value(y.Knob(), 0.25)); err != nil {
		t.Fatal(err)
	}
	if got := content(t, file); !strings.Contains(got, "ours, too, too, too") || !strings.Contains(got, "<value>0.25</value>") || times != 4 {
		t.Errorf("after %d tries:\n%s", times, got)
	}
	atSwap(t, func() { save(t, file, content(t, file)+" ") })
	if err := y.Write(t.Context(), y.Knob(), y.Value(y.Knob(), 0.5)); err == nil || errors.Is(err, drive.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "again and again") {
		t.Error(err)
	}
	if got := content(t, file); !strings.Contains(got, "<value>0.25</value>") {
		t.Error(got)
	}
}

// Where a file can only be written in place, what was saved since it was read is noticed too.
func TestEditsOfOthersStayInPlace(t *testing.T) {
	file := plainFile(t)
	if err := os.Link(file, file+".2"); err != nil {
		t.Skip(err)
	}
	o, err := (&editedFile{file, allocationFile}).open()
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if err := os.WriteFile(file, []byte("<allocations/>"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := o.replace([]byte("ours")); !errors.Is(err, errChanged) || content(t, file) != "<allocations/>" {
		t.Error(err, content(t, file))
	}
}

// What Read finds, Write puts back, however it is spelled: a value that could not be put back is not changed in the first place.
func TestWhatIsFoundCanBePutBack(t *testing.T) {
	capacity := func(share string) string {
		const p = "<property><name>yarn.scheduler.capacity."
		return "<configuration>" + p + "root.queues</name><value>default</value></property>" + p + "root.default.capacity</name><value>100</value></property>" +
			"<property><name>x</name><value>0.3</value></property>" + p + "root.default.maximum-am-resource-percent</name><value>" + share + "</value></property></configuration>"
	}
	fair := func(share string) string {
		return strings.Replace(plainFair, "<weight>", "<maxAMShare>"+share+"</maxAMShare><weight>", 1)
	}
	for name, c := range map[string]struct {
		fair    bool
		text    string
		number  float64
		refused string
	}{
		"a variable":                      {false, capacity("${x}"), 0.3, ""},
		"a variable that cannot be typed": {false, strings.Replace(capacity("${x>}"), "<name>x<", "<name>x><", 1), 0.3, "${x>} could not be put back: "},
		"a negative percentage":           {false, capacity("-1"), -1, `is "-1": not changed, because that could not be put back`},
		"a share above one":               {true, fair("2.0"), 1, ""},
		"no limit":                        {true, fair("-1.0"), -1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "scheduler.xml")
			save(t, file, c.text)
			m := newManager("3.4.2", c.fair)
			m.conf["yarn.scheduler.configuration.store.class"] = "file"
			y := m.open(t, Options{File: file, Refresh: []string{"true"}})
			ctx, k := t.Context(), y.Knob()
			found, err := y.Read(ctx, k)
			ours := y.Value(k, 0.25)
			ours.Mark = "host:journal"
			if err == nil {
				if found.Number != c.number {
					t.Error(found)
				}
				err = y.Write(ctx, k, ours)
			}
			if c.refused != "" {
				if err == nil || errors.Is(err, drive.ErrOutcomeUnknown) || !strings.Contains(err.Error(), c.refused) || content(t, file) != c.text {
					t.Errorf("%v\n%s", err, content(t, file))
				}
				return
			}
			if err != nil || !strings.Contains(content(t, file), ">0.25<") {
				t.Fatal(err, content(t, file))
			}
			old := time.Now().Add(-time.Hour)
			if err := os.Chtimes(file, old, old); err != nil {
				t.Fatal(err)
			}
			if err := y.Write(ctx, k, drive.Value{Text: "0.9", Set: true, Number: 0.2}); err == nil || errors.Is(err, drive.ErrOutcomeUnknown) {
				t.Error("a text that is not its number:", err)
			}
			if err := y.Write(ctx, k, found); err != nil || content(t, file) != c.text {
				t.Errorf("%v\n%s", err, content(t, file))
			}
		})
	}
}

// Whether a variable is in force is judged by what it stands for now.
func TestVariableInForce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "capacity-scheduler.xml")
	save(t, file, "<configuration><property><name>x</name><value>0.3</value></property>"+
		"<property><name>yarn.scheduler.capacity.root.default.maximum-am-resource-percent</name><value>${x}</value></property></configuration>")
	m := newManager("3.4.2", false)
	m.conf["yarn.scheduler.configuration.store.class"] = "file"
	y := m.open(t, Options{File: file, Refresh: []string{"true"}})
	found, err := y.Read(t.Context(), y.Knob())
	if err != nil {
		t.Fatal(err)
	}
	save(t, file, strings.Replace(content(t, file), "0.3", "0.4", 1))
	for _, shown := range []float64{0.3, 0.4} {
		m.leaf["configuredMaxAMResourceLimit"] = shown
		if in, err := y.InForce(t.Context(), y.Knob(), found); err != nil || in != (shown == 0.4) {
			t.Error(shown, in, err)
		}
	}
}

// Whoever may read the file can hold its lock for ever. That keeps nobody from changing it, and what others are writing at the time is left alone.
func TestAHeldFileIsChanged(t *testing.T) {
	file := plainFile(t)
	f, err := os.Open(file) // for reading only
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := flock.Try(f); err != nil {
		t.Skip("no file locks here:", err)
	}
	defer func(d time.Duration) { holdWithin = d }(holdWithin)
	holdWithin = 100 * time.Millisecond
	theirs, err := securefile.NewTemp(file)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Discard()
	y := newManager("3.4.2", true).open(t, Options{File: file})
	if err := y.CanAct(t.Context()); err != nil {
		t.Error(err)
	}
	if err := y.Write(t.Context(), y.Knob(), y.Value(y.Knob(), 0.3)); err != nil || !strings.Contains(content(t, file), "<maxAMShare>0.3<") {
		t.Error(err, content(t, file))
	}
	if left := securefile.Leftovers(file); len(left) != 1 || left[0] != theirs.Name() {
		t.Error(left)
	}
}

// A write in place that fails, and cannot be undone because nothing was written, has changed nothing.
func TestOverwriteThatFailsAtOnce(t *testing.T) {
	file := plainFile(t)
	f, err := os.Open(file) // not for writing
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	o := &opened{File: f, path: file, data: []byte(plainFair)}
	if err := o.overwrite([]byte("ours")); err == nil || errors.Is(err, drive.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "not changed: ") {
		t.Error(err)
	}
}

// A file that changes all the time: the newest version stays in place.
func TestExchangeLeavesTheNewest(t *testing.T) {
	file := plainFile(t)
	o, err := (&editedFile{file, allocationFile}).open()
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	atSwap(t, func() { save(t, file, "newest") })
	if err := o.replace([]byte("ours")); !errors.Is(err, errChanged) {
		t.Error(err)
	}
	if got := content(t, file); got != "newest" {
		t.Errorf("%q", got)
	}
}
