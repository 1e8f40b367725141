package conf

import (
	"slices"
	"strings"
)

// tree builds the queues from the root down.
func (b *capacityReader) tree() error {
	list := b.props.Get(Prefix + "root.queues")
	if list == nil {
		pos := Pos{b.props.File, 1}
		for _, p := range b.props.List {
			if near(strings.TrimPrefix(p.Name, Prefix), "root.queues") {
				return p.Pos.Errorf("%s is not a setting: did you mean %sroot.queues?", p.Name, Prefix)
			}
		}
		return pos.Errorf("%sroot.queues is missing: it lists the queues below the root, for example \"default\"", Prefix)
	}
	root := &Queue{Name: "root", Path: "root", Pos: list.Pos}
	b.queues["root"] = root
	b.c.Root = root
	if err := b.queue(root, 1); err != nil {
		return err
	}
	if root.Leaf() {
		return list.Pos.Errorf("%s names no queue", list.Name)
	}
	return nil
}

func (b *capacityReader) queue(q *Queue, depth int) error {
	if depth > MaxDepth {
		return q.Pos.Errorf("queues are nested more than %d deep", MaxDepth)
	}
	if err := b.children(q); err != nil {
		return err
	}
	if err := b.settings(q); err != nil {
		return err
	}
	for _, k := range q.Children {
		if err := b.queue(k, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (b *capacityReader) children(q *Queue) error {
	p := b.props.Get(Prefix + q.Path + ".queues")
	if p == nil {
		return nil
	}
	for _, name := range strings.Split(p.Value, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		if strings.ContainsAny(name, ". \t\n") {
			return p.Pos.Errorf("%s: a queue cannot be named %q", p.Name, shorten(name))
		}
		path := q.Path + "." + name
		if b.queues[path] != nil {
			return p.Pos.Errorf("%s names queue %s twice", p.Name, shorten(name))
		}
		if len(b.queues) >= MaxQueues {
			return p.Pos.Errorf("more than %d queues", MaxQueues)
		}
		k := &Queue{Name: name, Path: path, Parent: q, Pos: p.Pos}
		b.queues[path] = k
		q.Children = append(q.Children, k)
	}
	return nil
}

// settings reads the settings of one queue.
func (b *capacityReader) settings(q *Queue) error {
	key := func(s string) string { return Prefix + q.Path + "." + s }
	v := values{b.props, nil}
	q.Capacity = QueueShare{Kind: Percent, Value: 100}
	if p := b.props.Get(key("capacity")); p != nil {
		s, err := b.share(p)
		if err != nil {
			return err
		}
		if q.Parent != nil {
			q.Capacity = s
		} else if s != q.Capacity {
			return p.Pos.Errorf("%s is %s: the root always has 100", p.Name, p.Value)
		}
	} else if q.Parent != nil {
		return q.Pos.Errorf("queue %s has no capacity: set %s, as a percentage of its parent (40), a weight (3w) or "+
			"[memory=MB,vcores=N]", q.Path, key("capacity"))
	}
	if p := b.props.Get(key("maximum-capacity")); p != nil {
		s, err := b.maximum(p)
		if err != nil {
			return err
		}
		q.MaxCapacity = s
	}
	if err := b.state(q, b.props.Get(key("state"))); err != nil {
		return err
	}
	q.Priority = v.whole(key("priority"), 0, -maxPriority)
	q.DisablePreemption = v.truth(key("disable_preemption"), q.Parent != nil && q.Parent.DisablePreemption)
	if err := b.ordering(q, b.props.Get(key("ordering-policy"))); err != nil {
		return err
	}
	q.MinimumUserLimitPercent = v.number(key("minimum-user-limit-percent"), b.userLimitPercent, 0, 100)
	q.UserLimitFactor = v.number(key("user-limit-factor"), b.userLimitFactor, -1, maxFactor)
	if f := q.UserLimitFactor; f < 0 && f != -1 {
		q.UserLimitFactor = -1
		b.c.warn(b.props.Get(key("user-limit-factor")).Pos, "user-limit-factor %v of queue %s is taken as -1: no limit", f, q.Path)
	}
	q.MaximumAMPercent = v.number(key("maximum-am-resource-percent"), b.amPercent, 0, 1)
	q.MaximumApplications = v.whole(key("maximum-applications"), -1, -1)
	q.DefaultApplicationPriority = v.whole(key("default-application-priority"), 0, 0)
	q.SizeWeight = v.truth(key("ordering-policy.fair.enable-size-based-weight"), false)
	return v.err
}

const maxPriority = 1 << 30

func (b *capacityReader) state(q *Queue, p *Property) error {
	if q.Parent != nil {
		q.Stopped = q.Parent.Stopped
	}
	if p == nil {
		return nil
	}
	switch strings.ToUpper(p.Value) {
	case "RUNNING":
		if q.Stopped {
			return p.Pos.Errorf("%s is RUNNING below a STOPPED queue", p.Name)
		}
	case "STOPPED", "DRAINING": // a draining queue accepts no new application either, and at the start it is empty
		q.Stopped = true
	default:
		return p.Pos.Errorf("%s is %q: want RUNNING or STOPPED", p.Name, shorten(p.Value))
	}
	return nil
}

func (b *capacityReader) ordering(q *Queue, p *Property) error {
	known := []string{"fifo", "fair", "fifo-with-partitions", "fifo-for-pending-apps"}
	what := "the leaf queue"
	if q.Leaf() {
		q.Ordering = known[0]
	} else {
		known, what = []string{"utilization", "priority-utilization"}, "the parent queue"
		q.Ordering = known[0]
		if q.Parent != nil {
			q.Ordering = q.Parent.Ordering
		}
	}
	if p == nil {
		return nil
	}
	if slices.Contains(known, p.Value) {
		q.Ordering = p.Value
		return nil
	}
	return p.Pos.Errorf("%s is %q: an ordering policy of %s %s is %s%s", p.Name, shorten(p.Value), what, q.Path,
		strings.Join(known, ", "), didYouMean(p.Value, known))
}
