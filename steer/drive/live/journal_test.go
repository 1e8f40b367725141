package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/internal/securefile"
	"github.com/yardmaster/yardmaster/steer"
	. "github.com/yardmaster/yardmaster/steer/drive"
)

var night = time.Date(2026, 11, 15, 3, 12, 45, 0, time.UTC)

func before(number float64) Entry {
	v := Value{Text: fmt.Sprint(number), Set: true, Number: number}
	return Entry{At: night, What: Before, Engine: "a", Knob: share, Original: &found, Old: &found, New: &v, Why: `55 % idle & 3 waiting: "one more"`}
}

func mustOpen(t *testing.T, dir string) *DiskJournal {
	t.Helper()
	j, err := OpenJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func mustAppend(t *testing.T, j *DiskJournal, entries ...Entry) {
	t.Helper()
	for _, e := range entries {
		if err := j.Append(e); err != nil {
			t.Fatal(err)
		}
	}
}

// A folder or a file that others may write, or that belongs to somebody else, is no journal: what stands in it would be written to the scheduler.
func TestAJournalOfOthersIsNotOpened(t *testing.T) {
	dir := t.TempDir()
	j := mustOpen(t, dir)
	mustAppend(t, j, before(0.09))
	j.Close()
	refused := func(what string, want error) {
		t.Helper()
		_, opened := OpenJournal(dir)
		_, _, read := ReadJournal(dir)
		for _, err := range []error{opened, read} {
			if !errors.Is(err, want) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, journalFile)
	must(os.Chmod(dir, 0o777)) //nolint:gosec // that is the fault
	refused("a folder that others may write", securefile.ErrInsecure)
	must(os.Chmod(dir, 0o700)) //nolint:gosec // a folder
	must(os.Chmod(path, 0o666))
	refused("a file that others may write", securefile.ErrInsecure)
	must(os.Chmod(path, 0o600))
	if os.Geteuid() == 0 {
		must(os.Chown(dir, 65534, 65534))
		refused("the folder of another account", securefile.ErrInsecure)
		must(os.Chown(dir, 0, 0))
	}
	must(os.Rename(path, path+"2"))
	must(os.Symlink(path+"2", path))
	refused("a link", syscall.ELOOP)
	must(os.Rename(path+"2", path))
	if open := mustOpen(t, dir).Open(); len(open) != 1 {
		t.Errorf("%v", open)
	}
}

// A line is an object by itself, for jq and for a person.
func TestAJournalCanBeReadAtNight(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "journal")
	j := mustOpen(t, dir)
	mustAppend(t, j, before(0.09), Entry{At: night, What: After, Engine: "a", Knob: share, New: &Value{Text: "0.09", Set: true, Number: 0.09}})
	data, err := os.ReadFile(filepath.Join(dir, journalFile))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"seq":1,"at":"2026-11-15T03:12:45Z","what":"before","engine":"a","knob":{"kind":"queue","queue":"root.default","property":"maxAMShare"},` +
		`"original":{"text":"0.050","set":true,"number":0.05},"old":{"text":"0.050","set":true,"number":0.05},"new":{"text":"0.09","set":true,"number":0.09},` +
		`"why":"55 % idle & 3 waiting: \"one more\"","crc":"`
	lines := bytes.Split(data, []byte("\n"))
	if len(lines) != 3 || !bytes.HasPrefix(lines[0], []byte(want)) {
		t.Errorf("%s\nwant %s", data, want)
	}
	for _, line := range lines[:2] {
		if !json.Valid(line) {
			t.Errorf("no JSON: %s", line)
		}
	}
}

func TestOnlyOneHasTheJournal(t *testing.T) {
	dir := t.TempDir()
	j := mustOpen(t, dir)
	_, err := OpenJournal(dir)
	var held *HeldError
	if !errors.As(err, &held) || held.PID != os.Getpid() || time.Since(held.Since) > time.Minute {
		t.Fatalf("%v", err)
	}
	if host, _ := os.Hostname(); !strings.Contains(err.Error(), fmt.Sprintf("process %d on %s since ", os.Getpid(), host)) {
		t.Error(err)
	}
	mustAppend(t, j, before(0.09))
	if _, open, err := ReadJournal(dir); err != nil || len(open) != 1 { // reading needs no lock
		t.Errorf("%v, %v", open, err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if open := mustOpen(t, dir).Open(); len(open) != 1 || open[0].New.Number != 0.09 || open[0].What != Held {
		t.Errorf("%+v", open)
	}
	if e, o, err := ReadJournal(filepath.Join(dir, "none")); e != nil || len(o) > 0 || err != nil {
		t.Errorf("%v, %v, %v", e, o, err)
	}
	if got := (&HeldError{Dir: "d"}).Error(); !strings.Contains(got, "held by another process") {
		t.Error(got)
	}
}

// Wherever the last line is cut, the lines before it hold and the journal goes on after them.
func TestATornLastLine(t *testing.T) {
	var whole []byte
	for i, e := range []Entry{before(0.09), before(0.13)} {
		e.Seq = int64(i + 1)
		line, err := e.Line()
		if err != nil {
			t.Fatal(err)
		}
		whole = append(whole, line...)
	}
	first := bytes.IndexByte(whole, '\n') + 1
	dir := memory(t)
	path := filepath.Join(dir, journalFile)
	for cut := first; cut < len(whole); cut++ {
		for _, tail := range []string{"", "\x00\x00\x00"} {
			if cut == len(whole)-1 {
				continue // the line is there to the last sign: see TestEveryFlippedBitIsDamage
			}
			if err := os.WriteFile(path, append(bytes.Clone(whole[:cut]), tail...), 0o644); err != nil {
				t.Fatal(err)
			}
			if entries, open, err := ReadJournal(dir); len(entries) != 1 || len(open) != 1 || err != nil {
				t.Fatalf("cut at %d %q: %v, %v, %v", cut, tail, entries, open, err)
			}
			j := mustOpen(t, dir)
			mustAppend(t, j, before(0.17))
			j.Close()
			entries, open, err := ReadJournal(dir)
			if len(entries) != 2 || err != nil || len(open) != 1 || len(open[0].Ours) != 2 || entries[1].Seq != 2 || j.Damage() != nil {
				t.Fatalf("cut at %d: %v, %v", cut, entries, err)
			}
			if kept, err := os.ReadFile(filepath.Join(dir, tornFile)); cut > first && (err != nil || string(kept) != string(whole[first:cut])+tail) {
				t.Fatalf("cut at %d: %q was kept, %v", cut, kept, err)
			}
		}
	}
}

// Whichever bit of a lone line is flipped after it was written, nobody may conclude that there is nothing to put back: it is damage, it stays
// so until a person has removed the copy that was kept, and the copy has every byte.
func TestEveryFlippedBitIsDamage(t *testing.T) {
	e := before(0.09)
	e.Seq = 1
	line, err := e.Line()
	if err != nil {
		t.Fatal(err)
	}
	dir := memory(t)
	path, aside := filepath.Join(dir, journalFile), filepath.Join(dir, fmt.Sprintf(damagedFile, "1"))
	flips := 0
	for at := range line {
		for _, flip := range []byte{1, 2, 4, 8, 16, 32, 64, 128, line[at], line[at] ^ '\n', 0xff} {
			if flip == 0 {
				continue
			}
			data := bytes.Clone(line)
			data[at] ^= flip
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
			var damage *DamagedError
			if _, _, err := ReadJournal(dir); !errors.As(err, &damage) {
				t.Fatalf("byte %d xor %#x: %v", at, flip, err)
			}
			for again := range 2 {
				j, err := OpenJournal(dir)
				if err != nil {
					t.Fatalf("byte %d xor %#x: %v", at, flip, err)
				}
				if !errors.As(j.Damage(), &damage) || !reflect.DeepEqual(damage.Aside, []string{aside}) || !strings.Contains(damage.Error(), "remove "+aside) {
					t.Fatalf("byte %d xor %#x, open for the %d. time: %v", at, flip, again+1, j.Damage())
				}
				if err := j.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if kept, _ := os.ReadFile(aside); !bytes.Equal(kept, data) {
				t.Fatalf("byte %d xor %#x: what was kept aside differs: %q", at, flip, kept)
			}
			if err := os.Remove(aside); err != nil {
				t.Fatal(err)
			}
			flips++
		}
	}
	j := mustOpen(t, dir)
	if j.Damage() != nil {
		t.Errorf("after the copy was removed: %v", j.Damage())
	}
	t.Logf("%d flips of %d bytes", flips, len(line))
}

// A crash tears the last line and no other: two lines that cannot be read are damage, and are told, even at the end.
func TestTwoUnreadableLinesAreDamage(t *testing.T) {
	dir := t.TempDir()
	j := mustOpen(t, dir)
	mustAppend(t, j, before(0.09), before(0.13), before(0.17))
	j.Close()
	path := filepath.Join(dir, journalFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	damaged := append(bytes.Clone(lines[0]), "{\n{"...)
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	entries, _, err := ReadJournal(dir)
	var damage *DamagedError
	if !errors.As(err, &damage) || len(entries) != 1 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
}

// A line in the middle that cannot be read is told, the rest is taken, and the file is put aside.
func TestDamageInTheMiddle(t *testing.T) {
	dir := t.TempDir()
	j := mustOpen(t, dir)
	mustAppend(t, j, before(0.09), before(0.13), before(0.17))
	j.Close()
	path := filepath.Join(dir, journalFile)
	data, _ := os.ReadFile(path)
	data = bytes.Replace(data, []byte("0.13"), []byte("0.31"), 1)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	entries, open, err := ReadJournal(dir)
	var damage *DamagedError
	if len(entries) != 2 || len(open) != 1 || !errors.As(err, &damage) || !reflect.DeepEqual(damage.Lines, []int{2}) || !strings.Contains(err.Error(), "checksum is wrong") {
		t.Fatalf("%v, %v, %v", entries, open, err)
	}
	j = mustOpen(t, dir)
	if !errors.As(j.Damage(), &damage) || len(j.Open()) != 1 {
		t.Errorf("%v, %v", j.Damage(), j.Open())
	}
	mustAppend(t, j, before(0.21))
	if entries, open, err := ReadJournal(dir); !errors.As(err, &damage) || len(entries) != 2 || len(open[0].Ours) != 3 || *open[0].Original != found {
		t.Errorf("%+v, %+v, %v", entries, open, err)
	}
	if aside, _ := filepath.Glob(filepath.Join(dir, "journal.damaged.*.jsonl")); len(aside) != 1 {
		t.Error(aside)
	} else if kept, _ := os.ReadFile(aside[0]); !bytes.Equal(kept, data) {
		t.Error("what was put aside differs")
	}
}

// A long run does not fill the disk, and what is open is carried over: the original and what may be there of all that was written. A value that was
// seen to be gone before the next write is nobody's of ours any more, should somebody set it again.
func TestAFileThatHasGrown(t *testing.T) {
	dir := t.TempDir()
	j := mustOpen(t, dir)
	j.limit = 2000
	other := before(1)
	other.Knob = Knob{Kind: steer.SetPriority, Job: "job_1"}
	mustAppend(t, j, other, Entry{At: night, What: After, Engine: "a", Knob: other.Knob, New: other.New, Err: "timeout", Doubt: true})
	for i := range 100 {
		mustAppend(t, j, before(float64(i%7)/10), Entry{At: night.Add(time.Second), What: After, Engine: "a", Knob: share, New: &found})
	}
	j.Close()
	for _, name := range []string{journalFile, formerFile} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() > 4000 {
			t.Errorf("%v, %v", info, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".journal.jsonl.123.tmp"), []byte("cut sh"), 0o644); err != nil { // a crash while a new one was begun
		t.Fatal(err)
	}
	open := mustOpen(t, dir).Open()
	if len(open) != 2 || len(open[1].Ours) != 1 || *open[1].Original != found || open[1].New.Number != 0.1 || !open[1].Doubted.IsZero() || !open[0].Doubted.Equal(night) {
		t.Errorf("%+v", open)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".journal*")); len(left) > 0 {
		t.Error(left)
	}
	if entries, _, err := ReadJournal(dir); err != nil || entries[len(entries)-1].Seq != 202 {
		t.Errorf("%v", err)
	}
}

// full is a disk with no room left.
type full struct {
	disk
	short       int
	sync, trunc error
}

func (f *full) Write(b []byte) (int, error) {
	if f.short == 0 {
		return f.disk.Write(b)
	}
	n, _ := f.disk.Write(b[:f.short])
	return n, errors.New("no space left on device")
}

func (f *full) Sync() error { return errors.Join(f.sync, f.disk.Sync()) }

func (f *full) Truncate(n int64) error {
	if f.trunc != nil {
		return f.trunc
	}
	return f.disk.Truncate(n)
}

func TestADiskThatFails(t *testing.T) {
	dir := t.TempDir()
	f := &full{}
	j, err := openJournal(dir, func(d disk) disk { f.disk = d; return f })
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	mustAppend(t, j, before(0.09))
	f.short = 30
	if err := j.Append(before(0.13)); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Error(err)
	}
	f.short = 0
	mustAppend(t, j, before(0.17)) // there is room again
	if entries, _, err := ReadJournal(dir); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
	infinite, unreadable := before(inf()), before(0.1)
	unreadable.Original = &Value{Text: "\n", Set: true}
	if j.Append(infinite) == nil || j.Append(unreadable) == nil {
		t.Error("what cannot be read again was written down")
	}
	f.short, f.trunc = 30, errors.New("I/O error")
	_ = j.Append(before(0.21))
	f.short, f.trunc = 0, nil
	if err := j.Append(before(0.25)); err == nil || !strings.Contains(err.Error(), "cannot be written any more") {
		t.Errorf("it goes on after half a line: %v", err)
	}
	j.broken, f.sync = nil, errors.New("I/O error")
	if j.Append(before(0.29)) == nil || j.Append(before(0.33)) == nil {
		t.Error("it goes on after a failed sync")
	}
}

func inf() float64 { x := 0.0; return 1 / x }

// What cannot be written down is not done.
func TestNoJournalNoWrite(t *testing.T) {
	w := newWorld(t)
	f := &full{short: 10}
	j, err := openJournal(w.dir, func(d disk) disk { f.disk = d; return f })
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	err = Run(w.until(25*time.Second), Options{Engine: w, Rules: Rules{New: func() (steer.Steerer, error) { return asks(10*sec, 0.09, 0.13), nil },
		Act: true, Journal: j.Journal}, Observe: w.observe, Clock: w})
	w.lastly(err, "")
	w.wrote()
	w.happened("started refused refused stopped")
	if e := w.event(Refused); !strings.Contains(e.String(), "cannot be written down, so it is not done: journal: no space left") {
		t.Error(e)
	}
}

// A write that was made but could not be noted is put back all the same, and the journal says so when it can.
func TestAJournalThatFailsAfterAWrite(t *testing.T) {
	w := newWorld(t)
	f := &full{}
	j, err := openJournal(w.dir, func(d disk) disk { f.disk = d; return f })
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	w.synced = 1 << 20
	w.writeErr = func() error { f.short = 10; return nil }
	w.at(30*time.Second, func() { f.short, w.writeErr = 0, nil })
	err = Run(w.until(20*time.Second), Options{Engine: w, Rules: Rules{New: func() (steer.Steerer, error) { return asks(10*sec, 0.09), nil },
		Act: true, Journal: j.Journal}, Observe: w.observe, Clock: w})
	w.lastly(err, "")
	w.mustBe(found)
	if e := w.event(Asked); e.Err == nil {
		t.Error(e)
	}
	if e := w.event(RestoreFailed); !strings.Contains(e.String(), "the journal does not take it") {
		t.Error(e)
	}
}

func TestLinesThatAreNoEntries(t *testing.T) {
	e := before(0.09)
	e.New = nil
	noNew, _ := e.Line()
	lines := []string{"", "{}", `{"seq":1,"crc":"zzzzzzzz"}`, `{"seq":1,"crc":"00000000"}`, strings.TrimSpace(string(noNew))}
	for _, change := range []func(*Entry){ // with a good checksum: somebody has written them
		func(e *Entry) { e.What = "melt" },
		func(e *Entry) { e.Knob.Queue = "" },
		func(e *Entry) { e.Knob.Job = "job_1" },
		func(e *Entry) { e.Knob = Knob{Kind: steer.MoveJob} },
		func(e *Entry) { e.Knob.Queue = "root.default\nroot.other" },
		func(e *Entry) { e.Knob.Property = "\x1b[2J" },
		func(e *Entry) { e.Original = &Value{Text: "0.1\x00", Set: true, Number: 0.1} },
		func(e *Entry) { e.Ours = []Value{{Text: strings.Repeat("1", 5000), Set: true, Number: 1}} },
	} {
		e := before(0.09)
		change(&e)
		line, err := e.Line()
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.TrimSuffix(string(line), "\n"))
	}
	for _, line := range lines {
		if _, err := ParseEntry([]byte(line)); err == nil {
			t.Errorf("%q is taken", line)
		}
	}
	var k Knob
	if json.Unmarshal([]byte(`{"kind":"melt"}`), &k) == nil || json.Unmarshal([]byte(`7`), &k) == nil {
		t.Error("a knob of no kind is taken")
	}
	for _, k := range []Knob{share, {Kind: steer.SetPriority, Job: "j"}, {Kind: steer.MoveJob, Job: "j"}, {Kind: steer.KillJob, Job: "j"}} {
		var back Knob
		if text, err := json.Marshal(k); err != nil || json.Unmarshal(text, &back) != nil || back != k || k.String() == "" {
			t.Errorf("%v: %s, %v", k, text, err)
		}
	}
}

// Whatever stands in the file, it is read without harm, and what is found open can be written down again.
func FuzzJournal(f *testing.F) {
	e := before(0.09)
	line, _ := e.Line()
	f.Add(append(bytes.Clone(line), line...))
	f.Add(append(bytes.Clone(line), "torn"...))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := parsePages("f", data)
		if p.damage == nil && p.good+int64(len(p.torn)) != int64(len(data)) {
			t.Fatalf("%d of %d bytes, torn %q, and no damage", p.good, len(data), p.torn)
		}
		var l Ledger
		for i := range p.entries {
			l.Add(&p.entries[i])
		}
		for _, h := range l {
			line, err := h.Line()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ParseEntry(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestWallClock(t *testing.T) {
	var c WallClock
	ctx, cancel := context.WithCancel(context.Background())
	if err := c.Wait(ctx, time.Microsecond); err != nil || time.Since(c.Now()) > time.Minute {
		t.Error(err)
	}
	time.AfterFunc(time.Millisecond, cancel)
	if err := c.Wait(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestEventsHaveNamesAndWeights(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range EventKinds() {
		if seen[k.String()] || k.String() == "" {
			t.Errorf("%d: %q", k, k)
		}
		seen[k.String()] = true
	}
	if !seen["stopped"] || EventKind(99).String() != "event-99" {
		t.Errorf("%v", seen)
	}
	if (Event{Kind: Stopped}).Level() >= (Event{Kind: Stopped, Err: errAway}).Level() || (Event{Kind: Blind}).Level() >= (Event{Kind: RestoreFailed}).Level() {
		t.Error("levels")
	}
}
