package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/unit"
)

// Topologies of a network.
const (
	Star      = "star"       // one non-blocking switch connects all nodes, whatever their racks
	Racks     = "racks"      // one switch per rack, each with one uplink to a non-blocking core
	TwoRacks  = "two-racks"  // two racks whose switches are connected by one link
	LeafSpine = "leaf-spine" // one leaf switch per rack, connected to every spine; equal-cost paths by hash
	FatTree   = "fat-tree"   // three levels of switches with k ports (Al-Fares, Loukissas, Vahdat, SIGCOMM 2008)
	DCell     = "dcell"      // servers relay between small switches (Guo et al., SIGCOMM 2008)
)

// Network describes the network of a cluster. Rates are bytes per second and apply to each direction separately.
// Zero means unset.
type Network struct {
	Topology string
	Node     float64 // between a node and its switch, where the node has no NIC rate of its own
	// Uplink is the rate of a rack's link to the core (racks), of the link between the racks (two-racks), of a leaf's link to
	// each spine (leaf-spine), of every link between switches (fat-tree) or between servers of different cells (dcell). The
	// last two default to Node.
	Uplink float64
	// Oversubscription, in place of Uplink, is the total rate of a rack's nodes over the total rate of its uplinks:
	// 5 is 5:1. With two-racks, the smaller rack counts.
	Oversubscription float64
	Spines           int       // leaf-spine
	K                int       // fat-tree: ports of a switch; even
	N                int       // dcell: servers on one switch
	Levels           int       // dcell: levels of cells above the switches
	Latency          unit.Time // of one link, one way
	// Circuit is the rate of each rack's port at an optical circuit switch, beside the racks' uplinks; 0: there is none. See Circuits.
	Circuit     float64
	Reconfigure unit.Time  // during which the circuit switch sends nothing, when its configuration changes
	Interval    unit.Time  // between its configurations
	Elephant    unit.Bytes // flows of more bytes go over circuits
	Matching    string     // directed or undirected
}

// Values of Network.Matching.
const (
	Directed   = "directed"   // a rack may send to one rack and receive from another
	Undirected = "undirected" // two racks are connected in both directions
)

// Circuits returns the settings of the circuit switch with their defaults: a configuration takes 10 ms, is chosen every second, and is worth it for
// flows that keep a circuit in use for 90 % of the time. ok is false if there is no such switch.
func (n *Network) Circuits() (c Network, ok bool) {
	if n == nil || n.Circuit == 0 {
		return c, false
	}
	c = *n
	c.Reconfigure = cmp.Or(c.Reconfigure, 10*unit.Millisecond)
	c.Interval = cmp.Or(c.Interval, max(unit.Second, 10*c.Reconfigure))
	c.Elephant = cmp.Or(c.Elephant, unit.Bytes(c.Circuit*9*c.Reconfigure.Seconds()))
	c.Matching = cmp.Or(c.Matching, Directed)
	return c, true
}

// Limits on a network.
const (
	MaxSpines = 4096
	MaxPorts  = 256
	MaxLevels = 4
	MaxLinks  = 1 << 24 // counting each direction
)

// NetworkError is an error in a network's setting Key (a key of Set), or in the network as a whole if Key is "".
type NetworkError struct{ Key, Reason string }

func (e *NetworkError) Error() string {
	if e.Key == "" {
		return "network: " + e.Reason
	}
	return "network: " + e.Key + ": " + e.Reason
}

func wrong(key, format string, args ...any) error {
	return &NetworkError{Key: key, Reason: fmt.Sprintf(format, args...)}
}

// setting is one key of a network: its parser, and its text if set.
type setting struct {
	key  string
	set  func(n *Network, text string) error
	text func(n *Network) string
}

var settings = []setting{
	rateSetting("node", func(n *Network) *float64 { return &n.Node }),
	rateSetting("uplink", func(n *Network) *float64 { return &n.Uplink }),
	{"oversubscription", setRatio, func(n *Network) string {
		if n.Oversubscription == 0 {
			return ""
		}
		return strconv.FormatFloat(n.Oversubscription, 'f', -1, 64)
	}},
	countSetting("spines", 1, MaxSpines, func(n *Network) *int { return &n.Spines }),
	countSetting("k", 2, MaxPorts, func(n *Network) *int { return &n.K }),
	countSetting("n", 2, maxCell, func(n *Network) *int { return &n.N }),
	countSetting("levels", 1, MaxLevels, func(n *Network) *int { return &n.Levels }),
	timeSetting("latency", 0, maxLatency, "the latency of a link: write 50us or 0.2ms", func(n *Network) *unit.Time { return &n.Latency }),
	rateSetting("circuit", func(n *Network) *float64 { return &n.Circuit }),
	timeSetting("reconfigure", 1, maxLatency, "the time of a reconfiguration: write 10ms", func(n *Network) *unit.Time { return &n.Reconfigure }),
	timeSetting("interval", 1, unit.Hour, "the interval of reconfigurations: write 1s", func(n *Network) *unit.Time { return &n.Interval }),
	{"elephant", func(n *Network, text string) (err error) {
		if n.Elephant, err = unit.ParseBytes(text); err == nil && n.Elephant == 0 {
			err = fmt.Errorf("%q: want more than 0 bytes", text)
		}
		return err
	}, func(n *Network) string {
		if n.Elephant == 0 {
			return ""
		}
		return strconv.FormatInt(int64(n.Elephant), 10) + "B"
	}},
	{"matching", func(n *Network, text string) error {
		if text != Directed && text != Undirected {
			return fmt.Errorf("%q: want %s or %s", text, Directed, Undirected)
		}
		n.Matching = text
		return nil
	}, func(n *Network) string { return n.Matching }},
}

func timeSetting(key string, lo, hi unit.Time, want string, field func(*Network) *unit.Time) setting {
	return setting{key,
		func(n *Network, text string) error {
			v, err := unit.ParseTime(text)
			if err != nil {
				return err
			}
			if v < lo || v > hi {
				return fmt.Errorf("%q is not %s", text, want)
			}
			*field(n) = v
			return nil
		},
		func(n *Network) string {
			switch v := *field(n); {
			case v == 0:
				return ""
			case v%unit.Millisecond == 0:
				return strconv.FormatInt(int64(v/unit.Millisecond), 10) + "ms"
			default:
				return strconv.FormatInt(int64(v), 10) + "us"
			}
		},
	}
}

func rateSetting(key string, field func(*Network) *float64) setting {
	return setting{key,
		func(n *Network, text string) (err error) {
			*field(n), err = ParseRate(text)
			return err
		},
		func(n *Network) string {
			if v := *field(n); v != 0 {
				return FormatRate(v)
			}
			return ""
		},
	}
}

func countSetting(key string, lo, hi int64, field func(*Network) *int) setting {
	return setting{key,
		func(n *Network, text string) error {
			v, err := strconv.ParseInt(text, 10, 64)
			switch {
			case err != nil:
				return fmt.Errorf("%q is not a whole number", text)
			case v < lo || v > hi:
				return fmt.Errorf("%d is not between %d and %d", v, lo, hi)
			}
			*field(n) = int(v)
			return nil
		},
		func(n *Network) string {
			if v := *field(n); v != 0 {
				return strconv.Itoa(v)
			}
			return ""
		},
	}
}

// setRatio parses 5:1 or 5.
func setRatio(n *Network, text string) error {
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, ":1"), 64)
	if err != nil || !(v >= minRatio && v <= maxRatio) || strings.ContainsAny(text, "xX_pP") {
		return fmt.Errorf("%q is not a ratio of rates in a rack to rates out of it: write 5:1 or 5", text)
	}
	n.Oversubscription = v
	return nil
}

const (
	maxCell            = 999 // the maximum for MaxNodes with one level above it
	minRatio, maxRatio = 0.001, 1e6
	maxLatency         = 10 * unit.Second
)

// shapes lists the settings of each topology, and which are required.
var shapes = []struct {
	topology     string
	takes, needs []string
}{
	{Star, []string{"node", "latency"}, nil},
	{Racks, []string{"node", "uplink", "oversubscription", "latency", "circuit", "reconfigure", "interval", "elephant", "matching"}, nil},
	{TwoRacks, []string{"node", "uplink", "oversubscription", "latency"}, nil},
	{LeafSpine, []string{"node", "uplink", "oversubscription", "spines", "latency"}, []string{"spines"}},
	{FatTree, []string{"k", "node", "uplink", "latency"}, []string{"k"}},
	{DCell, []string{"n", "levels", "node", "uplink", "latency"}, []string{"n", "levels"}},
}

// Topologies lists the valid values of Network.Topology.
func Topologies() []string {
	out := make([]string, len(shapes))
	for i := range shapes {
		out[i] = shapes[i].topology
	}
	return out
}

// Keys lists the settings of the network's topology.
func (n *Network) Keys() ([]string, error) {
	for i := range shapes {
		if shapes[i].topology == n.Topology {
			return shapes[i].takes, nil
		}
	}
	all := strings.Join(Topologies(), ", ")
	if n.Topology == "" {
		return nil, wrong("topology", "is not given; it is one of %s", all)
	}
	if c, near := suggest.Closest(n.Topology, Topologies()); near {
		return nil, wrong("topology", "there is no %q; did you mean %q?", n.Topology, c)
	}
	return nil, wrong("topology", "there is no %q; it is one of %s", n.Topology, all)
}

// Set sets one key, as in the network: section of a cluster file. The topology comes first, since it determines the
// others.
func (n *Network) Set(key, text string) error {
	if key == "topology" {
		n.Topology = text
		_, err := n.Keys()
		return err
	}
	keys, err := n.Keys()
	if err != nil {
		return err
	}
	if !slices.Contains(keys, key) {
		has := n.Topology + " has no setting " + strconv.Quote(key)
		if c, near := suggest.Closest(key, keys); near {
			return wrong(key, "%s; did you mean %q?", has, c)
		}
		return wrong(key, "%s; it has %s", has, strings.Join(keys, ", "))
	}
	if err := settingOf(key).set(n, strings.TrimSpace(text)); err != nil {
		return wrong(key, "%v", err)
	}
	return nil
}

// Validate reports the first error in the network itself. Cluster.Validate checks that it fits the cluster's nodes and
// racks.
func (n *Network) Validate() error {
	keys, err := n.Keys()
	if err != nil {
		return err
	}
	again := Network{Topology: n.Topology}
	for _, s := range settings {
		text := s.text(n)
		if text == "" {
			continue
		}
		if !slices.Contains(keys, s.key) {
			return wrong(s.key, "%s has no such setting; it has %s", n.Topology, strings.Join(keys, ", "))
		}
		if err := again.Set(s.key, text); err != nil { // the same limits, whichever way it was set
			return err
		}
	}
	for i := range shapes {
		if shapes[i].topology != n.Topology {
			continue
		}
		for _, key := range shapes[i].needs {
			if settingOf(key).text(&again) == "" {
				return wrong("", "%s needs %s: as in %s", n.Topology, key, examples[n.Topology])
			}
		}
	}
	switch n.Topology {
	case Racks, TwoRacks, LeafSpine:
		if n.Uplink != 0 && n.Oversubscription != 0 {
			return wrong("oversubscription", "uplink says the same: give one of the two")
		}
		if n.Uplink == 0 && n.Oversubscription == 0 {
			return wrong("", "%s needs uplink or oversubscription: as in %s", n.Topology, examples[n.Topology])
		}
		return n.validateCircuits()
	case FatTree:
		if n.K%2 != 0 {
			return wrong("k", "%d is odd: half of a switch's ports lead down and half up; write %d", n.K, n.K+1)
		}
		fallthrough
	case DCell:
		if n.Uplink == 0 && n.Node == 0 {
			return wrong("", "%s needs node or uplink: as in %s", n.Topology, examples[n.Topology])
		}
	}
	return nil
}

// validateCircuits reports settings of a circuit switch that has no rate, or no time to send anything.
func (n *Network) validateCircuits() error {
	c, ok := n.Circuits()
	switch {
	case ok && c.Interval <= c.Reconfigure:
		return wrong("interval", "%v is not longer than a reconfiguration, of %v: nothing would be sent", c.Interval, c.Reconfigure)
	case !ok && (n.Reconfigure != 0 || n.Interval != 0 || n.Elephant != 0 || n.Matching != ""):
		return wrong("circuit", "is missing: reconfigure, interval, elephant and matching are settings of a circuit switch; write circuit=100Gbit")
	}
	return nil
}

func settingOf(key string) *setting {
	return &settings[slices.IndexFunc(settings, func(s setting) bool { return s.key == key })]
}
