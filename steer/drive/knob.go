package drive

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/steer"
)

// knobOf returns the knob that an action changes.
func knobOf(a steer.Action) (Knob, error) {
	switch {
	case a.Kind == steer.SetQueue && a.Queue != "" && a.Property != "" && (a.Property == steer.Capacities) == (len(a.Shares) > 0):
		return Knob{Kind: a.Kind, Queue: a.Queue, Property: a.Property}, nil
	case (a.Kind == steer.SetPriority || a.Kind == steer.MoveJob && a.Queue != "") && a.Job != "":
		return Knob{Kind: a.Kind, Job: a.Job}, nil
	case a.Kind == steer.KillJob:
		return Knob{Kind: a.Kind, Job: a.Job}, errors.New("killing a job cannot be undone: it is not done")
	}
	return Knob{Kind: a.Kind, Queue: a.Queue, Property: a.Property, Job: a.Job}, errors.New("the action does not say what it changes")
}

var knobKinds = map[steer.Kind]string{
	steer.SetQueue: "queue", steer.SetPriority: "priority", steer.MoveJob: "move", steer.KillJob: "kill",
}

func (k Knob) String() string {
	var names []string
	for _, s := range k.Unset() {
		names = append(names, s.Name())
	}
	switch {
	case names != nil:
		return strings.Join(names, ", ")
	case k.Kind == steer.SetQueue:
		return k.Queue + " " + k.Property
	case k.Kind == steer.SetPriority:
		return "priority of " + k.Job
	case k.Kind == steer.MoveJob:
		return "queue of " + k.Job
	}
	return "life of " + k.Job
}

type knobFile struct {
	Kind     string `json:"kind"`
	Queue    string `json:"queue,omitempty"`
	Property string `json:"property,omitempty"`
	Job      string `json:"job,omitempty"`
}

// MarshalJSON encodes the kind as a word.
func (k Knob) MarshalJSON() ([]byte, error) {
	return json.Marshal(knobFile{knobKinds[k.Kind], k.Queue, k.Property, k.Job})
}

// UnmarshalJSON decodes the output of MarshalJSON.
func (k *Knob) UnmarshalJSON(data []byte) error {
	var f knobFile
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	for kind, name := range knobKinds {
		if name == f.Kind {
			*k = Knob{kind, f.Queue, f.Property, f.Job}
			return nil
		}
	}
	return fmt.Errorf("there is no knob of kind %q", f.Kind)
}

func (v Value) String() string {
	var texts []*string
	if v.Set && strings.HasPrefix(v.Text, "[") && json.Unmarshal([]byte(v.Text), &texts) == nil { // of Together
		var words []string
		for _, t := range texts {
			words = append(words, Setting{Text: deref(t), Set: t != nil}.String())
		}
		return strings.Join(words, ", ")
	}
	if v.Set {
		return v.Text
	}
	return fmt.Sprintf("unset (%v)", v.Number)
}

// Same reports whether two settings of a knob are equal: a number may be written in several ways.
func Same(k Knob, a, b Value) bool {
	switch {
	case a.Set != b.Set:
		return false
	case !a.Set || a.Text == b.Text:
		return true
	}
	if k.Kind == steer.SetQueue && k.Property == steer.Capacities {
		return sameShares(a, b)
	}
	if k.IsTogether() {
		return sameSettings(k, a, b)
	}
	return k.Kind != steer.MoveJob && near(a.Number, b.Number)
}

// Within clamps AM shares to the operator's bounds.
func Within(lo, hi float64) func(Knob, float64) (float64, string) {
	return func(k Knob, v float64) (float64, string) {
		switch {
		case k.Kind != steer.SetQueue || !amlimit.IsShare(k.Property):
		case v < lo:
			return lo, fmt.Sprintf("%.4g is below --min %.4g", v, lo)
		case v > hi:
			return hi, fmt.Sprintf("%.4g is above --max %.4g", v, hi)
		}
		return v, ""
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a)) }
