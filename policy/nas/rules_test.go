package nas

import (
	"testing"

	"github.com/yardmaster/yardmaster/policy"
)

// In each class, below its quota of the rack the largest job's reduce comes first, else the smallest one's; the first of equal
// ones.
func TestReducesOfAClassBySize(t *testing.T) {
	for name, p := range map[string]policy.Params{
		"light": {"light": "2GB", "heavy": "3GB"}, "medium": {"light": "1MB", "heavy": "2GB"},
		"heavy": {"light": "1MB", "heavy": "2MB"},
	} {
		p["tmin"], p["tmax"], p["cap"], p["parts"] = "0", "0", "1", "mts+ca"
		for _, x := range []struct {
			node int
			out  [3]int64
			want string
		}{
			{1, [3]int64{200, 300, 100}, "b/1"}, // in the rack of all output
			{1, [3]int64{200, 200, 100}, "a/1"},
			{4, [3]int64{200, 100, 300}, "b/1"}, // in a rack without any
			{4, [3]int64{200, 200, 300}, "a/1"},
		} {
			w := newWorld(t, p)
			for i, id := range []string{"a", "b", "c"} {
				w.job(id, "u", 2, 9, 100, x.out[i])
				w.learn(id, 2, 0)
			}
			if got := w.offer(x.node); got != x.want {
				t.Errorf("%s, node %d, outputs %v: %s, want %s", name, x.node, x.out, got, x.want)
			}
		}
	}
}

// Forced maps: a small input comes before a large one, predicted or not, and unpredicted before predicted, whatever they cost to
// read. An input of just the bound is large.
func TestForcedMapsByGroup(t *testing.T) {
	type maps struct {
		n, in, out int64 // maps, MB read by each, MB written
		predicted  bool
	}
	for _, x := range []struct {
		name          string
		first, second maps
	}{
		{"a small predicted input before a large one", maps{3, 3, 1, true}, maps{20, 1, 1, false}},
		{"just below the bound", maps{3, 3, 1, false}, maps{10, 1, 1, false}},
		{"small: unpredicted first", maps{3, 3, 1, false}, maps{9, 1, 1, true}},
		{"large: unpredicted first", maps{10, 3, 1, false}, maps{10, 1, 1, true}},
		{"the cheaper one", maps{20, 1, 1, true}, maps{20, 2, 2, true}},
		{"the closer fit", maps{20, 2, 3, true}, maps{20, 2, 2, true}},
	} {
		for _, turned := range []bool{false, true} {
			w := newWorld(t, policy.Params{"threshold": "400MB", "skip": "0", "tmin": "1", "tmax": "1"})
			jobs := map[string]maps{"first": x.first, "second": x.second}
			ids := []string{"first", "second"}
			if turned {
				ids = []string{"second", "first"}
			}
			for _, id := range ids {
				m := jobs[id]
				w.job(id, "u", m.n, 1, m.in, m.out)
				if m.predicted {
					w.learn(id, 1, 7)
				}
			}
			if got := w.offer(0); got != "first/0" {
				t.Errorf("%s: %s starts", x.name, got)
			}
		}
	}
	w := newWorld(t, policy.Params{"threshold": "400MB", "skip": "0", "tmin": "1", "tmax": "1"})
	for _, id := range []string{"a", "b", "c"} {
		w.job(id, "u", 20, 1, 2, 2)
	}
	w.want(0, "a/0") // the first of equal ones
}

// A map that starts in the rack of its input does not end its user's wait, nor does one that starts elsewhere; a local one does.
// What a reduce reads does not matter.
func TestWaitGoesOnAfterARemoteMap(t *testing.T) {
	for near, again := range map[policy.Near]string{policy.RackLocal: "a/0", policy.OffRack: "a/0", policy.NodeLocal: "-"} {
		w := newWorld(t, policy.Params{"skip": "1", "threshold": "none", "tmin": "1", "tmax": "1"})
		j := w.job("a", "u", 20, 1, 100, 100)
		w.near["a/2"] = near
		w.want(0, "-")
		w.want(2, "a/0")
		w.p.Place.Placed(j, 1, &w.nodes[2], policy.OffRack)
		w.want(0, again)
	}
}
