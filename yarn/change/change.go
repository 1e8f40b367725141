// Package change plans a change of a ResourceManager's queue settings: from what is configured now and what is wanted, the settings that differ and the whole
// new configuration.
package change

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/yardmaster/yardmaster/internal/securefile"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/edit"
	"github.com/yardmaster/yardmaster/yarn/rest"
	"github.com/yardmaster/yardmaster/yarn/yard"
)

// Wanted is what a change is to lead to.
type Wanted struct {
	Edits []edit.Change
	File  string // a whole new configuration instead
	Act   bool   // the change will be made: nobody else may have been able to replace the file since the operator looked at it
	Base  string // file with the present configuration, for a ResourceManager that does not show it
}

// Plan is a planned change.
type Plan struct {
	Name      string // of the present configuration, for messages
	Content   []byte // the new configuration
	Immutable error  // why the ResourceManager does not let its configuration be changed; nil: it does
	Edits     []edit.Change
	Old, New  []drive.Setting // of the edits, where they differ
	Ignored   []string        // properties of the whole file that are not the scheduler's
}

// New reads the present configuration, makes the new one and finds what differs.
func New(ctx context.Context, c *rest.Client, w Wanted) (*Plan, error) {
	p := &Plan{}
	base, err := p.present(ctx, c, w.Base)
	if err != nil {
		return nil, err
	}
	if p.Edits = w.Edits; w.File == "" {
		p.Content, err = edit.Apply(p.Name, base, p.Edits)
	} else if p.Content, err = w.read(); err == nil {
		p.Edits, p.Ignored, err = edit.Difference(w.File, base, p.Content)
	}
	if err != nil {
		return nil, err
	}
	for _, e := range p.Edits {
		now := drive.Setting{Queue: e.Queue, Property: e.Property, Text: e.Value, Set: e.Value != ""}
		old := now
		if old.Text, old.Set, err = edit.Value(base, e.Queue, e.Property); err != nil {
			return nil, err
		}
		if now != old {
			p.Old, p.New = append(p.Old, old), append(p.New, now)
		}
	}
	return p, nil
}

// present is the present configuration, as a file.
func (p *Plan) present(ctx context.Context, c *rest.Client, file string) ([]byte, error) {
	now, err := c.SchedulerConf(ctx)
	switch {
	case errors.Is(err, rest.ErrForbidden), errors.Is(err, rest.ErrRefused), errors.Is(err, rest.ErrNotFound):
		if p.Immutable, p.Name = err, file; file == "" {
			return nil, fmt.Errorf("the settings cannot be changed over REST, so name the ResourceManager's file with --file: %w", err)
		}
		return ReadFile(file)
	case err != nil:
		return nil, err
	}
	p.Name = "the ResourceManager's configuration"
	var b bytes.Buffer
	var list []conf.Property
	for _, x := range now.List {
		list = append(list, *x)
	}
	err = conf.WriteProperties(&b, list)
	return b.Bytes(), err
}

// read reads the whole new file.
func (w *Wanted) read() ([]byte, error) {
	if !w.Act {
		return ReadFile(w.File)
	}
	path, err := securefile.Resolve(w.File)
	var data []byte
	if err == nil {
		data, err = securefile.ReadFile(path, conf.MaxFile)
	}
	if errors.Is(err, securefile.ErrInsecure) {
		return nil, fmt.Errorf("%s says what to write to the ResourceManager, so it must be in a folder of yours: %w", w.File, err)
	}
	return data, err
}

// ReadFile reads a configuration file, of at most conf.MaxFile bytes and one more.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read-only
	return io.ReadAll(io.LimitReader(f, conf.MaxFile+1))
}

// Queues are those that the change touches, by name.
func (p *Plan) Queues() (names []string) {
	if len(p.Edits) == 0 {
		return []string{"root"}
	}
	for _, e := range p.Edits {
		names = append(names, cmp.Or(e.Queue, "root"))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Validate lets the ResourceManager judge the change; false: it cannot. The new content has been read and checked here in any case.
func (p *Plan) Validate(ctx context.Context, c *rest.Client) (judged bool, err error) {
	mutable := p.Immutable == nil
	if mutable { // since Hadoop 3.3, with a configuration store
		err = c.ValidateScheduler(ctx, yard.Change(p.New, ""))
	}
	switch {
	case errors.Is(err, rest.ErrNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("the ResourceManager would not take it: %w", err)
	}
	return mutable, nil
}

// Version is that of the configuration; 0: unknown.
func (p *Plan) Version(ctx context.Context, c *rest.Client) int64 {
	if p.Immutable != nil {
		return 0
	}
	v, err := c.SchedulerConfVersion(ctx)
	if err != nil {
		return 0
	}
	return v
}
