package flow

// link is what settling rates needs of a link: one line of the cache, for most of the time goes into touching these.
//
// Of the classes that cross it, a link holds some back and the others pass it, held back elsewhere. Between two events
//
//	level  is the rate over weight of every class it holds back, and no class that passes has a higher one;
//	weight is the sum of the former's weights, passing the sum of the latter's rates.
type link struct {
	capacity float64
	level    float64 // +Inf: it holds nobody back
	weight   float64
	passing  float64
	top      float64 // no class that passes has a higher level than this
	seen     float64 // the instant up to which carried goes
	carried  float64 // bytes
	held     int32   // how many classes it holds back: the first of port.on
	queued   bool
	over     bool // its load was at the threshold when last looked at
}

// port is the rest of a link.
type port struct {
	name string
	on   []entry // the classes that cross it; those it holds back come first

	clock float64 // integral of the level, up to since
	since float64
	heap  []int32 // classes it holds back, by due
	due   int32   // its place in Network.due; -1: none
	stale bool    // due must be worked out anew
	age   int32   // how often its sums were changed rather than made anew

	offered   float64 // bytes it could have carried up to resized
	resized   float64
	marks     [2]mark // sums at the last two ends of a window
	marked    float64 // number of the window that starts at the second mark
	crossings int64
}

// entry is a class on a link, and which of the class's hops that is.
type entry struct {
	class int32
	hop   int32
}

// load is what goes over a link at present.
func (k *link) load() float64 {
	if k.held == 0 {
		return k.passing
	}
	return k.passing + k.weight*k.level
}

// swap changes the places of two entries.
func (n *Network) swap(p *port, i, j int32) {
	if i == j {
		return
	}
	a, b := p.on[i], p.on[j]
	p.on[i], p.on[j] = b, a
	n.pos[b.hop], n.pos[a.hop] = i, j
}

// hold puts the entry at pos among those the link holds back.
func (n *Network) hold(l, pos int32) {
	k := &n.links[l]
	n.swap(&n.ports[l], pos, k.held)
	k.held++
}

// pass puts the entry at pos among those that pass.
func (n *Network) pass(l, pos int32) {
	k := &n.links[l]
	k.held--
	n.swap(&n.ports[l], pos, k.held)
}
