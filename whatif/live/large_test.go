package live

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// edited is a manager whose list of applications is changed.
func (m *manager) edited(t *testing.T, change func(apps []map[string]any) []map[string]any) *rest.Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/apps") {
			m.ServeHTTP(w, r)
			return
		}
		rec := httptest.NewRecorder()
		m.ServeHTTP(rec, r)
		var list struct {
			Apps struct {
				App []map[string]any `json:"app"`
			} `json:"apps"`
		}
		if err := json.Unmarshal(rec.Body.Bytes(), &list); err != nil {
			t.Error(err)
		}
		list.Apps.App = change(list.Apps.App)
		text, _ := json.Marshal(list)
		_, _ = w.Write(text)
	}))
	t.Cleanup(s.Close)
	c, err := rest.New(rest.Options{RM: []string{s.URL}, RMRate: -1, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdle)
	return c
}

// allocated is how much memory f takes, freed or not.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// A user who asks for more containers than the cluster can run in a year neither delays the answers about others nor makes them
// wrong: they are those of a user who asks for as much as is simulated, until that has run. What is not foreseen is said.
func TestHugeRequests(t *testing.T) {
	const eve = "application_1_00000"
	read := func(counts ...int64) *View {
		m := &manager{nodes: 4, running: 3, waiting: 5}
		v, err := Read(t.Context(), m.edited(t, func(apps []map[string]any) []map[string]any {
			var requests []any
			for i, n := range counts {
				requests = append(requests, map[string]any{"resourceName": "*", "capability": map[string]any{"memory": 1024, "vCores": 1}, "numContainers": n, "priority": 20 + i})
			}
			apps[0]["resourceRequests"], apps[0]["user"] = requests, "eve"
			return apps
		}), nil)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, counts := range [][]int64{{1e6, 1e6, 1e6}, {5e9}, {math.MaxInt64, math.MaxInt64}} {
		v := read(counts...)
		var kept, asked int64
		for _, ask := range v.Find(eve).Asks {
			kept += ask.Count
		}
		for _, n := range counts {
			asked += min(n, maxAsk)
		}
		if capped := v.Find(eve).Capped; kept > askedByOne+2 || kept < askedByOne || kept+capped != asked {
			t.Errorf("of %d, %d are simulated and %d are not", counts, kept, capped)
		}
		if !slices.ContainsFunc(v.Notes, func(n string) bool {
			return strings.HasPrefix(n, eve+", of user eve, waits for ") && strings.HasSuffix(n, "what comes after them is not foreseen")
		}) {
			t.Errorf("it is not said: %q", v.Notes)
		}
		waits := v.Apps[len(v.Apps)-1].ID
		list, err := Predict(t.Context(), v, nil, Options{Seed: 1, Draws: 9, Only: func(a *App) bool { return a.ID == waits }})
		if err != nil || len(list) != 1 || list[0].Start.Median <= v.Now {
			t.Errorf("%v %+v", err, list)
		}
	}
}

// What comes after the simulated part of an application is not foreseen, rather than foretold too early; what comes before is as
// without the limit.
func TestCappedIsNotForetold(t *testing.T) {
	m := &manager{nodes: 4, running: 3, waiting: 5}
	v, err := Read(t.Context(), m.client(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	past := &History{guess: true} // all tasks take as long
	past.add(&workload.Job{Stages: []workload.Stage{{Kind: workload.Other, Tasks: 200, Ask: unit.Resources{Mem: 1024, Cores: 1}, Length: workload.Fixed(unit.Minute)}}})
	whole, err := Predict(t.Context(), v, past, Options{Seed: 1, Draws: 9})
	if err != nil {
		t.Fatal(err)
	}
	v.Apps[0].Capped = 1e6
	capped, err := Predict(t.Context(), v, past, Options{Seed: 1, Draws: 9})
	if err != nil {
		t.Fatal(err)
	}
	if capped[0].End.Low != unit.Never || whole[0].End.High == unit.Never {
		t.Errorf("an application of a million tasks ends at %v", capped[0].End)
	}
	before, after := 0, 0
	for i := range capped {
		switch got, want := capped[i].End, whole[i].End; {
		case want.High <= whole[0].End.Low:
			if before++; got != want {
				t.Errorf("%s ends in time at %v, not at %v", v.Apps[i].ID, want, got)
			}
		case want.Low > whole[0].End.High:
			if after++; got.Low != unit.Never {
				t.Errorf("%s, which ends later, ends at %v", v.Apps[i].ID, got)
			}
		}
	}
	if after == 0 {
		t.Errorf("%d end before it, and %d after it", before, after)
	}
}

// A ResourceManager that claims what its nodes cannot hold does not make us hold it.
func TestClaimsOfManyContainers(t *testing.T) {
	m := &manager{nodes: 4, running: 1, waiting: 1, old: true}
	c := m.edited(t, func(apps []map[string]any) []map[string]any {
		var list []map[string]any
		for i := range 3000 {
			a := map[string]any{}
			for k, x := range apps[0] {
				a[k] = x
			}
			a["id"], a["resourceRequests"], a["diagnostics"] = fmt.Sprintf("application_1_%05d", i), nil, ""
			a["runningContainers"], a["allocatedMB"], a["allocatedVCores"], a["memorySeconds"] = int64(math.MaxInt64), int64(math.MaxInt64), 1, int64(math.MaxInt64)
			list = append(list, a)
		}
		return list
	})
	var v *View
	var study *study
	used := allocated(func() {
		var err error
		if v, err = Read(t.Context(), c, nil); err != nil {
			t.Fatal(err)
		}
		study = newStudy(v, Guess(v), Options{Draws: 1, Seed: 1, Workers: 64}, maxCalls)
	})
	if study.o.Workers > 1 {
		t.Errorf("%d simulations at once, each of almost %d tasks", study.o.Workers, maxTasks)
	}
	held := 0
	for i := range v.Apps {
		held += len(v.Apps[i].Held)
	}
	if total := v.Cluster.Total().Mem; int64(held) > total+3000 || !slices.ContainsFunc(v.Notes, func(n string) bool { return strings.Contains(n, "more than its nodes can hold: they are ignored") }) {
		t.Errorf("%d containers on nodes of %d MiB, and it says %q", held, total, v.Notes)
	}
	if most := int64(1 << 30); used > most {
		t.Errorf("%d MB allocated", used>>20)
	}
}

func TestShare(t *testing.T) {
	for _, c := range []struct {
		amounts []int64
		total   int64
		want    int64
	}{
		{[]int64{1, 2, 3}, 6, math.MaxInt64}, {[]int64{1, 2, 3}, 5, 2}, {[]int64{10, 1, 10}, 11, 5}, {[]int64{math.MaxInt64 / 2, math.MaxInt64 / 2, math.MaxInt64 / 2, 7}, 100, 31}, {nil, 3, math.MaxInt64},
	} {
		if got := share(c.amounts, c.total); got != c.want {
			t.Errorf("%v of %d: %d, want %d", c.amounts, c.total, got, c.want)
		}
	}
}

// Those who wait for the most give up the rest; all others keep what they wait for.
func TestRation(t *testing.T) {
	v := &View{Cluster: &cluster.Cluster{}, Apps: []App{{Asks: []rm.Ask{{Count: 9000}, {Count: 5000}, {Count: 7}}, Local: []rm.Ask{{Count: 60_000}}}, {Asks: []rm.Ask{{Count: 3}}}}}
	v.ration()
	if a := v.Apps[0]; a.Asks[0].Count != 9000 || a.Asks[1].Count != 1000 || a.Asks[2].Count != 1 || a.Capped != 4006 || a.Local[0].Count != 10_000 || v.Apps[1].Asks[0].Count != 3 || len(v.Notes) != 1 {
		t.Errorf("one waits for too much: %+v", v.Apps)
	}
	v = &View{Cluster: &cluster.Cluster{}}
	for i := range 100 {
		v.Apps = append(v.Apps, App{Asks: []rm.Ask{{Count: int64(1 + i%2*5000)}}})
	}
	if v.ration(); v.Apps[0].Asks[0].Count != 1 || v.Apps[1].Asks[0].Count != (askedByAll-50)/50 || v.Apps[1].Capped != 5001-(askedByAll-50)/50 {
		t.Errorf("all wait for too much: %+v", v.Apps[:2])
	}
}
