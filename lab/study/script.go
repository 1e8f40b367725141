package study

import (
	"math/rand/v2"
	"sort"

	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/unit"
)

// beginnings tells only when applications reached the scheduler and when their masters called for the first time. With a nudge other
// than 0, first calls are moved by up to five milliseconds, differently for each nudge: as much as chance moves them in reality.
func (r *Record) beginnings(nudge uint64) *yarn.Script {
	s := &yarn.Script{}
	random := rand.New(rand.NewPCG(nudge, 5))
	for i := range r.Apps {
		a := &r.Apps[i]
		first := max(a.Calls[0], a.Added)
		if nudge > 0 {
			first = max(first+random.Int64N(11)-5, a.Added)
		}
		s.Instants = append(s.Instants,
			yarn.Instant{Kind: yarn.Added, Job: int64(i), At: unit.Time(a.Added) * unit.Millisecond},
			yarn.Instant{Kind: yarn.Tick, Job: int64(i), At: unit.Time(first) * unit.Millisecond})
	}
	sort.SliceStable(s.Instants, func(i, k int) bool { return s.Instants[i].At < s.Instants[k].At })
	return s
}

// turn is an instant with its place among those of the same millisecond.
type turn struct {
	yarn.Instant
	place int
}

// script is the log in the simulator's terms.
//
// Lines that announce a pass or a call are written before or after what they announce. A pass that gave something happened when
// it gave it; a call that brought or took back something when the containers say so, and any other call between its master's sending
// it and having the answer, before a pass in the same millisecond: that one's containers it did not bring.
// The cause of a call is the instant of its sending: that is when the master looked which containers it has held long enough.
func (r *Record) script() *yarn.Script {
	moved := make([][]int, len(r.Apps)) // lines, by application
	at := make([]int64, len(r.Log))     // of lines: their order is true, their times are taken a little before
	for i, l := range r.Log {
		if at[i] = l.At; i > 0 {
			at[i] = max(at[i], at[i-1])
		}
		if l.Kind == "moved" {
			moved[l.Of] = append(moved[l.Of], i)
		}
	}
	var all []turn
	next := make([]int, len(r.Apps))
	pass := -1
	for i, l := range r.Log {
		t := turn{place: i}
		when := at[i]
		switch l.Kind {
		case "pass":
			t.Kind, t.Node = yarn.Beat, l.Of
			pass = len(all)
		case "gave":
			if pass >= 0 && pass < len(all) {
				all[pass].At, all[pass].place = unit.Time(when)*unit.Millisecond, i
			}
			continue
		case "added":
			t.Kind, t.Job = yarn.Added, int64(l.Of)
		case "call":
			t.Kind, t.Job = yarn.Tick, int64(l.Of)
			a := &r.Apps[l.Of]
			if next[l.Of] >= len(a.Calls) {
				break
			}
			sent := a.Calls[next[l.Of]]
			got := sent + a.Took[next[l.Of]]
			next[l.Of]++
			t.Cause, t.Answer = unit.Time(sent)*unit.Millisecond, unit.Time(got)*unit.Millisecond
			if k, ok := during(moved[l.Of], r.Log, sent, got); ok {
				when, t.place = at[k], k
			} else if w := min(max(when, sent), got); w != when {
				when, t.place = w, -1
			}
		default:
			continue
		}
		if when < 0 {
			pass = -1
			continue
		}
		t.At = unit.Time(when) * unit.Millisecond
		all = append(all, t)
	}
	sort.SliceStable(all, func(i, k int) bool {
		if all[i].At != all[k].At {
			return all[i].At < all[k].At
		}
		return all[i].place < all[k].place
	})
	s := &yarn.Script{}
	for i := range all {
		s.Instants = append(s.Instants, all[i].Instant)
	}
	return s
}

// during is the first of the lines whose instant is from one to another.
func during(lines []int, log []Line, from, to int64) (int, bool) {
	k := sort.Search(len(lines), func(i int) bool { return log[lines[i]].At >= from })
	if k < len(lines) && log[lines[k]].At <= to {
		return lines[k], true
	}
	return 0, false
}
