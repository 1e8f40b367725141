package fabric

import "github.com/yardmaster/yardmaster/sim/flow"

// Layer is what a link connects.
type Layer uint8

// Layers.
const (
	NodeLayer Layer = iota // a node and its switch
	RackLayer              // a rack's switch and the layer above it, or the other rack's
	CoreLayer              // aggregation switch and core of a fat tree
	CellLayer              // two servers of different cells
)

func (l Layer) String() string { return [...]string{"node", "rack", "core", "cell"}[l] }

// Link is one direction of a cable, for reports.
type Link struct {
	ID       flow.Link
	Name     string // FROM>TO
	Layer    Layer
	Up       bool    // away from its owner
	Owner    int32   // the node (NodeLayer, CellLayer) or rack that owns it; -1: no rack
	Capacity float64 // bytes per second when it works
	Failed   bool
}

// state is the fabric's state of a link.
type state struct {
	rate   float64 // capacity when it works
	owner  int32
	cuts   uint16 // reasons for its failure: its own, a node's at either end, a rack's
	byHand bool   // its own is one of them
	layer  Layer
	up     bool
}

func (f *Fabric) state(l flow.Link) *state { return &f.links[l-f.first] }

// Links returns all links of the fabric in build order: nodes first.
func (f *Fabric) Links() []Link {
	out := make([]Link, len(f.links))
	for i := range f.links {
		s, id := &f.links[i], f.first+flow.Link(i)
		out[i] = Link{ID: id, Name: f.net.Name(id), Layer: s.layer, Up: s.up, Owner: s.owner, Capacity: s.rate, Failed: s.cuts > 0}
	}
	return out
}

// Link finds a link by its name, FROM>TO.
func (f *Fabric) Link(name string) (flow.Link, bool) {
	if f.byName == nil {
		f.byName = make(map[string]flow.Link, len(f.links))
		for i := range f.links {
			id := f.first + flow.Link(i)
			f.byName[f.net.Name(id)] = id
		}
	}
	l, ok := f.byName[name]
	return l, ok
}

// Capacity is a link's capacity when it works.
func (f *Fabric) Capacity(l flow.Link) float64 { return f.state(l).rate }

// SetCapacity changes the capacity of one direction of a cable from now on. On a failed link it takes effect when that is restored.
// At 0 flows stall, but unlike with a failure new paths still use the link.
func (f *Fabric) SetCapacity(l flow.Link, bytesPerSecond float64) {
	s := f.state(l)
	s.rate = bytesPerSecond
	if s.cuts == 0 {
		f.net.SetCapacity(l, bytesPerSecond)
	}
}

// whole reports that neither of two links is failed.
func (f *Fabric) whole(a, b flow.Link) bool { return f.state(a).cuts == 0 && f.state(b).cuts == 0 }

// cut adds a reason for a link's failure.
func (f *Fabric) cut(l flow.Link) {
	s := f.state(l)
	if s.cuts++; s.cuts == 1 {
		f.failed++
		f.net.SetCapacity(l, 0)
	}
}

// mend removes a reason; with the last one the link's capacity is restored.
func (f *Fabric) mend(l flow.Link) {
	s := f.state(l)
	if s.cuts--; s.cuts == 0 {
		f.failed--
		f.net.SetCapacity(l, s.rate)
	}
}

// Uses returns the use of each link so far, in the order of Links.
func (f *Fabric) Uses() []flow.Use {
	uses := make([]flow.Use, 0, len(f.links))
	for _, l := range f.Links() {
		u := flow.Use{Name: l.Name, Bytes: f.net.Carried(l.ID), Crossings: f.net.Crossings(l.ID)}
		if all := l.Capacity * f.net.Now(); all > 0 {
			u.Utilisation = u.Bytes / all
		}
		uses = append(uses, u)
	}
	return uses
}
