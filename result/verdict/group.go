package verdict

import (
	"iter"
	"slices"
	"strings"
)

// Subject is a queue, user or class of jobs that a question is about.
type Subject struct {
	Kind string `json:"kind"` // queue, user or class
	Name string `json:"name"`
}

// String is the subject in a sentence.
func (t Subject) String() string { return t.Kind + " " + t.Name }

// Covers reports whether a subject is a group, or the parent of its queue. Jobs may name a queue by its path or by the path's end.
func (t Subject) Covers(g Subject) bool {
	if t.Kind != g.Kind {
		return false
	}
	return t.Name == g.Name || t.Kind == "queue" && (strings.HasSuffix(t.Name, "."+g.Name) || strings.HasPrefix(strings.TrimPrefix(g.Name, "root."), strings.TrimPrefix(t.Name, "root.")+"."))
}

// Group compares the jobs of one queue, user or class under every setting.
type Group struct {
	Subject
	Jobs []int64 // finished in the first seed, by setting
	// Rows are the p95 elapsed time, by which groups are judged, the p95 slowdown, if known, and the share of jobs over 30 minutes.
	Rows    []Row
	Touched []bool // by setting: the variant is about this group
	Few     bool   // too few jobs to be judged
}

// Marked reports whether a variant is about the group.
func (g *Group) Marked() bool { return slices.Contains(g.Touched, true) }

// ByKind yields the queues, the users and the classes of groups in which each kind is contiguous.
func ByKind(groups []Group) iter.Seq[[]Group] {
	return func(yield func([]Group) bool) {
		for len(groups) > 0 {
			n := slices.IndexFunc(groups, func(g Group) bool { return g.Kind != groups[0].Kind })
			if n < 0 {
				n = len(groups)
			}
			if !yield(groups[:n]) {
				return
			}
			groups = groups[n:]
		}
	}
}
