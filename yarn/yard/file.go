package yard

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/internal/flock"
	"github.com/yardmaster/yardmaster/internal/securefile"
	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/edit"
)

// fileKind says which setting is changed, and how it is written.
type fileKind struct {
	fair     bool   // fair-scheduler.xml, not capacity-scheduler.xml
	property string // of a queue
	part     bool   // one of several edits: the result is checked after the last one
}

var (
	propertyFile   = fileKind{property: amlimit.Capacity.Property}
	allocationFile = fileKind{fair: true, property: amlimit.Fair.Property}
)

// editedFile is a scheduler's file in which one setting is changed.
type editedFile struct {
	path string
	kind fileKind
}

// of is the file for another setting.
func (f editedFile) of(property string) *editedFile {
	f.kind.property = property
	return &f
}

// keyOf is the name of a queue's property in the CapacityScheduler's configuration.
func keyOf(queue, property string) string { return conf.Prefix + queue + "." + configured(property) }

// find locates the setting of a queue.
func (f *editedFile) find(data []byte, queue string) (root *conf.Element, p *edit.Place, err error) {
	if root, err = edit.ParseXML(data); err != nil {
		return nil, nil, err
	}
	if f.kind.fair {
		p, err = edit.FindElement(root, queue, f.kind.property)
	} else {
		p, err = edit.FindProperty(root, keyOf(queue, f.kind.property))
	}
	if missing, ok := errors.AsType[*edit.NoQueueError](err); ok {
		err = gone("%v", missing)
	}
	return root, p, err
}

// element makes the element to insert into a file without the setting.
func (f *editedFile) element(queue string) func(value string) string {
	return func(value string) string {
		if f.kind.fair {
			return "<" + f.kind.property + ">" + value + "</" + f.kind.property + ">"
		}
		return edit.PropertyElement(keyOf(queue, f.kind.property), value)
	}
}

// value reads the setting of a queue from the file's content.
func (f *editedFile) value(data []byte, queue string) (drive.Value, error) {
	if f.settings().IsTogether() {
		return f.together(data)
	}
	if f.kind.property == steer.Capacities {
		p, err := conf.ReadProperties(bytes.NewReader(data), f.path)
		if err != nil {
			return drive.Value{}, err
		}
		return readCapacities(p, queue, func(child string) (drive.Value, error) { return f.of("capacity").value(data, child) })
	}
	v, err := f.meaning(data, queue)
	if err != nil {
		return drive.Value{}, err
	}
	_, p, err := f.find(data, queue)
	if err != nil {
		return drive.Value{}, fmt.Errorf("%s: %w", f.path, err)
	}
	if p.Elem != nil {
		v.Text, v.Set = p.Raw(), true
	}
	return v, nil
}

// meaning is the effective value of the setting.
func (f *editedFile) meaning(data []byte, queue string) (drive.Value, error) {
	if !f.kind.fair {
		props, err := conf.ReadProperties(bytes.NewReader(data), f.path)
		if err != nil {
			return drive.Value{}, err
		}
		v, err := readProperty(props, queue, f.kind.property)
		return drive.Value{Number: v.Number}, err
	}
	c, err := conf.ReadFair(bytes.NewReader(data), f.path)
	if err != nil {
		return drive.Value{}, err
	}
	q := fairQueue(c.Root, queue)
	if q == nil {
		q = &conf.FairQueue{Weight: 1, MaxApps: c.Default.MaxApps, MaxAMShare: c.Default.MaxAMShare}
	}
	number, _ := fairSetting(q, f.kind.property)
	return drive.Value{Number: number}, nil
}

// fairSetting is a property of a queue, and how to exclude it from a comparison.
func fairSetting(q *conf.FairQueue, property string) (number float64, zero func()) {
	switch property {
	case "weight":
		return q.Weight, func() { q.Weight = 0 }
	case "maxRunningApps":
		return float64(q.MaxApps), func() { q.MaxApps = 0 }
	}
	return q.MaxAMShare, func() { q.MaxAMShare = 0 }
}

// readProperty reads the CapacityScheduler's setting of a queue, or its default or inherited value.
func readProperty(p *conf.Properties, queue, property string) (drive.Value, error) {
	if err := configuredQueue(p, queue); err != nil {
		return drive.Value{}, err
	}
	own := keyOf(queue, property)
	names := []string{own}
	if property == amlimit.Capacity.Property {
		names = []string{conf.Prefix + property, own}
	}
	v := drive.Value{Number: capacityProperties[property].otherwise}
	for _, name := range names {
		x := p.Get(name)
		if x == nil || x.Value == "" {
			continue
		}
		n, err := parseSetting(false, property, x.Value)
		if err != nil {
			return v, fmt.Errorf("%s is %q, not a number", name, oneLine(x.Value))
		}
		v = drive.Value{Number: n, Text: x.Value, Set: name == own}
	}
	if math.IsNaN(v.Number) {
		return drive.Value{}, fmt.Errorf("%s is not set: what holds in its place cannot be told", own)
	}
	if !v.Set {
		v.Text = ""
	}
	return v, nil
}

// readCapacities reads the capacities of a queue's children.
func readCapacities(p *conf.Properties, parent string, read func(queue string) (drive.Value, error)) (drive.Value, error) {
	list := p.Get(conf.Prefix + parent + ".queues")
	if list == nil {
		return drive.Value{}, gone("queue %s is not configured with queues in it", parent)
	}
	texts := map[string]string{}
	for name := range strings.SplitSeq(list.Value, ",") {
		name = strings.TrimSpace(name)
		v, err := read(parent + "." + name)
		if err != nil {
			return drive.Value{}, err
		}
		texts[name] = v.Text // empty: not set, and rejected
	}
	return drive.Capacities(texts)
}

// goneError is about a queue that the configuration does not, or no longer, name.
type goneError string

func gone(format string, args ...any) error { return goneError(fmt.Sprintf(format, args...)) }

func (e goneError) Error() string { return string(e) }

// Is makes errors.Is(err, drive.ErrGone) true.
func (e goneError) Is(target error) bool { return target == drive.ErrGone }

func fairQueue(q *conf.FairQueue, path string) *conf.FairQueue {
	if q.Name == path {
		return q
	}
	for _, k := range q.Children {
		if x := fairQueue(k, path); x != nil {
			return x
		}
	}
	return nil
}

// edit makes the file's new content: every byte but those of the setting is preserved, and so is the meaning of all else. If that
// is impossible, edit fails.
func (f *editedFile) edit(data []byte, queue string, v drive.Value) ([]byte, error) {
	fail := func(err error) ([]byte, error) { return nil, fmt.Errorf("%s: not changed: %w", f.path, err) }
	if _, err := f.meaning(data, queue); err != nil { // do not touch a file that cannot be parsed
		return nil, fmt.Errorf("not changed: %w", err)
	}
	root, p, err := f.find(data, queue)
	if err != nil {
		return fail(err)
	}
	var out []byte
	switch {
	case !v.Set:
		out = p.Remove(data)
	case p.Nothing() && !f.kind.fair:
		return fail(errors.New("there is nothing in it"))
	default:
		if out, err = p.Set(data, v.Text, f.element(queue)); err != nil {
			return fail(err)
		}
	}
	root2, p2, err := f.find(out, queue)
	if err != nil {
		return fail(err)
	}
	var a, b strings.Builder
	root.Outline(&a, p.Elem)
	root2.Outline(&b, p2.Elem)
	switch {
	case a.String() != b.String(), v.Set != (p2.Elem != nil), v.Set && p2.Raw() != v.Text:
		return fail(errors.New("it is written in a way that cannot be changed safely"))
	}
	if err := f.sameMeaning(data, out, queue, v); err != nil {
		return fail(err)
	}
	return out, nil
}

// change makes the new content for a write: see [Yard.Write].
func (f *editedFile) change(data []byte, queue string, was *drive.Value, v drive.Value) ([]byte, error) {
	if err := f.expect(data, queue, was); err != nil {
		return nil, err
	}
	if f.settings().IsTogether() {
		return f.changeTogether(data, v)
	}
	if f.kind.property == steer.Capacities {
		return f.changeCapacities(data, queue, v)
	}
	out, err := f.edit(data, queue, v)
	if err != nil || v.Mark == "" {
		return out, err
	}
	found, err := f.value(data, queue)
	if err == nil {
		_, err = f.edit(out, queue, found)
	}
	if err != nil {
		return nil, fmt.Errorf("%v could not be put back: %w", found, err)
	}
	return out, nil
}

// changeCapacities edits the capacities of a queue's children, all in one content.
func (f *editedFile) changeCapacities(data []byte, parent string, v drive.Value) ([]byte, error) {
	found, err := f.value(data, parent)
	if err != nil {
		return nil, err
	}
	out, err := f.editCapacities(data, parent, found, v)
	if err == nil && f.sound(data) == nil {
		err = f.sound(out)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: not changed: %w", f.path, err)
	}
	if back, err := f.editCapacities(out, parent, v, found); v.Mark != "" && (err != nil || !bytes.Equal(back, data)) {
		return nil, fmt.Errorf("%v could not be put back: %w", found, cmp.Or(err, errMeaning))
	}
	return out, nil
}

func (f *editedFile) editCapacities(data []byte, parent string, from, to drive.Value) ([]byte, error) {
	one := f.of("capacity")
	one.kind.part = true
	changed, err := changedCapacities(&from, to)
	for name, text := range changed {
		if err == nil {
			number, _ := strconv.ParseFloat(text, 64) // it has been parsed before
			data, err = one.edit(data, parent+"."+name, drive.Value{Text: text, Set: true, Number: number})
		}
	}
	return data, err
}

// sound says what is wrong with the file as a whole.
func (f *editedFile) sound(data []byte) error {
	_, err := conf.ReadCapacity(bytes.NewReader(data), f.path)
	return err
}

// expect fails if the setting is not what it was when it was last read: somebody else has set it since, and that must not be overwritten
// unseen.
func (f *editedFile) expect(data []byte, queue string, was *drive.Value) error {
	if was == nil {
		return nil
	}
	now, err := f.value(data, queue)
	if err == nil && (now.Set != was.Set || now.Text != was.Text) {
		err = fmt.Errorf("%s: not changed: somebody else has set it to %v since it was read", f.path, now)
	}
	return err
}

var errMeaning = errors.New("the change would alter more than the one value")

// sameMeaning compares two contents except for the setting, as the scheduler reads them.
func (f *editedFile) sameMeaning(old, changed []byte, queue string, v drive.Value) error {
	after, err := f.meaning(changed, queue)
	if err != nil {
		return err
	}
	if v.Set && !strings.Contains(v.Text, "${") && !near(after.Number, v.Number) { // a variable may have another value by now
		return fmt.Errorf("%s would count as %v, not %v", v.Text, after.Number, v.Number)
	}
	if !f.kind.fair {
		a, err1 := conf.ReadProperties(bytes.NewReader(old), f.path)
		b, err2 := conf.ReadProperties(bytes.NewReader(changed), f.path)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		if !reflect.DeepEqual(others(a, keyOf(queue, f.kind.property)), others(b, keyOf(queue, f.kind.property))) {
			return errMeaning
		}
		if !f.kind.part && f.sound(old) == nil {
			return f.sound(changed)
		}
		return nil
	}
	a, err1 := conf.ReadFair(bytes.NewReader(old), f.path)
	b, err2 := conf.ReadFair(bytes.NewReader(changed), f.path)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	for _, c := range []*conf.Fair{a, b} {
		if q := fairQueue(c.Root, queue); q != nil {
			_, zero := fairSetting(q, f.kind.property)
			zero()
		}
		placeless(c.Root)
		c.NotModelled, c.Preemption = nil, nil // their line numbers may differ; the elements were compared
	}
	if !reflect.DeepEqual(a, b) {
		return errMeaning
	}
	return nil
}

// others are all properties but one.
func others(p *conf.Properties, key string) map[string]string {
	m := map[string]string{}
	for _, x := range p.List {
		if x.Name != key {
			m[x.Name] = fmt.Sprint(x.Value, x.Final)
		}
	}
	return m
}

func placeless(q *conf.FairQueue) {
	q.Pos = conf.Pos{}
	for _, k := range q.Children {
		placeless(k)
	}
}

// read is the file's content. It is opened as for a change: a path that others could replace may lead anywhere, or be a pipe that never ends.
func (f *editedFile) read() ([]byte, fs.FileInfo, error) {
	path, err := securefile.Resolve(f.path)
	if err != nil {
		return nil, nil, err
	}
	file, err := securefile.OpenRegular(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = file.Close() }() // read-only
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, conf.MaxFile+1))
	return data, info, err
}

// opened is a file that is being changed, locked against other writers if possible.
type opened struct {
	*os.File
	path string // with symbolic links resolved
	held bool
	info fs.FileInfo
	data []byte
}

// open opens the file for a change. It fails for a file that is not writable, even if its folder would let it be replaced, and for one that
// other accounts could replace with theirs.
func (f *editedFile) open() (*opened, error) {
	path, err := securefile.Resolve(f.path)
	if err != nil {
		return nil, fmt.Errorf("not changed: %w", err)
	}
	for {
		file, err := securefile.OpenRegular(path, os.O_RDWR, 0)
		if err != nil {
			return nil, fmt.Errorf("not changed: %w", err)
		}
		o := &opened{File: file, path: path, held: holdSoon(file)}
		o.info, err = file.Stat()
		if err == nil && o.info.Mode().Perm()&0o222 == 0 {
			err = fmt.Errorf("%s is read-only", path)
		}
		if err != nil {
			_ = file.Close() // not written
			return nil, fmt.Errorf("not changed: %w", err)
		}
		if now, err := os.Lstat(path); err != nil || !os.SameFile(now, o.info) { // replaced while we waited
			_ = file.Close()
			continue
		}
		if o.data, err = o.read(); err != nil {
			_ = file.Close()
			return nil, fmt.Errorf("not changed: %w", err)
		}
		return o, nil
	}
}

func (o *opened) read() ([]byte, error) {
	return io.ReadAll(io.NewSectionReader(o.File, 0, conf.MaxFile+1))
}

// holdSoon waits a while for the lock, and reports whether it is held. Whoever may read the file can hold its lock
// for ever, and must not block a restore that way: the file is changed all the same, and [opened.replace] detects other changes.
func holdSoon(f *os.File) bool {
	for end := time.Now().Add(holdWithin); ; time.Sleep(50 * time.Millisecond) {
		if err := flock.Try(f); !errors.Is(err, flock.ErrHeld) || time.Now().After(end) {
			return err == nil
		}
	}
}

// holdWithin is much longer than a change takes, and leaves time for one within the write timeout of half a minute. Tests shorten it.
var holdWithin = 3 * time.Second

// errChanged means that the file is no longer the one that was read: nothing was written, and the change must start over from the new content.
var errChanged = errors.New("somebody else has changed it in the meantime")

// tries is how often a change starts over because of errChanged.
const tries = 10

// replace gives the file new content: atomically, or in place where that is impossible.
//
// An editor does not know our lock. What it saves before our content is in place is detected, and stays (errChanged). Lost is what it writes
// later through a descriptor that it opened before; and in place, or where the system cannot exchange files, what it saves in the
// microseconds between the last check and the write.
func (o *opened) replace(data []byte) error {
	if !linked(o.info) {
		err := o.swap(data)
		if err == nil || errors.Is(err, drive.ErrOutcomeUnknown) || !inPlace(err) {
			return err
		}
	}
	if err := o.unchanged(); err != nil {
		return err
	}
	return o.overwrite(data)
}

// beforeSwap is called, in tests, before the new content is put in place.
var beforeSwap = func() {}

// spare is the room that a file gets beyond its content: a restore may need more than the change did, when the disk is full.
const spare = 4096

// swap writes a file beside this one and moves it into place. Its errors are from before the move, except ErrOutcomeUnknown.
func (o *opened) swap(data []byte) error {
	if o.held { // nobody else writes: these are from a killed process
		securefile.RemoveLeftovers(o.path)
	}
	temp, err := securefile.NewTemp(o.path)
	if err != nil {
		return err
	}
	defer temp.Discard()
	if _, err := temp.Write(data); err != nil {
		return err
	}
	if err := securefile.CopyAccess(temp.File, o.File); err != nil {
		return err
	}
	if err := securefile.Reserve(temp.File, int64(len(data)+spare)); err != nil {
		return err
	}
	if err := temp.Sync(); err != nil {
		return err
	}
	if err := o.unchanged(); err != nil {
		return err
	}
	beforeSwap()
	err = o.exchange(temp)
	switch {
	case err == nil:
		temp.Discard() // now the old file
		err = securefile.SyncDir(filepath.Dir(o.path))
	case errors.Is(err, errors.ErrUnsupported):
		err = temp.Commit()
	case errors.Is(err, drive.ErrOutcomeUnknown): // what came out last may be somebody's newest version
		if kept := o.path + ".kept"; os.Rename(temp.Name(), kept) == nil {
			err = fmt.Errorf("%w; a version of it is kept as %s", err, kept)
		}
	}
	if errors.Is(err, securefile.ErrNotDurable) {
		err = fmt.Errorf("%w: %w", drive.ErrOutcomeUnknown, err)
	}
	return err
}

// exchange swaps the new file with the one in place and checks what came out. If that is not the one that was read, what came out is newer
// and goes in again, until what comes out is what was put in before: then the newest is in place.
func (o *opened) exchange(temp *securefile.Temp) error {
	in, err := temp.Stat()
	if err != nil {
		return err
	}
	expected := o.info
	for try := range 10 {
		if err := securefile.Exchange(temp.Name(), o.path); err != nil {
			if try == 0 {
				return err
			}
			return fmt.Errorf("%w: %w", drive.ErrOutcomeUnknown, err)
		}
		out, err := os.Lstat(temp.Name())
		if err != nil {
			return fmt.Errorf("%w: %w", drive.ErrOutcomeUnknown, err)
		}
		if sameState(out, expected) && (try > 0 || o.sameContent()) {
			if try > 0 {
				return errChanged
			}
			return nil
		}
		in, expected = out, in
	}
	return fmt.Errorf("%w: somebody else keeps changing %s", drive.ErrOutcomeUnknown, o.path)
}

func sameState(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// unchanged is errChanged if the file is not the one that was read, or has been modified.
func (o *opened) unchanged() error {
	if now, err := os.Lstat(o.path); err != nil || !sameState(now, o.info) || !o.sameContent() {
		return errChanged
	}
	return nil
}

func (o *opened) sameContent() bool {
	now, err := o.read()
	return err == nil && bytes.Equal(now, o.data)
}

// overwrite writes into the file itself; if that fails the old content is restored. Shorter content is padded with blanks until the file
// is truncated, so that no rest of the longer one remains if the process is killed in between.
func (o *opened) overwrite(data []byte) error {
	put := func(data []byte) error {
		blanks := bytes.Repeat([]byte(" "), max(len(o.data)-len(data), 0))
		if _, err := o.WriteAt(slices.Concat(data, blanks), 0); err != nil {
			return err
		}
		if err := o.Truncate(int64(len(data))); err != nil {
			return err
		}
		return o.Sync()
	}
	err := put(data)
	if err == nil {
		return nil
	}
	if e := put(o.data); e != nil && !o.sameContent() {
		return fmt.Errorf("%w: %w; putting the old content back: %w", drive.ErrOutcomeUnknown, err, e)
	}
	return fmt.Errorf("not changed: %w", err)
}

// check says why the file cannot be changed.
func (f *editedFile) check(context.Context) error {
	o, err := f.open()
	if err != nil {
		return err
	}
	return o.Close()
}
