package yard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/internal/flock"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/marp"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// fileKind says how a setting is written.
type fileKind uint8

const (
	propertyFile   fileKind = iota // capacity-scheduler.xml
	allocationFile                 // fair-scheduler.xml
)

// editedFile is a scheduler's file of which one setting is changed.
type editedFile struct {
	path string
	kind fileKind
}

func percentKey(queue string) string { return conf.Prefix + queue + "." + marp.Capacity.Property() }

// find locates the setting of a queue.
func (f *editedFile) find(data []byte, queue string) (root *node, p *place, err error) {
	if root, err = parse(data); err != nil {
		return nil, nil, err
	}
	if f.kind == propertyFile {
		p, err = property(root, percentKey(queue))
	} else {
		p, err = amShare(root, queue)
	}
	return root, p, err
}

// element is the setting as it is put into a file that has none.
func (f *editedFile) element(queue string) func(value string) string {
	return func(value string) string {
		if f.kind == propertyFile {
			return "<property><name>" + percentKey(queue) + "</name><value>" + value + "</value></property>"
		}
		return "<maxAMShare>" + value + "</maxAMShare>"
	}
}

// value reads the setting of a queue from the file's content.
func (f *editedFile) value(data []byte, queue string) (drive.Value, error) {
	v, err := f.meaning(data, queue)
	if err != nil {
		return drive.Value{}, err
	}
	_, p, err := f.find(data, queue)
	if err != nil {
		return drive.Value{}, fmt.Errorf("%s: %w", f.path, err)
	}
	if p.elem != nil {
		v.Text, v.Set = p.raw(), true
	}
	return v, nil
}

// meaning is what the setting amounts to.
func (f *editedFile) meaning(data []byte, queue string) (drive.Value, error) {
	if f.kind == propertyFile {
		props, err := conf.ReadProperties(bytes.NewReader(data), f.path)
		if err != nil {
			return drive.Value{}, err
		}
		v, err := readPercent(props, queue)
		return drive.Value{Number: v.Number}, err
	}
	c, err := conf.ReadFair(bytes.NewReader(data), f.path)
	if err != nil {
		return drive.Value{}, err
	}
	q := fairQueue(c.Root, queue)
	if q == nil {
		return drive.Value{Number: c.Default.MaxAMShare}, nil
	}
	return drive.Value{Number: q.MaxAMShare}, nil
}

// readPercent reads the CapacityScheduler's setting of a queue, or what holds in its place.
func readPercent(p *conf.Properties, queue string) (drive.Value, error) {
	const otherwise = 0.1 // Hadoop's
	dot := strings.LastIndexByte(queue, '.')
	if list := p.Get(conf.Prefix + queue[:max(dot, 0)] + ".queues"); list != nil && !slices.ContainsFunc(strings.Split(list.Value, ","),
		func(name string) bool { return strings.TrimSpace(name) == queue[dot+1:] }) {
		return drive.Value{}, gone("queue %s is not among the configured queues: %s", queue, list)
	}
	v := drive.Value{Number: otherwise}
	for _, name := range []string{conf.Prefix + marp.Capacity.Property(), percentKey(queue)} {
		x := p.Get(name)
		if x == nil || x.Value == "" {
			continue
		}
		n, err := strconv.ParseFloat(x.Value, 64)
		if err != nil {
			return v, fmt.Errorf("%s is %q, not a number", name, oneLine(x.Value))
		}
		v = drive.Value{Number: n, Text: x.Value, Set: name == percentKey(queue)}
	}
	if !v.Set {
		v.Text = ""
	}
	return v, nil
}

// goneError is about a queue that the configuration does not name, or names no longer.
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

// edit makes the file's new content: every byte but those of the setting is kept, and what it means is the same but for the setting. What
// cannot be done so is refused.
func (f *editedFile) edit(data []byte, queue string, v drive.Value) ([]byte, error) {
	fail := func(err error) ([]byte, error) { return nil, fmt.Errorf("%s: not changed: %w", f.path, err) }
	if _, err := f.meaning(data, queue); err != nil { // a file that is not understood is not touched
		return nil, fmt.Errorf("not changed: %w", err)
	}
	root, p, err := f.find(data, queue)
	if err != nil {
		return fail(err)
	}
	var out []byte
	switch {
	case !v.Set:
		out = p.remove(data)
	case p.in.self && f.kind == propertyFile:
		return fail(errors.New("there is nothing in it"))
	default:
		if out, err = p.set(data, v.Text, f.element(queue)); err != nil {
			return fail(err)
		}
	}
	root2, p2, err := f.find(out, queue)
	if err != nil {
		return fail(err)
	}
	var a, b strings.Builder
	root.outline(&a, p.elem)
	root2.outline(&b, p2.elem)
	switch {
	case a.String() != b.String(), v.Set != (p2.elem != nil), v.Set && p2.raw() != v.Text:
		return fail(errors.New("it is written in a way that cannot be changed safely"))
	}
	if err := f.sameMeaning(data, out, queue, v); err != nil {
		return fail(err)
	}
	return out, nil
}

var errMeaning = errors.New("the change would alter more than the one value")

// sameMeaning compares two contents but for the setting, as the scheduler reads them.
func (f *editedFile) sameMeaning(old, changed []byte, queue string, v drive.Value) error {
	after, err := f.meaning(changed, queue)
	if err != nil {
		return err
	}
	if n, err := strconv.ParseFloat(v.Text, 64); v.Set && err == nil && !near(after.Number, n) && !(f.kind == allocationFile && n > 1 && after.Number == 1) {
		return fmt.Errorf("%s would count as %v", v.Text, after.Number)
	}
	if f.kind == propertyFile {
		a, err1 := conf.ReadProperties(bytes.NewReader(old), f.path)
		b, err2 := conf.ReadProperties(bytes.NewReader(changed), f.path)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		if !reflect.DeepEqual(others(a, queue), others(b, queue)) {
			return errMeaning
		}
		if _, err := conf.ReadCapacity(bytes.NewReader(old), f.path); err == nil {
			_, err = conf.ReadCapacity(bytes.NewReader(changed), f.path)
			return err
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
			q.MaxAMShare = 0
		}
		placeless(c.Root)
		c.NotModelled, c.Preemption = nil, nil // their lines may have moved; the elements were compared
	}
	if !reflect.DeepEqual(a, b) {
		return errMeaning
	}
	return nil
}

// others are all properties but the queue's own share.
func others(p *conf.Properties, queue string) map[string]string {
	m := map[string]string{}
	for _, x := range p.List {
		if x.Name != percentKey(queue) {
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

// read is the file's content.
func (f *editedFile) read() ([]byte, fs.FileInfo, error) {
	file, err := os.Open(f.path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = file.Close() }() // only read
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, conf.MaxFile+1))
	return data, info, err
}

// opened is a file that is being changed, held against other changers.
type opened struct {
	*os.File
	path string // behind symbolic links
	info fs.FileInfo
	data []byte
}

// open opens the file for a change. What may not be written is refused here, though its folder may let it be replaced.
func (f *editedFile) open() (*opened, error) {
	path, err := filepath.EvalSymlinks(f.path)
	if err != nil {
		return nil, fmt.Errorf("not changed: %w", err)
	}
	for {
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return nil, fmt.Errorf("not changed: %w", err)
		}
		o := &opened{File: file, path: path}
		if err = holdSoon(file); err == nil {
			o.info, err = file.Stat()
		}
		switch {
		case err != nil:
		case !o.info.Mode().IsRegular():
			err = fmt.Errorf("%s is not a file", path)
		case o.info.Mode().Perm()&0o222 == 0:
			err = fmt.Errorf("%s is read-only", path)
		}
		if err != nil {
			_ = file.Close() // not written
			return nil, fmt.Errorf("not changed: %w", err)
		}
		if now, err := os.Stat(path); err != nil || !os.SameFile(now, o.info) { // replaced while it was waited for
			_ = file.Close()
			continue
		}
		o.data, err = io.ReadAll(io.LimitReader(file, conf.MaxFile+1))
		if err != nil {
			_ = file.Close()
			return nil, fmt.Errorf("not changed: %w", err)
		}
		return o, nil
	}
}

// holdSoon waits a while for others that change the file.
func holdSoon(f *os.File) error {
	for end := time.Now().Add(holdWithin); ; time.Sleep(50 * time.Millisecond) {
		err := flock.Try(f)
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			return nil // nobody can be kept away here
		case !errors.Is(err, flock.ErrHeld):
			return err
		case time.Now().After(end):
			return fmt.Errorf("%s: somebody else is changing it", f.Name())
		}
	}
}

const holdWithin = 10 * time.Second

// replace gives the file new content: by a rename, so that nobody sees half of it, or in place where it cannot be renamed over.
func (o *opened) replace(data []byte) error {
	if !linked(o.info) {
		err := o.rename(data)
		if err == nil || !inPlace(err) {
			return err
		}
	}
	return o.overwrite(data)
}

// rename writes beside the file and renames. Its errors are from before the rename, but for ErrFate.
func (o *opened) rename(data []byte) (err error) {
	dir, name := filepath.Dir(o.path), "."+filepath.Base(o.path)+".*.tmp"
	if left, err := filepath.Glob(filepath.Join(dir, name)); err == nil {
		for _, f := range left { // of one that was killed: the file is held, so nobody else writes
			_ = os.Remove(f) // it only takes room
		}
	}
	temp, err := os.CreateTemp(dir, name)
	if err != nil {
		return err
	}
	done := false
	defer func() {
		if !done {
			_ = os.Remove(temp.Name()) // nothing refers to it
		}
	}()
	steps := []func() error{
		func() error { _, err := temp.Write(data); return err },
		func() error { return sameOwner(temp, o.info) },
		func() error { return temp.Chmod(o.info.Mode().Perm()) },
		func() error { return sameAccess(temp, o.path) },
		temp.Sync,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			_ = temp.Close()
			return err
		}
	}
	if err := temp.Close(); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), o.path); err != nil {
		return err
	}
	done = true
	d, err := os.Open(dir)
	if err == nil {
		err = d.Sync()
		_ = d.Close() // only read
	}
	if err != nil {
		return fmt.Errorf("%w: %w", drive.ErrFate, err)
	}
	return nil
}

// overwrite writes into the file itself; when that fails the old content is put back. A shorter content is followed by blanks until the file
// is cut, so that nothing of the longer one stands behind it if the process is killed in between.
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
	if e := put(o.data); e != nil {
		return fmt.Errorf("%w: %w; putting the old content back: %w", drive.ErrFate, err, e)
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
