package policy

import (
	"iter"
	"slices"

	"github.com/yardmaster/yardmaster/unit"
)

// Explainer is implemented by orders that can say why a job waits. It is called on demand and may be slow.
type Explainer interface {
	// Why appends what holds back a job with Pending > 0, tightest limit first, and changes nothing. What the nodes lack is not its concern: see Policy.Why.
	Why(now unit.Time, j *Job, to []Reason) []Reason
}

// Refuser is implemented by orders and placements that can say why a job gets no container on a node with room: the placement scores it below 0, or an order
// that decides by node passes it over. It is called on demand and changes nothing.
type Refuser interface {
	// Refusal is why no task of stage s (or AM, or kept container) starts on n now; the zero Reason: this part of the policy allows it. The engine adds the node.
	Refusal(now unit.Time, j *Job, s int, n *Node, near Near) Reason
}

// Ask is what a job waits for, as an engine sees it.
type Ask struct {
	Stage    int // or AMStage, KeptStage
	Size     unit.Resources
	Together int64                 // tasks that start together; 0 or 1: no gang
	Held     func(node int32) *Job // the job, with a gang, that the room of a node is held for; nil: none
}

// Why is for engines: it appends what holds back a job with Pending > 0, tightest limit first: the limits of the order; what the nodes lack for what it asks for,
// or why the policy refuses those with room; then who comes first. nodes yields every node, held room included, and how near it is to the best waiting task.
func (p *Policy) Why(now unit.Time, j *Job, ask Ask, nodes iter.Seq2[*Node, Near], to []Reason) []Reason {
	var why []Reason
	if x, ok := p.Order.(Explainer); ok {
		why = x.Why(now, j, nil)
	}
	look, refusal, room := Search{Size: ask.Size, Fits: unit.Resources.Fits}, Reason{}, int64(0)
	for n, near := range nodes {
		var r Reason
		if ask.Size.Fits(n.Free) {
			r = p.refusal(now, j, ask.Stage, n, near)
		}
		holder, by := ask.Held(n.Index), ""
		if holder != nil {
			by = holder.ID
		}
		if r == (Reason{}) && (holder == nil || holder == j) {
			room += n.Free.Count(ask.Size)
		}
		if r != (Reason{}) && refusal.Node == "" {
			refusal, refusal.Node = r, n.Name
		}
		look.Offer(n, ask.Size, by, holder == j, r == Reason{})
	}
	limits := slices.IndexFunc(why, func(r Reason) bool { return r.Limit == "" })
	if limits < 0 {
		limits = len(why)
	}
	to = append(to, why[:limits]...)
	if ask.Together > max(room, 1) {
		to = append(to, Reason{Limit: GangRoom, Size: ask.Size, Count: room, MaxCount: ask.Together})
		look.Open = false // room for some does not help
	}
	return append(look.Append(to, refusal), why[limits:]...)
}

// refusal is why the policy refuses a node with room; the zero Reason: it does not.
func (p *Policy) refusal(now unit.Time, j *Job, s int, n *Node, near Near) (r Reason) {
	if p.Place != nil && s >= 0 && p.Place.Score(now, j, s, n, near) < 0 {
		r.Limit = Refused
		if x, ok := p.Place.(Refuser); ok {
			r = x.Refusal(now, j, s, n, near)
		}
	} else if x, ok := p.Order.(Refuser); ok {
		r = x.Refusal(now, j, s, n, near)
	}
	return r
}

// Reason is what holds a job back: a limit, or others that come first.
type Reason struct {
	// Limit is the setting that limits it, by its name in the scheduler's configuration, or one of the words below; "": others come first.
	Limit           string
	Queue, User     string         // whose limit it is; both empty: the cluster's
	Held, Max       unit.Resources // what counts against the limit, and the limit
	Ahead           int64          // waiting jobs that come first
	Next            [3]string      // the first of them
	Count, MaxCount int64          // of a limit on a number (applications, skipped scheduling opportunities): what counts against it, and the limit
	Waited, MaxWait unit.Time      // of a limit on a time: how long it has waited, and the limit
	Size            unit.Resources // of the container that it waits for, where that is known
	Node            string         // the node that the reason is about
}

// What may hold a job back besides settings.
const (
	NodeSize = "node size"   // no node is large enough: Max is the largest one
	NodeRoom = "node room"   // no node (of Queue) has room now: Max is the most that is free on one
	GangRoom = "gang room"   // MaxCount tasks start together, and there is room for Count
	GangSize = "gang size"   // MaxCount tasks start together, and Count of them are there
	NoNode   = "no node"     // the cluster found no node for a task that is placed alike, and tries again later
	Reserved = "reservation" // Node is reserved for it (Held is free there), or for Next
	Refused  = "placement"   // the placement refuses Node, and does not say why
)

// Precede counts a job that comes first.
func (r *Reason) Precede(id string) {
	if int(r.Ahead) < len(r.Next) {
		r.Next[r.Ahead] = id
	}
	r.Ahead++
}

// Append appends the reason unless it is empty.
func (r Reason) Append(to []Reason) []Reason {
	if r == (Reason{}) {
		return to
	}
	return append(to, r)
}

// Search finds out what the nodes lack for a request, for what explains. Offer it every node.
type Search struct {
	Size unit.Resources                       // of the container
	Fits func(size, room unit.Resources) bool // as the scheduler compares them
	Full bool                                 // it may not have the next node's room, because reservations count
	Open bool                                 // set by Offer: a node could serve the request now

	large, free unit.Resources // the largest node, and the most that is free on one
	fits        bool           // a node is large enough
	roomy       bool           // a node has room
	wait        bool           // a node with room is refused
	own, other  Reason         // the first reservation for the job, and for another where there is room
}

// Offer adds a node: the size that the container would have there, who has reserved it ("": nobody), whether that is the job itself, and whether the
// placement allows the request there by now.
func (s *Search) Offer(n *Node, size unit.Resources, by string, own, allowed bool) {
	s.large = s.large.Max(n.Total)
	if !s.Fits(size, n.Total) {
		return
	}
	s.fits = true
	if n.Free.Mem > s.free.Mem || n.Free.Mem == s.free.Mem && n.Free.Cores > s.free.Cores {
		s.free = n.Free
	}
	if own && s.own.Node == "" {
		s.own = Reason{Limit: Reserved, Node: n.Name, Held: n.Free, Max: size}
	}
	room := s.Fits(size, n.Free)
	s.roomy = s.roomy || room
	switch {
	case !room && !(s.Full && by != ""):
	case by != "" && !own:
		if s.other.Node == "" {
			s.other = Reason{Limit: Reserved, Node: n.Name, Held: n.Free, Max: size}
		}
		if !slices.Contains(s.other.Next[:], by) { // it may have several nodes
			s.other.Precede(by)
		}
	case s.Full:
	case !allowed:
		s.wait = true
	default:
		s.Open = true
	}
}

// Append appends what the nodes lack; refusal is the reason for the case that the request waits for a better node.
func (s *Search) Append(to []Reason, refusal Reason) []Reason {
	var r Reason
	switch {
	case s.Open:
		return to
	case !s.fits:
		r = Reason{Limit: NodeSize, Max: s.large}
	case s.own.Node != "":
		r = s.own
	case s.wait:
		r = refusal
	case s.other.Node != "":
		r = s.other
	case s.roomy:
		return to
	default:
		r = Reason{Limit: NodeRoom, Max: s.free}
	}
	r.Size = s.Size
	return append(to, r)
}
