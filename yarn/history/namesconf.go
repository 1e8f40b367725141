package history

import (
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/yarn/conf"
)

// capacity renames the queues and users in settings of the CapacityScheduler. Settings that are about people, node labels or placement
// rules are left out, and returned by name.
func (n *names) capacity(list []conf.Property) (out []conf.Property, dropped []string) {
	values := map[string]string{}
	for _, p := range list {
		values[p.Name] = p.Value
	}
	// Queue paths and settings both contain dots: the tree tells which is which.
	paths := []string{"root"}
	for i := 0; i < len(paths) && i < conf.MaxQueues; i++ {
		for child := range strings.SplitSeq(values[conf.Prefix+paths[i]+".queues"], ",") {
			if child = strings.TrimSpace(child); child != "" {
				paths = append(paths, paths[i]+"."+child)
			}
		}
	}
	known := map[string]bool{}
	for _, p := range paths {
		known[p] = true
	}
	for _, p := range list {
		rest := strings.TrimPrefix(p.Name, conf.Prefix)
		queue, key := split(rest, known)
		switch {
		case queue == "" && (strings.HasPrefix(rest, "root.") || strings.Contains(key, "mapping")), strings.Contains(key, "acl_"), strings.Contains(key, "node-label"):
			dropped = append(dropped, shortName(p.Name, queue, key))
			continue
		case key == "queues":
			var mapped []string
			for child := range strings.SplitSeq(p.Value, ",") {
				if child = strings.TrimSpace(child); child != "" {
					mapped = append(mapped, n.queue(child))
				}
			}
			p.Value = strings.Join(mapped, ",")
		case strings.HasPrefix(key, "user-settings."):
			user, setting, _ := strings.Cut(strings.TrimPrefix(key, "user-settings."), ".")
			key = "user-settings." + n.user(user) + "." + setting
		}
		if queue != "" {
			key = n.queue(queue) + "." + key
		}
		out = append(out, conf.Property{Name: conf.Prefix + key, Value: p.Value})
	}
	slices.Sort(dropped)
	return out, slices.Compact(dropped)
}

// split splits a setting into the longest queue that it starts with, and the rest.
func split(rest string, known map[string]bool) (queue, key string) {
	for end := len(rest); ; {
		end = strings.LastIndexByte(rest[:end], '.')
		if end < 0 {
			return "", rest
		}
		if known[rest[:end]] {
			return rest[:end], rest[end+1:]
		}
	}
}

// shortName is a setting without the name of its queue.
func shortName(name, queue, key string) string {
	if queue == "" && strings.HasPrefix(strings.TrimPrefix(name, conf.Prefix), "root.") {
		return "settings of queues that are not there"
	}
	return key
}

// fair renames the queues and users in an allocation file, removes access lists and returns their number.
func (n *names) fair(e *conf.Element) (dropped int) {
	attr := func(name string, f func(string) string) {
		for i := range e.Attrs {
			if e.Attrs[i].Name.Local == name {
				e.Attrs[i].Value = f(e.Attrs[i].Value)
			}
		}
	}
	switch e.Name {
	case "queue", "pool":
		attr("name", n.queue)
	case "user":
		attr("name", n.user)
	case "rule":
		attr("queue", n.queue)
	}
	kept := e.Children[:0]
	for _, c := range e.Children {
		if strings.HasPrefix(c.Name, "acl") {
			dropped++
			continue
		}
		dropped += n.fair(c)
		kept = append(kept, c)
	}
	e.Children = kept
	return dropped
}
