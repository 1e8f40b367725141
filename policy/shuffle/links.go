package shuffle

import (
	"github.com/yardmaster/yardmaster/internal/dense"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// Links is the congestion of the racks' uplinks: the busier direction, averaged over the last heartbeat.
type Links struct {
	Period    unit.Time
	Threshold float64 // load from which a rack is congested

	net     policy.Network
	sampled unit.Time // time of the last sample
	racks   []uplink
}

type uplink struct {
	in, out   float64 // carried until the last tick
	seen      bool
	congested bool
}

// Watch passes the network.
func (l *Links) Watch(n policy.Network) { l.net = n }

// Congested reports whether a rack's links to the core are congested. Racks are sampled from their first query on.
func (l *Links) Congested(rack int32) bool {
	if l == nil || l.net == nil {
		return false
	}
	u := dense.At(&l.racks, rack)
	if !u.seen {
		u.seen = true
		u.in, u.out = l.net.Carried(rack)
		in, out := l.net.Uplink(rack)
		u.congested = max(in, out) >= l.Threshold
	}
	return u.congested
}

// WasCongested is Congested without side effects: false before the first query.
func (l *Links) WasCongested(rack int32) bool {
	return l != nil && int(rack) < len(l.racks) && l.racks[rack].congested
}

// Tick samples the racks. A rack that is no longer congested may start what it could not.
func (l *Links) Tick(now unit.Time) (again unit.Time, changed bool) {
	if past := (now - l.sampled).Seconds(); past > 0 && l.net != nil {
		for r := range l.racks {
			u := &l.racks[r]
			if !u.seen {
				continue
			}
			in, out := l.net.Carried(int32(r))
			was := u.congested
			u.congested = max(in-u.in, out-u.out)/past >= l.Threshold
			u.in, u.out = in, out
			changed = changed || was && !u.congested
		}
	}
	l.sampled = now
	return now + l.Period, changed
}
