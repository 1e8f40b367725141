package live

import (
	"sort"
	"testing"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
)

// record is an empty record of a size: what the simulator needs to run its workload.
func (s Size) record() *Record {
	r := &Record{Workload: s.made(), Queues: amsQueues(), Site: hadoop.Properties("", site(s.NodeGB<<10, 512))}
	for i := range s.Nodes {
		r.Nodes = append(r.Nodes, NodeRecord{Name: string(rune('a' + i)), Port: int32(i + 1), Rack: "/r", MB: s.NodeGB << 10})
	}
	return r
}

func TestSizes(t *testing.T) {
	for name, s := range map[string]Size{"full": Full, "mini": Mini} {
		t.Run(name, func(t *testing.T) {
			r := s.record()
			n := 0
			for _, a := range r.Workload {
				for _, g := range a.Containers {
					n += g.Count
				}
			}
			if len(r.Workload) != s.Apps || n != s.Containers {
				t.Fatalf("%d applications with %d containers", len(r.Workload), n)
			}
			o, err := simulate(t.Context(), r, nothing)
			if err != nil {
				t.Fatal(err)
			}
			var times, firsts []float64
			last := int64(0)
			for id := range o.Submit {
				if o.End[id] < 0 {
					t.Fatalf("%s did not end", id)
				}
				times = append(times, float64(o.End[id]-o.Submit[id])/1000)
				firsts = append(firsts, float64(o.Start[id]-o.Submit[id])/1000)
				last = max(last, o.End[id])
			}
			sort.Float64s(times)
			t.Logf("ends after %.0f s; times: median %.1f s, p95 %.1f s; first container: median %.1f s, p95 %.1f s", float64(last)/1000,
				result.Quantile(times, 0.5), result.Quantile(times, 0.95), result.Quantile(firsts, 0.5), result.Quantile(firsts, 0.95))
		})
	}
}
