package fair

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/policy"
)

type placement []rule

type rule struct {
	name   string
	create bool
	queue  string
}

// find follows the placement rules: the first that has a queue for the job decides.
func (t *Tree) find(j *policy.Job) (*queue, error) {
	for _, r := range t.rules {
		name := ""
		switch r.name {
		case "specified":
			if j.Queue != "" && j.Queue != "default" && j.Queue != "root.default" {
				name = j.Queue
			}
		case "user":
			if name = strings.ReplaceAll(j.User, ".", "_dot_"); name == "" {
				name = "default"
			}
		case "default":
			name = r.queue
		case "reject":
			return nil, fmt.Errorf("the placement rules refuse job %s of user %q for queue %q", j.ID, j.User, j.Queue)
		}
		if name == "" {
			continue
		}
		q, err := t.leaf(name, r.create)
		if q != nil || err != nil {
			return q, err
		}
	}
	return nil, fmt.Errorf("no placement rule has a queue for job %s of user %q, queue %q", j.ID, j.User, j.Queue)
}

func full(name string) string {
	if name == "root" || strings.HasPrefix(name, "root.") {
		return name
	}
	return "root." + name
}

// leaf finds a leaf, or makes it if it may; nil without an error: there is none.
func (t *Tree) leaf(name string, create bool) (*queue, error) {
	name = full(name)
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

// create makes a queue that the file does not name, and those above it that are missing.
func (t *Tree) create(name string) (*queue, error) {
	parts := strings.Split(name, ".")
	if slices.Contains(parts, "") || len(parts) > maxDepth {
		return nil, fmt.Errorf("%q is not the name of a queue", name)
	}
	if len(t.queues)+len(parts) > maxQueues {
		return nil, fmt.Errorf("queue %s is not made: there are %d queues already", name, len(t.queues))
	}
	up := t.root
	at := len(parts[0])
	for _, p := range parts[1:] {
		at += 1 + len(p)
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
