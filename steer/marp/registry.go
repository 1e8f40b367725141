package marp

import (
	"fmt"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

var titles = []struct{ name, title string }{
	{"cbt", "admits a job while processors idle; while busy, gives back the share of jobs that are almost done"},
	{"cbtws", "as cbt, but admits a job only while the smoothed progress grows"},
	{"cbtwat", "as cbtws, but the growth must reach a threshold that is learned"},
	{"ahead", "forecasts idle processors from the jobs' progress, and acts in advance"},
	{"kalman-mem", "holds the memory in use within a band; for comparison"},
	{"static", "writes one value and leaves it"},
}

// Names lists the controllers.
func Names() []string { return steer.Registry(Entries()).Names() }

// Entries are the controllers' registry entries.
func Entries() (list []steer.Entry) {
	for _, t := range titles {
		e := steer.Entry{Name: t.name, Title: t.title, Needs: steer.Needs{AMLimit: true, Maps: t.name == "ahead"}}
		e.New = func(su *steer.Setup) (steer.Steerer, error) { return newFor(t.name, su) }
		d := Defaults(t.name, "")
		for _, p := range params {
			if concerns(&p, t.name) {
				e.Params = append(e.Params, steer.Param{Name: p.Name, Value: p.Value, Default: p.Get(&d)[0], Help: p.Help})
			}
		}
		list = append(list, e)
	}
	return list
}

// newFor makes the named controller for an engine and a person's settings.
func newFor(name string, su *steer.Setup) (steer.Steerer, error) {
	s := Defaults(name, su.Queue).On(su.Limit).Within(su.Bounds)
	if s.Minimum, s.Seed = su.Minimum, su.Seed; su.Observe {
		s.TakeOver = unit.Millisecond // its actions never take effect: every sample starts from the actual value
	}
	if err := su.Each(func(key, value string) error { return s.Set(name, key, value) }); err != nil {
		return nil, err
	}
	c, err := New(name, s)
	if v := s.Value; err == nil && name == "static" && (v < s.Min || v > s.Max) {
		return nil, &steer.SettingError{Name: "value", Err: fmt.Errorf("value=%v: it lies outside the bounds %v to %v", v, s.Min, s.Max)}
	}
	return c, err
}

// Found implements steer.Describer.
func (c *loop) Found(q *steer.Queue) string {
	am := c.set.AM
	if n := int64(q.Running); am.IsZero() && n > 0 {
		am = unit.Resources{Mem: (q.AMs.Mem + n - 1) / n, Cores: (q.AMs.Cores + n - 1) / n}
	}
	switch {
	case q.AMShare < 0:
		return "no limit"
	case q.AMShare == 0:
		return "not known yet"
	}
	share := fmt.Sprintf("%.4g", q.AMShare)
	switch {
	case q.Capacity.IsZero():
		return share
	case am.IsZero():
		return share + fmt.Sprintf(" of %v; the number of jobs it admits is known once a job is there", q.Capacity)
	}
	n := c.set.Limit.Slots(q.Capacity, am, c.set.Minimum, q.AMShare)
	return share + fmt.Sprintf(" of %v: room for %d %s of %v", q.Capacity, n, plural(int(n), "AM", "AMs"), am)
}

// Bounds implements steer.Describer.
func (c *loop) Bounds() string {
	if l, ok := c.controller.(static); ok {
		return fmt.Sprintf("%.4g, whatever is found", l.Value)
	}
	switch s := &c.set; {
	case s.Min > 0:
		return fmt.Sprintf("%.4g to %.4g", s.Min, s.Max)
	case s.KeepFound:
		return fmt.Sprintf("the share found to %.4g", s.Max)
	}
	return fmt.Sprintf("one AM's share to %.4g", c.set.Max)
}
