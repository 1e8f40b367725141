package delay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/yardmaster/yardmaster/policy"
)

// The script is a list of chances: NAME near, where near is node, rack, off or any. Each is printed with what the job does.
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

// However the chances fall, a job lets at most node + rack of them go in a row, and never a node-local one.
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

func TestParams(t *testing.T) {
	for _, p := range []policy.Params{{"node": "-1"}, {"rack": "x"}, {"node": "9999999999"}, {"by": "x"}} {
		if _, err := Entry.New(p); err == nil {
			t.Errorf("%v is taken", p)
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
