package delay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
)

// The script is a list of scheduling opportunities: NAME near, where near is node, rack, off or any. Each is printed with what the job does.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var d *Delay
		jobs := map[string]*policy.Job{}
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			if td.Cmd == "delay" {
				var node, rack int
				td.ScanArgs(t, "node", &node)
				td.ScanArgs(t, "rack", &rack)
				var err error
				if d, err = New(node, rack); err != nil {
					return err.Error() + "\n"
				}
				return "made\n"
			}
			var out strings.Builder
			for _, w := range strings.Fields(td.Input) {
				name, where, _ := strings.Cut(w, ":")
				j := jobs[name]
				if j == nil {
					j = &policy.Job{ID: name, Index: int32(len(jobs))}
					jobs[name] = j
				}
				if where == "leaves" {
					d.Left(0, j)
					continue
				}
				near := map[string]policy.Near{"node": policy.NodeLocal, "rack": policy.RackLocal, "off": policy.OffRack, "any": policy.NoPreference}[where]
				switch fit := d.Score(0, j, 0, nil, near); {
				case fit == policy.Wait:
					d.Skipped(0, j, 0)
					fmt.Fprintf(&out, "%s waits\n", w)
				case fit < 0:
					fmt.Fprintf(&out, "%s refuses\n", w)
				default:
					d.Placed(j, 0, nil, near)
					fmt.Fprintf(&out, "%s starts (%d)\n", w, near)
				}
			}
			return out.String()
		})
	})
}

// In any sequence of opportunities, a job skips at most node + rack in a row, and never a node-local one.
func TestBoundedWait(t *testing.T) {
	for _, c := range []struct{ node, rack int }{{0, 0}, {0, 3}, {3, 0}, {4, 7}} {
		d, err := New(c.node, c.rack)
		if err != nil {
			t.Fatal(err)
		}
		j := &policy.Job{}
		waits := 0
		for i := range 10_000 {
			near := policy.Near(1 + (i*i/7+i/3)%3)
			if d.Score(0, j, 0, nil, near) >= 0 {
				d.Placed(j, 0, nil, near)
				waits = 0
				continue
			}
			d.Skipped(0, j, 0)
			if waits++; near == policy.NodeLocal || waits > c.node+c.rack {
				t.Fatalf("%+v: %d chances let go, the last one %v", c, waits, near)
			}
		}
	}
}

// Timed waits: what a job accepts t seconds after its first skip, and when it wants to be asked again.
func TestTimed(t *testing.T) {
	d, err := Timed(3*unit.Second, 4*unit.Second)
	if err != nil {
		t.Fatal(err)
	}
	j := &policy.Job{}
	at := func(s unit.Time) unit.Time { return (100 + s) * unit.Second }
	check := func(s unit.Time, rack, off bool, again unit.Time) {
		t.Helper()
		got := [3]bool{}
		for i, near := range []policy.Near{policy.NodeLocal, policy.RackLocal, policy.OffRack} {
			got[i] = d.Score(at(s), j, 0, nil, near) >= 0
		}
		if want := [3]bool{true, rack, off}; got != want {
			t.Errorf("after %d s: takes %v, want %v", s, got, want)
		}
		if got := d.Skipped(at(s), j, 0); !off && got != at(again) {
			t.Errorf("after %d s: asked again at %v, want %v", s, got, at(again))
		}
	}
	check(0, false, false, 3)
	check(2, false, false, 3)
	check(3, true, false, 7)
	check(7, true, true, 0)
	d.Placed(j, 0, nil, policy.RackLocal)
	check(8, true, false, 12)
	check(12, true, true, 0)
	d.Placed(j, 0, nil, policy.NodeLocal)
	check(13, false, false, 16)
	d.Left(0, j)
	check(20, false, false, 23)
	if n, r := d.Score(at(30), j, 0, nil, policy.NodeLocal), d.Score(at(30), j, 0, nil, policy.RackLocal); n <= r {
		t.Errorf("a node scores %d, a rack %d", n, r)
	}
}

func TestParams(t *testing.T) {
	for _, p := range []policy.Params{{"node": "-1"}, {"rack": "x"}, {"node": "9999999999"}, {"by": "x"}, {"node": "3s", "rack": "40"}, {"node": "-3s"}, {"rack": "800d"}} {
		if _, err := Entry.New(p); err == nil {
			t.Errorf("%v is taken", p)
		}
	}
	for _, p := range []policy.Params{{"node": "3s"}, {"rack": "3s"}, {"node": "3s", "rack": "3s"}} {
		if got, err := Entry.New(p); err != nil || fmt.Sprintf("%+v", got.Place) != fmt.Sprintf("%+v", &Delay{node: 3 * unit.Second, rack: 3 * unit.Second, timed: true}) {
			t.Errorf("%v: %+v, %v", p, got.Place, err)
		}
	}
	if p, err := Entry.New(policy.Params{"by": "user", "node": "2"}); err != nil || p.Place == nil || p.Order == nil {
		t.Errorf("%v, %v", p, err)
	}
}

func BenchmarkScore(b *testing.B) {
	d, _ := New(40, 40)
	j := &policy.Job{Index: 7}
	b.ReportAllocs()
	for b.Loop() {
		if d.Score(0, j, 0, nil, policy.OffRack) >= 0 {
			d.Placed(j, 0, nil, policy.NodeLocal)
		} else {
			d.Skipped(0, j, 0)
		}
	}
}

// Both waits are from 0 to a limit, of time or of opportunities.
func TestLimitsOfWaits(t *testing.T) {
	for _, c := range []struct {
		node, rack unit.Time
		ok         bool
	}{{0, 0, true}, {365, 365, true}, {365, 0, true}, {366, 0, false}, {0, 366, false}, {-1, 0, false}, {0, -1, false}} {
		if _, err := Timed(c.node*unit.Day, c.rack*unit.Day); (err == nil) != c.ok {
			t.Errorf("%d and %d days: %v", c.node, c.rack, err)
		}
	}
	for _, c := range []struct {
		node, rack int
		ok         bool
	}{{0, 0, true}, {1 << 29, 1 << 29, true}, {1<<29 + 1, 0, false}, {0, 1<<29 + 1, false}, {-1, 0, false}, {0, -1, false}} {
		if _, err := New(c.node, c.rack); (err == nil) != c.ok {
			t.Errorf("%d and %d opportunities: %v", c.node, c.rack, err)
		}
	}
}
