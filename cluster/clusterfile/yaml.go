package clusterfile

import (
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/internal/yamlfile"
	"github.com/yardmaster/yardmaster/unit"
)

// builder builds a cluster from a YAML file.
type builder struct {
	c     *cluster.Cluster
	racks cluster.RackIndex
	names map[string]*yamlfile.Node // where each node's name came from
	kind  roomKind

	network *section
}

// roomKind is how capacity is counted; the first node decides for the file.
type roomKind uint8

const (
	undecided roomKind = iota
	byResources
	bySlots
)

// room is the capacity of a node, or of each node of a group.
type room struct {
	mem, cores, maps, reduces int64
	nic, cost                 float64
	storage                   unit.Bytes
	speed                     *cluster.Speed
	extra                     unit.Extra
}

func (r *room) keys(k yamlfile.Keys) yamlfile.Keys {
	k["memory"] = yamlfile.Mem(&r.mem)
	k["cores"] = yamlfile.Int(&r.cores, 0, cluster.MaxRoom)
	k["resources"] = r.named
	k["map-slots"] = yamlfile.Int(&r.maps, 0, 1<<20)
	k["reduce-slots"] = yamlfile.Int(&r.reduces, 0, 1<<20)
	k["nic"] = parseInto(&r.nic, cluster.ParseRate)
	k["cost"] = number(&r.cost)
	k["storage"] = parseInto(&r.storage, unit.ParseBytes)
	k["speed"] = readSpeed(&r.speed)
	return k
}

// named reads a mapping of names to counts.
func (r *room) named(v *yamlfile.Node) error {
	if v.Shape != yamlfile.Mapping {
		return v.Errorf("should be a mapping of names to numbers, as in {gpu: 8}, not %s", v.Shape)
	}
	for _, f := range v.Fields {
		var n int64
		err := yamlfile.Int(&n, 0, unit.MaxCount)(f.Value)
		if err != nil {
			return err
		}
		if r.extra, err = r.extra.With(f.Key, n); err != nil {
			return f.Value.Errorf("%v", err)
		}
	}
	return nil
}

var (
	fileKeys  = []string{"groups", "nodes", "network"}
	groupKeys = []string{"count", "names", "name", "racks", "kind", "memory", "cores", "resources", "map-slots", "reduce-slots", "nic", "cost", "storage", "speed"}
	nodeKeys  = []string{"name", "rack", "kind", "memory", "cores", "resources", "map-slots", "reduce-slots", "nic", "cost", "storage", "speed"}
)

func parseYAML(root *yamlfile.Node) (*cluster.Cluster, error) {
	b := &builder{c: &cluster.Cluster{}, racks: cluster.RackIndex{}, names: map[string]*yamlfile.Node{}}
	err := root.Read("a cluster file", fileKeys, yamlfile.Keys{
		"groups":  each(b.group),
		"nodes":   each(b.node),
		"network": b.readNetwork,
	})
	if err != nil {
		return nil, err
	}
	if len(b.c.Nodes) == 0 {
		return nil, root.Errorf("describes no nodes; write groups: or nodes: (see docs/clusters.md)")
	}
	if err := b.c.Validate(); err != nil {
		return nil, b.locate(root, err)
	}
	return b.c, nil
}

// each calls read for each item of a list.
func each(read func(*yamlfile.Node) error) func(*yamlfile.Node) error {
	return func(n *yamlfile.Node) error {
		if n.Shape != yamlfile.List {
			return n.Errorf("should be a list, each item starting with \"- \", not %s", n.Shape)
		}
		for _, item := range n.Items {
			if err := read(item); err != nil {
				return err
			}
		}
		return nil
	}
}

func (b *builder) group(n *yamlfile.Node) error {
	var r room
	var count int64
	var names []string
	var kind, pattern string
	var racks []int
	err := n.Read("a group", groupKeys, r.keys(yamlfile.Keys{
		"count": yamlfile.Int(&count, 1, cluster.MaxNodes),
		"names": yamlfile.Strs(&names),
		"name":  yamlfile.Str(&pattern),
		"kind":  yamlfile.Str(&kind),
		"racks": func(v *yamlfile.Node) (err error) { racks, err = b.groupRacks(v); return err },
	}))
	if err != nil {
		return err
	}
	switch {
	case len(names) > 0 && (count > 0 || pattern != ""):
		return n.Errorf("a group has either names, or a count and perhaps a name with {} in it")
	case len(names) == 0 && count == 0:
		return n.Errorf("a group needs a count of nodes, or their names")
	case pattern != "" && count > 1 && !strings.Contains(pattern, "{}"):
		return n.Errorf("name %q would be given to %d nodes; put {} where the number goes, as in %q", pattern, count, pattern+"{}")
	case len(b.c.Nodes)+max(int(count), len(names)) > cluster.MaxNodes:
		return n.Errorf("more than %d nodes", cluster.MaxNodes)
	}
	if len(names) == 0 {
		if names, err = b.number(n, pattern, kind, int(count)); err != nil {
			return err
		}
	}
	if racks == nil {
		racks = []int{b.rack("rack1")}
	}
	if len(racks) > len(names) {
		return n.Errorf("spreads %d nodes over %d racks", len(names), len(racks))
	}
	for i, name := range names {
		if err := b.add(n, name, racks[i*len(racks)/len(names)], kind, r); err != nil {
			return err
		}
	}
	return nil
}

// number makes the names of a group's nodes.
func (b *builder) number(n *yamlfile.Node, pattern, kind string, count int) ([]string, error) {
	names := make([]string, count)
	first := 1
	if pattern == "" {
		if pattern = "node{}"; kind != "" {
			pattern = kind + "{}"
		}
		// Groups without a name continue the numbering.
		for b.names[strings.ReplaceAll(pattern, "{}", strconv.Itoa(first))] != nil {
			first++
		}
	}
	if len(pattern) > 255 {
		return nil, n.Errorf("name is longer than 255 letters")
	}
	for i := range names {
		names[i] = strings.ReplaceAll(pattern, "{}", strconv.Itoa(first+i))
	}
	return names, nil
}

// groupRacks reads a number of racks, private to the group, or a list of names.
func (b *builder) groupRacks(n *yamlfile.Node) ([]int, error) {
	var out []int
	if n.Shape == yamlfile.List {
		values, err := n.Values()
		if err != nil {
			return nil, err
		}
		for _, v := range values {
			out = append(out, b.rack(v.Text))
		}
		if len(out) == 0 {
			return nil, n.Errorf("names no rack")
		}
		return out, nil
	}
	var k int64
	if err := yamlfile.Int(&k, 1, cluster.MaxNodes)(n); err != nil {
		return nil, err
	}
	for i := 1; len(out) < int(k); i++ {
		if name := "rack" + strconv.Itoa(i); !b.hasRack(name) {
			out = append(out, b.rack(name))
		}
	}
	return out, nil
}

func (b *builder) node(n *yamlfile.Node) error {
	var r room
	var name, kind string
	rack := "rack1"
	err := n.Read("a node", nodeKeys, r.keys(yamlfile.Keys{
		"name": yamlfile.Str(&name), "rack": yamlfile.Str(&rack), "kind": yamlfile.Str(&kind),
	}))
	if err != nil {
		return err
	}
	if name == "" {
		return n.Errorf("a node needs a name")
	}
	return b.add(n, name, b.rack(rack), kind, r)
}

func (b *builder) hasRack(name string) bool {
	_, ok := b.racks[name]
	return ok
}

func (b *builder) rack(name string) int { return b.racks.Of(b.c, name) }

func (b *builder) add(source *yamlfile.Node, name string, rack int, kind string, r room) error {
	if first, twice := b.names[name]; twice {
		return source.Errorf("a second node is named %q; the first is at %s", name, first.Where())
	}
	b.names[name] = source
	if err := b.decide(source, r); err != nil {
		return err
	}
	b.c.Nodes = append(b.c.Nodes, cluster.Node{
		Name: name, Rack: rack, Kind: kind,
		Room: unit.Resources{Mem: r.mem, Cores: r.cores, Extra: r.extra}, MapSlots: r.maps, ReduceSlots: r.reduces, NIC: r.nic,
		Speed: r.speed, Cost: r.cost, Storage: r.storage,
	})
	return nil
}

// decide checks that capacity is given, and in the same way throughout the file.
func (b *builder) decide(source *yamlfile.Node, r room) error {
	resources, slots := r.mem > 0 || r.cores > 0, r.maps > 0 || r.reduces > 0
	want := byResources
	if slots {
		want = bySlots
	}
	switch {
	case resources && slots:
		return source.Errorf("give memory and cores, or map-slots and reduce-slots, not both")
	case slots && r.extra != unit.Extra{}:
		return source.Errorf("fixed slots have no named resources; give memory and cores")
	case !resources && !slots:
		return source.Errorf("has no room; give memory and cores, or map-slots and reduce-slots")
	case resources && (r.mem == 0 || r.cores == 0):
		return source.Errorf("needs both memory and cores")
	case r.mem > cluster.MaxRoom:
		return source.Errorf("%d MiB is more memory than is taken for one node", r.mem)
	case b.kind != undecided && b.kind != want:
		return source.Errorf("counts room in %s, but the nodes before it in %s", want, b.kind)
	}
	b.kind, b.c.Slots = want, want == bySlots
	return nil
}

func (k roomKind) String() string {
	if k == bySlots {
		return "slots"
	}
	return "memory and cores"
}
