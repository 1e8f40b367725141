package hadoop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// Application is one application of a workload: an unmanaged master, which takes no container itself, and what it asks for.
// A workload file has one of them a line, as JSON.
type Application struct {
	ID         string  `json:"id"`
	User       string  `json:"user"`
	Queue      string  `json:"queue"`
	Submit     Millis  `json:"submit"` // after the start of the workload
	Priority   int     `json:"priority,omitempty"`
	Type       string  `json:"type,omitempty"`     // UNMANAGED
	Tracking   string  `json:"tracking,omitempty"` // URL of its web server; none
	Containers []Group `json:"containers"`
}

// Group is a number of containers of one size and priority. All groups of an application at one priority have the same size:
// a ResourceManager knows only one size at each.
type Group struct {
	Count    int      `json:"count"`
	MB       int      `json:"mb"`
	Vcores   int      `json:"vcores,omitempty"`   // 1
	Priority int      `json:"priority,omitempty"` // 1; smaller goes first
	Hold     Holds    `json:"hold"`
	Nodes    []string `json:"nodes,omitempty"` // addresses of nodes that it would like; their racks and any other will do too
}

// Holds says how long containers are held, in the order in which they come: one length for all, or one for each, from the
// start again when there are more containers. As JSON it is a number or a list.
type Holds []Millis

// UnmarshalJSON reads a number or a list.
func (h *Holds) UnmarshalJSON(b []byte) error {
	var one Millis
	if json.Unmarshal(b, &one) == nil {
		*h = Holds{one}
		return nil
	}
	var list []Millis
	if err := json.Unmarshal(b, &list); err != nil {
		return errors.New("hold must be a number of milliseconds or a list of them")
	}
	*h = list
	return nil
}

// ReadWorkload reads a workload file and checks it.
func ReadWorkload(r io.Reader) ([]Application, error) {
	var list []Application
	n := 0
	err := readLines(r, func(b []byte) error {
		n++
		if len(b) == 0 {
			return nil
		}
		var a Application
		if err := json.Unmarshal(b, &a); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if err := a.check(); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		list = append(list, a)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the workload: %w", err)
	}
	return list, nil
}

// WriteWorkload writes what ReadWorkload reads.
func WriteWorkload(w io.Writer, list []Application) error { return WriteLines(w, list) }

func (a Application) check() error {
	if a.ID == "" || a.User == "" || a.Queue == "" {
		return errors.New("id, user and queue must be given")
	}
	if len(a.Containers) == 0 || a.Submit < 0 {
		return fmt.Errorf("application %s: it must ask for something, and not before the start", a.ID)
	}
	sizes := map[int][2]int{}
	for _, g := range a.Containers {
		if g.Count < 1 || g.MB < 1 || len(g.Hold) == 0 || g.Vcores < 0 || g.Priority < 0 {
			return fmt.Errorf("application %s: a group needs count, mb and hold", a.ID)
		}
		p, size := max(g.Priority, 1), [2]int{g.MB, max(g.Vcores, 1)}
		if old, ok := sizes[p]; ok && old != size {
			return fmt.Errorf("application %s: two sizes at priority %d; a ResourceManager knows only one at each", a.ID, p)
		}
		sizes[p] = size
	}
	return nil
}

// MastersOptions say how the masters behave. The zero value of a field is its default.
type MastersOptions struct {
	Start     bool          // start a process (sleep) in each container; otherwise the room is only held
	Heartbeat time.Duration // between the answer to a call and the next call; 1 s
	Poll      time.Duration // between looks for the token that lets a master register; 20 ms
	Threads   int           // 32
	HeapMB    int           // 512
}

// AppResult is what a master did and saw. Instants are its own; what the ResourceManager did between them is in its log.
type AppResult struct {
	ID    string `json:"id"`
	App   string `json:"app"` // application ids are in the order of the workload
	User  string `json:"user"`
	Queue string `json:"queue"`

	Submit     Millis `json:"submit"`     // the submission was sent
	Submitted  Millis `json:"submitted"`  // and answered
	Accepted   Millis `json:"accepted"`   // the token was seen
	Registered Millis `json:"registered"` // the registration was answered
	Unregister Millis `json:"unregister"` // the last call was answered, everything is given back
	End        Millis `json:"end"`
	State      string `json:"state"` // SUCCEEDED, FAILED, KILLED
	Why        string `json:"why"`

	Containers []ContainerResult `json:"containers"`
	Calls      []Millis          `json:"calls"` // when each call was sent; the first one carries all requests
	Took       []Millis          `json:"took"`  // until it was answered
}

// ContainerResult is one container as its master saw it.
type ContainerResult struct {
	ID       string `json:"id"`
	Group    int    `json:"group"` // index of the last group of its priority
	Node     string `json:"node"`
	MB       int    `json:"mb"` // after the scheduler's rounding
	Vcores   int    `json:"vcores"`
	Hold     Millis `json:"hold"`
	Seen     Millis `json:"seen"`     // the answer that brought it
	Started  Millis `json:"started"`  // the NodeManager has taken it; only with Start
	Released Millis `json:"released"` // the call that gave it back, or the answer that told its end
	Exit     int    `json:"exit"`
	Lost     bool   `json:"lost"`    // taken away; another one was asked for
	Surplus  bool   `json:"surplus"` // one more than was wanted; given back with the next call
	Error    string `json:"error"`   // the NodeManager's refusal
}

// MastersResult is what came of a workload.
type MastersResult struct {
	Zero Millis // the instant that submissions count from
	Apps []AppResult
	Cost Cost
}

// Masters runs a workload of unmanaged masters, all in one JVM, and returns when all have ended, in the order in which they
// did. Each submits itself in its time, registers, files all its requests with the first call, calls at a fixed delay,
// holds each container from the answer that brought it, gives it back with the first call after its time, and unregisters
// after the call that gave back the last.
func (c *Cluster) Masters(ctx context.Context, apps []Application, o MastersOptions) (MastersResult, error) {
	for _, a := range apps {
		if err := a.check(); err != nil {
			return MastersResult{}, err
		}
	}
	or := func(d, def time.Duration) string { return strconv.FormatInt(max(1, cmp.Or(d, def).Milliseconds()), 10) }
	mode := "hold"
	if o.Start {
		mode = "start"
	}
	args := []string{mode, or(o.Heartbeat, time.Second), or(o.Poll, 20*time.Millisecond), strconv.Itoa(cmp.Or(o.Threads, 32))}
	var res MastersResult
	var err error
	res.Cost, err = c.client(ctx, "masters", cmp.Or(o.HeapMB, 512), "Masters", func(w io.Writer) error { return WriteWorkload(w, apps) }, args,
		func(b []byte) error {
			var line struct {
				Zero Millis `json:"zero"`
				AppResult
			}
			if err := json.Unmarshal(b, &line); err != nil {
				return err
			}
			if line.Zero != 0 {
				res.Zero = line.Zero
				return nil
			}
			res.Apps = append(res.Apps, line.AppResult)
			return nil
		})
	return res, err
}
