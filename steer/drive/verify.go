package drive

import (
	"errors"
	"log/slog"
	"time"

	"github.com/yardmaster/yardmaster/steer"
)

// check is a write that may not be in force yet.
type check struct {
	act       steer.Action
	want, old Value
	first     time.Time // time of the first in the run of writes that were each superseded before they were in force
	since     time.Time // when it was written
	next      time.Time // next check
	until     time.Time // deadline
}

// verify checks whether writes are in force.
func (d *driver) verify(now time.Time) {
	for _, n := range d.order {
		c := n.check
		if c == nil || now.Before(c.next) {
			continue
		}
		ok, err := d.inForce(n.k, c.want)
		now := d.now()
		took := now.Sub(c.since)
		e := Event{Knob: n.k, Old: c.old.Number, New: c.want.Number, Latency: took, Err: err}
		attrs := []slog.Attr{slog.String("knob", n.k.String()), slog.String("new", c.want.String()),
			slog.Duration("latency", took.Round(time.Millisecond))}
		switch {
		case d.ended():
			return
		case ok:
			n.check = nil
			e.Kind = Taken
			d.emit(e, attrs...)
		case !now.Before(c.until):
			n.check = nil
			e.Kind = Unverified
			why := "it is configured but not in force"
			if err != nil {
				why = "whether it is in force cannot be read: " + err.Error()
			}
			d.emit(e, append(attrs, slog.String("why", why))...)
			n.failed = errors.New(why)
			d.notMade(c.act)
		default:
			c.next = earliest(now.Add(pollEach), c.until)
		}
	}
}
