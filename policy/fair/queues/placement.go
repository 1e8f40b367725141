package queues

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Place applies the file's placement rules to an application: the first rule that has a queue decides.
func (t *Tree[Q]) Place(id, user, queue string) (leaf Q, err error) {
	var none Q
	for _, r := range t.rules {
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
			return none, fmt.Errorf("the placement rules refuse job %s of user %q for queue %q", id, user, queue)
		}
		if name == "" {
			continue
		}
		if leaf, err := t.Find(name, r.Create); leaf != none || err != nil {
			return leaf, err
		}
	}
	return none, fmt.Errorf("no placement rule has a queue for job %s of user %q, queue %q", id, user, queue)
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

// Find finds a leaf by its name, or creates it and its missing ancestors, if allowed; the zero Q without an error: there is none.
func (t *Tree[Q]) Find(name string, create bool) (none Q, err error) {
	name = FullName(name)
	if q, there := t.names[name]; there && !q.Common().Leaf {
		return none, fmt.Errorf("queue %s holds queues, not %s: name one inside it", name, t.members)
	} else if there || !create {
		return q, nil
	}
	parts := strings.Split(name, ".")
	if slices.Contains(parts, "") || len(parts) > maxDepth {
		return none, fmt.Errorf("%q is not the name of a queue", name)
	}
	if len(t.names)+len(parts) > maxQueues {
		return none, fmt.Errorf("queue %s is not made: there are %d queues already", name, len(t.names))
	}
	path := parts[0]
	above := t.names[path]
	for _, p := range parts[1:] {
		up := path
		path += "." + p
		q, there := t.names[path]
		if !there {
			if above.Common().Leaf {
				return none, fmt.Errorf("queue %s cannot be made: %s holds %s", name, up, t.members)
			}
			q = t.add(above, path, t.undeclared(above), path == name)
		}
		above = q
	}
	return above, nil
}

// undeclared are the settings of a queue that the file does not name, inside parent.
func (t *Tree[Q]) undeclared(parent Q) *conf.FairQueue {
	c := t.defaults
	if most := parent.Common().maxChild; most != nil {
		c.Max = *most
	}
	return &c
}
