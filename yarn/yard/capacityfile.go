package yard

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/steer/drive"
)

// capacityFile changes capacity-scheduler.xml and runs the command that makes the ResourceManager reload it.
type capacityFile struct {
	y    *Yard
	file editedFile
}

const refreshWithin = time.Minute

func (c *capacityFile) describe() string {
	return "set in " + c.file.path + ", then " + strings.Join(c.y.o.Refresh, " ")
}

func (c *capacityFile) spacing() time.Duration { return time.Second }

func (c *capacityFile) check(ctx context.Context) error {
	if _, err := exec.LookPath(c.y.o.Refresh[0]); err != nil {
		return fmt.Errorf("the command to refresh the queues: %w", err)
	}
	return c.file.check(ctx)
}

func (c *capacityFile) read(_ context.Context, k drive.Knob) (drive.Value, error) {
	data, _, err := c.file.read()
	if err != nil {
		return drive.Value{}, err
	}
	return c.file.of(k.Property).value(data, k.Queue)
}

// write changes the file, and makes the ResourceManager reload it. If the command fails, the file is restored; whether the
// ResourceManager has applied anything is then read from it.
func (c *capacityFile) write(ctx context.Context, k drive.Knob, was *drive.Value, v drive.Value) error {
	before, out, err := c.change(k, was, v)
	for try := 1; errors.Is(err, errChanged) && try < tries; try++ {
		before, out, err = c.change(k, was, v)
	}
	if errors.Is(err, errChanged) {
		err = fmt.Errorf("%s: not changed: %w, again and again", c.file.path, err)
	}
	if err != nil {
		return err
	}
	old, err := c.file.of(k.Property).value(before, k.Queue)
	if err != nil {
		return err
	}
	err = c.refresh(ctx)
	if err == nil {
		return nil
	}
	var exit *exec.ExitError
	if ctx.Err() != nil || errors.As(err, &exit) && !exit.Exited() { // it was killed: its progress is unknown
		return fmt.Errorf("%w: %w", drive.ErrOutcomeUnknown, err)
	}
	same := string(out) == string(before)
	if _, e := c.y.c.Scheduler(ctx); e != nil { // it is down, and reads the file when it comes back
		return fmt.Errorf("%w: %w", drive.ErrOutcomeUnknown, err)
	}
	if !same {
		if e := c.putBack(out, before); e != nil {
			return fmt.Errorf("%w: %w; putting the file back: %w", drive.ErrOutcomeUnknown, err, e)
		}
	}
	switch in, e := c.y.InForce(ctx, k, old); {
	case e != nil || !in:
		return fmt.Errorf("%w: %w", drive.ErrOutcomeUnknown, err)
	case same: // file and ResourceManager already had it
		return nil
	}
	return fmt.Errorf("not changed, %s is as it was: %w", c.file.path, err)
}

// change changes the file and returns its old and new content.
func (c *capacityFile) change(k drive.Knob, was *drive.Value, v drive.Value) (before, after []byte, err error) {
	o, err := c.file.open()
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = o.Close() }() // already synced
	out, err := c.file.of(k.Property).change(o.data, k.Queue, was, v)
	if err == nil && string(out) != string(o.data) {
		err = o.replace(out)
	}
	return o.data, out, err
}

// putBack undoes a change, unless somebody else has changed the file since.
func (c *capacityFile) putBack(from, to []byte) error {
	o, err := c.file.open()
	if err != nil {
		return err
	}
	defer func() { _ = o.Close() }() // already synced
	if string(o.data) != string(from) {
		return errChanged
	}
	return o.replace(to)
}

func (c *capacityFile) refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, refreshWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.y.o.Refresh[0], c.y.o.Refresh[1:]...)
	cmd.WaitDelay = 2 * time.Second
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	said := strings.Split(strings.TrimSpace(string(out)), "\n")
	if ctx.Err() != nil {
		err = fmt.Errorf("it did not end in time: %w", err)
	}
	return fmt.Errorf("%s: %w: %s", strings.Join(c.y.o.Refresh, " "), err, oneLine(said[len(said)-1]))
}
