package yard

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/edit"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// ownSettings checks that the settings of a knob are all of steered queues.
func (y *Yard) ownSettings(k drive.Knob) error {
	for _, s := range k.Unset() {
		if queue := cmp.Or(s.Queue, "root"); !y.may(queue) {
			return fmt.Errorf("queue %s is not one that is steered: %s", queue, strings.Join(y.paths, ", "))
		}
	}
	return nil
}

// Change is what is sent to the ResourceManager for the settings of a knob, with a mark or without.
func Change(list []drive.Setting, mark string) (c rest.SchedulerChange) {
	set := func(queue string, s rest.Setting) {
		i := slices.IndexFunc(c.Update, func(q rest.QueueChange) bool { return q.Queue == queue })
		if i < 0 {
			i, c.Update = len(c.Update), append(c.Update, rest.QueueChange{Queue: queue})
		}
		if !slices.Contains(c.Update[i].Settings, s) {
			c.Update[i].Settings = append(c.Update[i].Settings, s)
		}
	}
	for _, s := range list {
		if s.Queue == "" {
			c.Global = append(c.Global, rest.Setting{Name: conf.Prefix + s.Property, Value: s.Text})
		} else {
			set(s.Queue, rest.Setting{Name: s.Property, Value: s.Text}) // an empty one removes it
		}
		for _, m := range marksOf(s) {
			set(m.Queue, rest.Setting{Name: m.Property, Value: mark})
		}
	}
	return c
}

// marksOf are the places of a setting's marks: those that a steerer of the same setting looks at.
func marksOf(s drive.Setting) []drive.Setting {
	queue := cmp.Or(s.Queue, "root")
	if s.Property == "capacity" {
		return []drive.Setting{{Queue: queue, Property: markOf("weight")}, {Queue: steer.Parent(queue), Property: markOf(steer.Capacities)}}
	}
	return []drive.Setting{{Queue: queue, Property: markOf(s.Property)}}
}

// readTogether reads settings from a configuration, with the mark of a driver; an error is about a queue that is gone.
func readTogether(p *conf.Properties, list []drive.Setting) (v drive.Value, err error) {
	mark := ""
	for i := range list {
		s := &list[i]
		if s.Queue != "" {
			if err := configuredQueue(p, s.Queue); err != nil {
				return v, err
			}
		}
		if x := p.Get(conf.Prefix + s.Name()); x != nil {
			s.Text = cmp.Or(x.Raw, x.Value)
			s.Set = s.Text != ""
		}
		for _, m := range marksOf(*s) {
			mark = cmp.Or(mark, text(p, conf.Prefix+m.Name(), ""))
		}
	}
	_, v, err = drive.Together(list)
	v.Mark = mark
	return v, err
}

// configuredQueue says whether a queue is configured.
func configuredQueue(p *conf.Properties, queue string) error {
	dot := strings.LastIndexByte(queue, '.')
	if list := p.Get(conf.Prefix + queue[:max(dot, 0)] + ".queues"); list != nil && !slices.ContainsFunc(strings.Split(list.Value, ","),
		func(name string) bool { return strings.TrimSpace(name) == queue[dot+1:] }) {
		return gone("queue %s is not among the configured queues: %s", queue, list)
	}
	return nil
}

func (y *Yard) settingsInForce(ctx context.Context, k drive.Knob, v drive.Value) (bool, error) {
	now, err := y.act.read(ctx, k)
	if err != nil || !drive.Same(k, now, v) {
		return false, err
	}
	if y.fair != nil {
		_, info, err := y.fair.editedFile.read()
		return err == nil && time.Since(info.ModTime()) >= reloadedBy, err
	}
	list, err := k.Settings(v)
	if err != nil {
		return false, err
	}
	s, err := y.c.Scheduler(ctx)
	if err != nil {
		return false, err
	}
	for _, x := range list {
		q := s.Root.Find(x.Queue)
		number, bad := parseSetting(false, x.Property, x.Text)
		known := capacityProperties[x.Property].otherwise > 0 // neither 0 nor NaN
		switch {
		case q == nil || x.Set && bad != nil: // such as an absolute capacity
		case x.Property == "capacity" && x.Set:
			if !near(q.Capacity, number) {
				return false, nil
			}
		case known && q.Leaf(): // also if it is unset, and a default or inherited value is to hold
			one := drive.Knob{Kind: setQueue, Queue: x.Queue, Property: x.Property}
			now, err := y.act.read(ctx, one)
			if err != nil {
				return false, err
			}
			if in, err := y.InForce(ctx, one, now); err != nil || !in {
				return false, err
			}
		}
	}
	return true, nil
}

// together reads the settings of a knob of several from the file's content.
func (f *editedFile) together(data []byte) (v drive.Value, err error) {
	list := f.settings().Unset()
	for i := range list {
		s := &list[i]
		if s.Text, s.Set, err = edit.Value(data, s.Queue, s.Property); err != nil {
			return v, fmt.Errorf("%s: %w", f.path, err)
		}
	}
	_, v, err = drive.Together(list)
	return v, err
}

func (f *editedFile) settings() drive.Knob {
	return drive.Knob{Kind: setQueue, Queue: "root", Property: f.kind.property}
}

// changeTogether edits the settings of a knob of several, all in one content.
func (f *editedFile) changeTogether(data []byte, v drive.Value) ([]byte, error) {
	found, err := f.together(data)
	if err != nil {
		return nil, err
	}
	out, err := f.writeTogether(data, v)
	if err == nil && f.kind.fair {
		_, err = conf.ReadFair(bytes.NewReader(out), f.path)
	} else if err == nil {
		err = f.sound(out)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: not changed: %w", f.path, err)
	}
	if back, err := f.writeTogether(out, found); v.Mark != "" && (err != nil || !bytes.Equal(back, data)) {
		return nil, fmt.Errorf("%s: not changed, because %v could not be put back: %w", f.path, found, cmp.Or(err, errMeaning))
	}
	return out, nil
}

func (f *editedFile) writeTogether(data []byte, v drive.Value) ([]byte, error) {
	list, err := f.settings().Settings(v)
	if err != nil {
		return nil, err
	}
	var changes []edit.Change
	for _, s := range list {
		changes = append(changes, edit.Change{Queue: s.Queue, Property: s.Property, Value: s.Text})
	}
	return edit.Write(data, changes)
}
