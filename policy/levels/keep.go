package levels

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// Standing is where a job stands, as it survives a restart.
type Standing struct {
	Queue    int32     `json:"queue"`
	Entry    int64     `json:"entry"`              // order in which jobs entered their queues
	Attained unit.Time `json:"attained,omitempty"` // service by the policy's own count
}

// State is what policies with levels save.
type State struct {
	Version int                 `json:"version"`
	Entered int64               `json:"entered"` // entries so far
	Jobs    map[string]Standing `json:"jobs"`    // present, by ID
	Learned json.RawMessage     `json:"learned,omitempty"`
}

const version = 1

// Save saves the standing of all present jobs, with their attained service, and what else the policy has learned.
func (q *Queues) Save(attained func(j *policy.Job) unit.Time, learned any) ([]byte, error) {
	state := State{Version: version, Entered: q.entered, Jobs: map[string]Standing{}}
	for i, j := range q.jobs {
		if j != nil {
			state.Jobs[j.ID] = Standing{Queue: q.places[i].queue, Entry: q.places[i].entry, Attained: attained(j)}
		}
	}
	var err error
	if learned != nil {
		if state.Learned, err = json.Marshal(learned); err != nil {
			return nil, err
		}
	}
	return json.Marshal(state)
}

// Load restores what Save has saved: jobs get their standing when they arrive again.
func (q *Queues) Load(saved []byte, learned any) error {
	state := State{}
	if err := strict(saved, &state); err != nil {
		return err
	}
	if state.Version != version {
		return fmt.Errorf("saved by version %d of this policy: want %d", state.Version, version)
	}
	for id, s := range state.Jobs {
		if s.Queue < 0 || s.Entry < 0 || s.Entry >= state.Entered || s.Attained < 0 {
			return fmt.Errorf("saved standing of job %q: %+v", id, s)
		}
	}
	if (learned == nil) != (state.Learned == nil) {
		return errors.New("saved by another policy")
	}
	if learned != nil {
		if err := strict(state.Learned, learned); err != nil {
			return err
		}
	}
	q.entered, q.saved = state.Entered, state.Jobs
	return nil
}

// strict decodes JSON without unknown keys.
func strict(data []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return fmt.Errorf("saved state: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("saved state: more than one value")
	}
	return nil
}

// Resume enters a job where it stood before a restart, if it was present then, and reports where that is.
func (q *Queues) Resume(j *policy.Job) (s Standing, was bool, err error) {
	if s, was = q.saved[j.ID]; !was {
		return s, false, nil
	}
	delete(q.saved, j.ID)
	if err := q.Enter(j, int(s.Queue)); err != nil {
		return s, true, err
	}
	q.entered--
	q.places[j.Index].entry = s.Entry
	q.rank(j)
	return s, true, nil
}
