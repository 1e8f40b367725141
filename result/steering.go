package result

import "cmp"

// Steering is what a steering policy did in a run. Times are seconds from the start of the run.
type Steering struct {
	Policy    string        `json:"policy"`
	Queue     string        `json:"queue"`
	Delays    SteerDelays   `json:"delays"`
	Looks     int64         `json:"looks"`
	Decisions []SteerCount  `json:"decisions"` // by kind, in the order of the kinds; those that did not happen are left out
	Changes   []SteerChange `json:"changes"`   // in the order in which they took effect; at most 10,000
	// MoreChanges are those beyond.
	MoreChanges int64 `json:"more_changes,omitempty"`
	Made        int64 `json:"made"`    // changes that took effect
	Refused     int64 `json:"refused"` // those that did not
	// Series is the knob that the figures below are of: the first property of a queue that was changed. Empty: the AM share; JobKnobs: there are no
	// figures.
	Series string `json:"series,omitempty"`
	// Found, Least, Most and Final are its values: before the first change, between, and when all was over.
	Found    float64 `json:"found"`
	Least    float64 `json:"least"`
	Most     float64 `json:"most"`
	Final    float64 `json:"final"`
	Restored bool    `json:"restored"`        // what was found stands again, of every queue's property
	Blind    string  `json:"blind,omitempty"` // why the last snapshot that could not be acted on could not be

	Points []SteerPoint `json:"-"` // for a picture, in order of time
}

// SteerDelays are the delays that were played.
type SteerDelays struct {
	Sense float64 `json:"sense"`          // age of what is seen
	Queue float64 `json:"queue"`          // until a change is in force, where no file is polled
	Poll  float64 `json:"poll,omitempty"` // period of the polls of a file
	Age   float64 `json:"age,omitempty"`  // that it must have to be read
}

// SteerCount counts decisions of one kind.
type SteerCount struct {
	Kind  string `json:"kind"`
	Count int64  `json:"count"`
}

// SteerChange is one change.
type SteerChange struct {
	Asked   float64 `json:"asked"`
	InForce float64 `json:"in_force"` // when it took effect; of one that failed, when that was known
	Knob    string  `json:"knob"`     // root.default maxAMShare, priority of JOB, queue of JOB
	Old     float64 `json:"old"`
	New     float64 `json:"new"`
	Why     string  `json:"why"`
	Failed  string  `json:"failed,omitempty"` // why it did not take effect
}

// JobKnobs is the series of a policy that changed only priorities and queues of jobs.
const JobKnobs = "priorities and queues of jobs"

// SeriesName is what the figures are of, for people.
func (s *Steering) SeriesName() string { return cmp.Or(s.Series, "AM share") }

// SteerPoint is what the policy saw at an instant.
type SteerPoint struct {
	At               float64
	Share            float64
	Running, Waiting int
}
