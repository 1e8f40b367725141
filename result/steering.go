package result

import (
	"cmp"
	"strconv"
)

// Steering is what a steering policy did in a run. Times are seconds from the start of the run.
type Steering struct {
	Policy    string        `json:"policy"`
	Queue     string        `json:"queue"`
	Delays    SteerDelays   `json:"delays"`
	Looks     int64         `json:"looks"`
	Decisions []SteerCount  `json:"decisions"` // by kind, in the order of the kinds; zero counts omitted
	Changes   []SteerChange `json:"changes"`   // by the time they took effect; at most 10,000
	// MoreChanges counts the changes beyond those.
	MoreChanges int64 `json:"more_changes,omitempty"`
	Made        int64 `json:"made"`    // changes that took effect
	Refused     int64 `json:"refused"` // those that did not
	// Series is the knob of the figures below: the first queue property that was changed. Empty: the AM share; JobKnobs: no figures.
	Series string `json:"series,omitempty"`
	// Found, Least, Most and Final are its original, minimum, maximum and final value.
	Found    float64 `json:"found"`
	Least    float64 `json:"least"`
	Most     float64 `json:"most"`
	Final    float64 `json:"final"`
	Restored bool    `json:"restored"`        // every queue property has its original value again
	Blind    string  `json:"blind,omitempty"` // why the last unusable snapshot was unusable

	Points []SteerPoint `json:"-"` // for a chart, by time
}

// SteerDelays are the simulated delays.
type SteerDelays struct {
	Sense float64 `json:"sense"`          // sensor age
	Queue float64 `json:"queue"`          // actuation delay, if no file is polled
	Poll  float64 `json:"poll,omitempty"` // polling interval of a file
	Age   float64 `json:"age,omitempty"`  // min age of a file before it is read
}

// SteerCount counts decisions of one kind.
type SteerCount struct {
	Kind  string `json:"kind"`
	Count int64  `json:"count"`
}

// SteerChange is one change.
type SteerChange struct {
	Asked   float64 `json:"asked"`
	InForce float64 `json:"in_force"` // when it took effect; if it failed, when that was known
	Knob    string  `json:"knob"`     // root.default maxAMShare, priority of JOB, queue of JOB
	Old     float64 `json:"old"`
	New     float64 `json:"new"`
	// OldQueue and NewQueue are those of a job that was moved.
	OldQueue string `json:"old_queue,omitempty"`
	NewQueue string `json:"new_queue,omitempty"`
	Why      string `json:"why"`
	Failed   string `json:"failed,omitempty"` // why it did not take effect
}

// Values are the old and the new value, for people.
func (c *SteerChange) Values() (before, after string) {
	if c.NewQueue != "" {
		return c.OldQueue, c.NewQueue
	}
	return strconv.FormatFloat(c.Old, 'f', -1, 64), strconv.FormatFloat(c.New, 'f', -1, 64)
}

// JobKnobs is the series of a policy that changed only priorities and queues of jobs.
const JobKnobs = "priorities and queues of jobs"

// SeriesName names the figures' knob, for users.
func (s *Steering) SeriesName() string { return cmp.Or(s.Series, "AM share") }

// SteerPoint is one sample of the policy's input.
type SteerPoint struct {
	At               float64
	Share            float64
	Running, Waiting int
}
