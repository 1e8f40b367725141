package yard

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// queueProperty is a settable property of a queue.
type queueProperty struct {
	otherwise float64                   // the default; NaN: it depends
	shown     func(*rest.Queue) float64 // the value in force; nil: determined in another way
}

// capacityProperties are those of the CapacityScheduler. Capacities in percent are set together, those in weights separately. If a queue's state is removed from the configuration, the queue keeps it (a stopped one stays stopped): state is changed only where the configuration has it.
var capacityProperties = map[string]queueProperty{
	amlimit.Capacity.Property:    {0.1, nil},
	steer.Capacities:             {math.NaN(), nil},
	"weight":                     {math.NaN(), func(q *rest.Queue) float64 { return q.Weight }},
	"maximum-capacity":           {100, func(q *rest.Queue) float64 { return q.MaxCapacity }},
	"user-limit-factor":          {1, func(q *rest.Queue) float64 { return q.UserLimitFactor }},
	"minimum-user-limit-percent": {100, func(q *rest.Queue) float64 { return q.UserLimit }},
	"state":                      {math.NaN(), func(q *rest.Queue) float64 { return float64(slices.Index(states, q.State)) }},
}

// fairProperties are those of the FairScheduler's file.
var fairProperties = map[string]queueProperty{amlimit.Fair.Property: {}, "weight": {}, "maxRunningApps": {}}

func (y *Yard) properties() map[string]queueProperty {
	if y.capacity() {
		return capacityProperties
	}
	return fairProperties
}

// states of a queue, by number.
var states = []string{"STOPPED", "RUNNING"}

// configured is the name of a property in the CapacityScheduler's configuration: a weight is a capacity such as 4w.
func configured(property string) string {
	if property == "weight" {
		return "capacity"
	}
	return property
}

// parseSetting parses a property's value, of a FairScheduler or not.
func parseSetting(fair bool, property, text string) (float64, error) {
	switch {
	case fair:
	case property == "state":
		if i := slices.Index(states, text); i >= 0 {
			return float64(i), nil
		}
		return 0, fmt.Errorf("%q is neither %s", text, strings.Join(states, " nor "))
	case property == "weight":
		weight, ok := strings.CutSuffix(text, "w")
		if !ok {
			return 0, fmt.Errorf("%q is not a weight", text)
		}
		text = weight
	case property == "maximum-capacity" && text == "-1":
		return 100, nil
	}
	return strconv.ParseFloat(text, 64)
}
