// Package turn is a steering policy for fault injection: it turns its knobs back and forth for as long as it runs, so that a steerer
// killed at any moment leaves something to restore. Only the command turner has it.
package turn

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// Entry is the registry entry.
var Entry = steer.Entry{
	Name: "turn", Title: "turns knobs to and fro",
	Params: []steer.Param{
		{Name: "priority", Value: "N:N", Help: "of every job, one step the first value, another step the second"},
		{Name: "queue", Value: "QUEUE:QUEUE", Help: "of every job"},
		{Name: "capacities", Value: "X:X", Help: "of the first two queues, which change places"},
		{Name: "PROPERTY", Value: "X:X", Help: "of every queue, by the name of the scheduler"},
	},
	Needs: steer.Needs{Properties: properties, Priority: true, Queue: true}, Several: true,
	New: func(s *steer.Setup) (steer.Steerer, error) {
		t := &turn{queues: s.Queues}
		for _, pair := range s.Set {
			name, values, _ := strings.Cut(pair, "=")
			a, b, ok := strings.Cut(values, ":")
			if !ok {
				return nil, &steer.SettingError{Name: name, Err: errors.New("two values are needed, A:B")}
			}
			k := knob{name: name, text: [2]string{a, b}}
			for i, s := range k.text {
				var err error
				if k.value[i], err = strconv.ParseFloat(s, 64); err != nil && name != "queue" {
					return nil, &steer.SettingError{Name: name, Err: fmt.Errorf("%q is not a number", s)}
				}
			}
			t.knobs = append(t.knobs, k)
		}
		return t, nil
	},
}

var properties = []string{steer.Capacities, "maximum-capacity", "weight", "user-limit-factor", "maxRunningApps"}

type turn struct {
	queues []string
	knobs  []knob
	n      int // steps so far
}

type knob struct {
	name  string
	text  [2]string
	value [2]float64
}

// Step implements steer.Steerer. Every step turns one knob of every queue, or of three jobs in any queue: the driver has to protect those of other queues.
func (t *turn) Step(seen *steer.Snapshot) (do []steer.Action, again unit.Time) {
	again = 50 * unit.Millisecond
	if len(t.knobs) == 0 {
		return nil, again
	}
	k, side := t.knobs[t.n%len(t.knobs)], 1-t.n/len(t.knobs)%2
	t.n++
	switch k.name {
	case steer.Capacities:
		return []steer.Action{steer.SetCapacities("its turn", steer.Share{Queue: t.queues[0], Value: k.value[side]}, steer.Share{Queue: t.queues[1], Value: k.value[1-side]})}, again
	case "priority", "queue":
	default:
		for _, q := range t.queues {
			do = append(do, steer.Action{Kind: steer.SetQueue, Queue: q, Property: k.name, Value: k.value[side], Why: "its turn"})
		}
		return do, again
	}
	for i := range min(3, len(seen.Jobs)) {
		j := seen.Jobs[(t.n+i)%len(seen.Jobs)]
		a := steer.Action{Kind: steer.SetPriority, Job: j.ID, Value: k.value[0], Why: "its turn"}
		switch {
		case k.name == "queue" && j.Queue == k.text[0]:
			a.Kind, a.Queue = steer.MoveJob, k.text[1]
		case k.name == "queue":
			a.Kind, a.Queue = steer.MoveJob, k.text[0]
		case float64(j.Priority) == k.value[0]:
			a.Value = k.value[1]
		}
		do = append(do, a)
	}
	return do, again
}
