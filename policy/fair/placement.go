package fair

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Placement is a file's queue placement rules.
type Placement []conf.FairRule

// PlacementOf returns the rules of a file, or Hadoop's defaults.
func PlacementOf(c *conf.Fair) Placement {
	if len(c.Placement) > 0 {
		return Placement(c.Placement)
	}
	return Placement{{Name: "specified", Create: true}, {Name: "user", Create: true}}
}

// Find applies the rules to a job: the first that has a queue decides. leaf finds a leaf by its full name, or creates it if
// allowed, and says whether there is one.
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

const (
	maxQueues = 200_000
	maxDepth  = 32
)

// FindLeaf finds a leaf by its full name, or creates it and its missing ancestors, if allowed; the zero Q without an error: there
// is none. members names what leaves hold.
func FindLeaf[Q interface{ IsLeaf() bool }](names map[string]Q, name string, create bool, members string, add func(above Q, name string, leaf bool) Q) (none Q, err error) {
	if q, there := names[name]; there && !q.IsLeaf() {
		return none, fmt.Errorf("queue %s holds queues, not %s: name one inside it", name, members)
	} else if there || !create {
		return q, nil
	}
	parts := strings.Split(name, ".")
	if slices.Contains(parts, "") || len(parts) > maxDepth {
		return none, fmt.Errorf("%q is not the name of a queue", name)
	}
	if len(names)+len(parts) > maxQueues {
		return none, fmt.Errorf("queue %s is not made: there are %d queues already", name, len(names))
	}
	path := parts[0]
	above := names[path]
	for _, p := range parts[1:] {
		up := path
		path += "." + p
		q, there := names[path]
		if !there {
			if above.IsLeaf() {
				return none, fmt.Errorf("queue %s cannot be made: %s holds %s", name, up, members)
			}
			q = add(above, path, path == name)
		}
		above = q
	}
	return above, nil
}

func (q *queue) IsLeaf() bool { return q.leaf }

// leaf finds a leaf, or creates it if allowed; nil without an error: there is none.
func (t *Tree) leaf(name string, create bool) (*queue, error) {
	return FindLeaf(t.names, FullName(name), create, "jobs", func(above *queue, name string, leaf bool) *queue {
		return t.add(above, name, t.undeclared(above), leaf)
	})
}
