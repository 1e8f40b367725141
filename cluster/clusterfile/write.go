package clusterfile

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/unit"
)

// Write writes the racks, kinds, rooms and names of nodes, below a comment: alike nodes in a group.
func Write(w io.Writer, comment string, c *cluster.Cluster) error {
	type like struct {
		rack, kind string
		room       unit.Resources
	}
	groups := map[like][]string{}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		k := like{c.Racks[n.Rack], n.Kind, n.Room}
		groups[k] = append(groups[k], n.Name)
	}
	keys := slices.SortedFunc(maps.Keys(groups), func(a, b like) int {
		return cmp.Or(strings.Compare(a.rack, b.rack), cmp.Compare(a.room.Mem, b.room.Mem), cmp.Compare(a.room.Cores, b.room.Cores), strings.Compare(a.kind, b.kind),
			strings.Compare(a.room.String(), b.room.String()))
	})
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# %s\ngroups:\n", comment)
	for _, k := range keys {
		slices.Sort(groups[k])
		fmt.Fprintf(out, "  - racks: [%s]\n    memory: %d\n    cores: %d\n", strconv.Quote(k.rack), k.room.Mem, k.room.Cores)
		if k.kind != "" {
			fmt.Fprintf(out, "    kind: %s\n", strconv.Quote(k.kind))
		}
		if k.room.Extra != (unit.Extra{}) {
			var list []string
			for name, n := range k.room.Extra.All() {
				list = append(list, fmt.Sprintf("%s: %d", name, n))
			}
			fmt.Fprintf(out, "    resources: {%s}\n", strings.Join(list, ", "))
		}
		fmt.Fprintf(out, "    names:\n")
		for _, n := range groups[k] {
			fmt.Fprintf(out, "      - %s\n", strconv.Quote(n))
		}
	}
	return out.Flush()
}
