package yarn

import (
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// places resolves a workload's host names to nodes and racks: "node", "rack/node" or "/rack/node".
//
// The two are looked up separately, as a ResourceManager does: a host that the cluster has in another rack than the workload
// says is still that host, but no request is ever local to it. Unknown names are places too, with numbers beyond the
// cluster's: a scheduler counts them.
type places struct {
	nodes, racks map[string]int32
	rackOf       []int32
	every        []hostPlace // by node; made when needed
}

// hostPlace is where a host is: its node and its rack.
type hostPlace struct{ node, rack rm.Place }

func newPlaces(c *cluster.Cluster) places {
	p := places{nodes: make(map[string]int32, len(c.Nodes)), racks: make(map[string]int32, len(c.Racks)), rackOf: make([]int32, len(c.Nodes))}
	for i, r := range c.Racks {
		p.racks[strings.Trim(r, "/")] = int32(i)
	}
	for i := range c.Nodes {
		p.nodes[c.Nodes[i].Name] = int32(i)
		p.rackOf[i] = int32(c.Nodes[i].Rack)
	}
	return p
}

// hosts looks up the names of a stage's hosts.
func (p *places) hosts(h *workload.Hosts) []hostPlace {
	out := make([]hostPlace, len(h.Names))
	for i, name := range h.Names {
		out[i] = p.find(name)
	}
	return out
}

// all lists the cluster's nodes.
func (p *places) all() []hostPlace {
	if p.every == nil {
		for i, r := range p.rackOf {
			p.every = append(p.every, hostPlace{rm.OnNode(int32(i)), rm.OnRack(r)})
		}
	}
	return p.every
}

func (p *places) find(name string) hostPlace {
	name = strings.Trim(name, "/")
	rack, host := "", name
	if i, ok := p.nodes[name]; ok && int(i) < len(p.rackOf) { // an unknown host has a number, but no rack
		return hostPlace{rm.OnNode(i), rm.OnRack(p.rackOf[i])}
	}
	if at := strings.LastIndexByte(name, '/'); at >= 0 {
		rack, host = name[:at], name[at+1:]
	}
	return hostPlace{rm.OnNode(number(p.nodes, host)), rm.OnRack(number(p.racks, rack))}
}

// number returns the number of a name; a new name gets the next one.
func number(numbers map[string]int32, name string) int32 {
	i, ok := numbers[name]
	if !ok {
		i = int32(len(numbers))
		numbers[name] = i
	}
	return i
}

// row returns the hosts of one task's input, by index in hosts. It is valid until the next call.
func (s *stage) row(num int64) []int32 {
	if s.files != nil {
		s.buf = s.files.Place(s.file, num, s.buf)
		return s.buf
	}
	if s.hosts == nil || num >= int64(len(s.src.Hosts.Of)) {
		return nil
	}
	return s.src.Hosts.Of[num]
}

// holders lists the cluster's nodes that hold a task's input, each once. It overwrites buf.
func (e *engine) holders(s *stage, num int64, buf []int32) []int32 {
	buf = buf[:0]
	for _, h := range s.row(num) {
		if n, _ := s.hosts[h].node.Node(); int(n) < len(e.nodes) && !slices.Contains(buf, n) {
			buf = append(buf, n)
		}
	}
	return buf
}

// wishes counts tasks' requests by place, in order of first appearance. The size at a place is that of the first task
// there.
type wishes struct {
	asks  []rm.Ask
	index map[rm.Place]int
}

func (w *wishes) reset() {
	w.asks = append(w.asks[:0], rm.Ask{Place: rm.Anywhere})
	clear(w.index)
}

// add counts one task.
func (w *wishes) add(s *stage, num int64) {
	size := s.src.Ask
	w.one(&w.asks[0], size, 1)
	row := s.row(num)
	for k, h := range row {
		w.place(s.hosts[h].node, size)
		if !earlierRack(s, row[:k], s.hosts[h].rack) {
			w.place(s.hosts[h].rack, size)
		}
	}
}

// addAll counts n tasks without a preference.
func (w *wishes) addAll(size unit.Resources, n int64) { w.one(&w.asks[0], size, n) }

func (w *wishes) place(p rm.Place, size unit.Resources) {
	i, ok := w.index[p]
	if !ok {
		if w.index == nil {
			w.index = map[rm.Place]int{}
		}
		i = len(w.asks)
		w.index[p] = i
		w.asks = append(w.asks, rm.Ask{Place: p})
	}
	w.one(&w.asks[i], size, 1)
}

func (*wishes) one(a *rm.Ask, size unit.Resources, n int64) {
	if a.Count == 0 {
		a.Size = size
	}
	a.Count += n
}

// send returns the requests at a priority: places first, the total last.
func (w *wishes) send(priority int32) []rm.Ask {
	for i := range w.asks {
		w.asks[i].Priority = priority
	}
	return append(w.asks[1:], w.asks[0])
}

// earlierRack reports whether one of the hosts in row is in a rack.
func earlierRack(s *stage, row []int32, rack rm.Place) bool {
	for _, h := range row {
		if s.hosts[h].rack == rack {
			return true
		}
	}
	return false
}
