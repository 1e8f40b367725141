package fair

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Placement are the rules by which a job finds its queue.
type Placement []conf.FairRule

// PlacementOf are the rules of a file, or what Hadoop does when it says nothing.
func PlacementOf(c *conf.Fair) Placement {
	if len(c.Placement) > 0 {
		return Placement(c.Placement)
	}
	return Placement{{Name: "specified", Create: true}, {Name: "user", Create: true}}
}

// Find follows the rules for a job: the first that has a queue decides. leaf finds a leaf by its full name, or makes it if it
// may, and says whether there is one.
func (p Placement) Find(id, user, queue string, leaf func(name string, create bool) (bool, error)) error {
	for _, r := range p {
		name := ""
		switch r.Name {
		case "specified":
			if queue != "" && queue != "default" && queue != "root.default" {
				name = queue
			}
		case "user":
			if name = strings.ReplaceAll(user, ".", "_dot_"); name == "" {
				name = "default"
			}
		case "default":
			name = r.Queue
		case "reject":
			return fmt.Errorf("the placement rules refuse job %s of user %q for queue %q", id, user, queue)
		}
		if name == "" {
			continue
		}
		if found, err := leaf(FullName(name), r.Create); found || err != nil {
			return err
		}
	}
	return fmt.Errorf("no placement rule has a queue for job %s of user %q, queue %q", id, user, queue)
}

func (t *Tree) find(j *policy.Job) (q *queue, err error) {
	err = t.rules.Find(j.ID, j.User, j.Queue, func(name string, create bool) (bool, error) {
		var err error
		q, err = t.leaf(name, create)
		return q != nil, err
	})
	return q, err
}

// FullName is a queue's name from the root down.
func FullName(name string) string {
	if name == "root" || strings.HasPrefix(name, "root.") {
		return name
	}
	return "root." + name
}

// leaf finds a leaf, or makes it if it may; nil without an error: there is none.
func (t *Tree) leaf(name string, create bool) (*queue, error) {
	name = FullName(name)
	if q := t.names[name]; q != nil {
		if !q.leaf {
			return nil, fmt.Errorf("queue %s holds queues, not jobs: name one inside it", name)
		}
		return q, nil
	}
	if !create {
		return nil, nil
	}
	return t.create(name)
}

const (
	maxQueues = 200_000
	maxDepth  = 32
)

// NewQueues checks the full name of a queue that the file does not name, and that there may be more queues beside those
// that there are. It returns the length of the names of the queue's ancestors below the root and of its own.
func NewQueues(name string, there int) ([]int, error) {
	parts := strings.Split(name, ".")
	if slices.Contains(parts, "") || len(parts) > maxDepth {
		return nil, fmt.Errorf("%q is not the name of a queue", name)
	}
	if there+len(parts) > maxQueues {
		return nil, fmt.Errorf("queue %s is not made: there are %d queues already", name, there)
	}
	ends := make([]int, 0, len(parts)-1)
	at := len(parts[0])
	for _, p := range parts[1:] {
		at += 1 + len(p)
		ends = append(ends, at)
	}
	return ends, nil
}

// create makes a queue that the file does not name, and those above it that are missing.
func (t *Tree) create(name string) (*queue, error) {
	ends, err := NewQueues(name, len(t.queues))
	if err != nil {
		return nil, err
	}
	up := t.root
	for _, at := range ends {
		q := t.names[name[:at]]
		if q == nil {
			if up.leaf {
				return nil, fmt.Errorf("queue %s cannot be made: %s holds jobs", name, up.name)
			}
			q = t.add(up, name[:at], t.undeclared(up), at == len(name))
		}
		up = q
	}
	return up, nil
}
