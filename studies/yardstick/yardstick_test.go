package yardstick

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/yardmaster/yardmaster/studies/evidence"
)

var records = filepath.Join("..", "..", "docs", "studies", "flow-network")

// Our network must still match SimGrid's stored results.
func TestKeptAnswersOfSimGrid(t *testing.T) {
	_, all, err := evidence.ReadSeries[[][]float64](records, answersSeries)
	if err != nil || len(all) == 0 {
		t.Fatalf("%d records, %v", len(all), err)
	}
	for _, answers := range all {
		sameAnswers(t, *answers)
	}
}

func sameAnswers(t *testing.T, answers [][]float64) {
	t.Helper()
	lists := keptLists()
	if len(answers) != len(lists) {
		t.Fatalf("%d answers are kept for %d lists: run go run ./studies flows", len(answers), len(lists))
	}
	for i, l := range lists {
		if len(answers[i]) != len(l.Flows) {
			t.Fatalf("%d answers are kept for the %d flows of %s: run go run ./studies flows", len(answers[i]), len(l.Flows), l.Name)
		}
		plays := map[string][]float64{"one by one": Ours(l).Ends}
		if l.Name == "bundles" {
			plays["bundled"] = Bundled(l).Ends
		}
		for name, ends := range plays {
			if d := Compare(l, answers[i], ends); d.End > 1e-9 || d.Missing > 0 {
				t.Errorf("%s, %s: %s", l.Name, name, d)
			}
		}
	}
}

// The page matches the records and today's flow network.
func TestPage(t *testing.T) {
	text, picture, err := page(records, "", "")
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{records + ".md": text, filepath.Join(records, pictureName): picture} {
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is stale: run go run ./studies flows --offline and look at what changed", file)
		}
	}
}

// The page calls SimGrid's default precision good enough for the bar, and says that maxmin/precision does not matter.
func TestPrecisionsAreAsThePageSays(t *testing.T) {
	_, all, err := evidence.ReadSeries[FlowRecord](records, flowsSeries)
	if err != nil || len(all) == 0 {
		t.Fatalf("%d records, %v", len(all), err)
	}
	for _, r := range all {
		for _, p := range r.Precise {
			if bad := p.Off.End > maxDifference; bad != (p.Setting == "--cfg=surf/precision:1e-6") {
				t.Errorf("%s: %s", p.Setting, p.Off)
			}
		}
	}
}

// The shuffles that ns-3 played are the study's current ones.
func TestPacketsAreOfTheseShuffles(t *testing.T) {
	_, all, err := evidence.ReadSeries[[]PacketRun](records, packetsSeries)
	if err != nil || len(all) == 0 {
		t.Fatalf("%d records, %v", len(all), err)
	}
	for _, runs := range all {
		sameShuffles(t, *runs)
	}
}

func sameShuffles(t *testing.T, runs []PacketRun) {
	t.Helper()
	now := map[string]Fetches{}
	for _, f := range Shuffles() {
		now[f.Name] = f
	}
	for _, r := range runs {
		f, ok := now[r.Name]
		if len(r.Flows) == 1 {
			continue
		}
		var was, is bytes.Buffer
		if err := errors.Join(r.write(&was, 0), f.write(&is, 0)); err != nil {
			t.Fatal(err)
		}
		if !ok || was.String() != is.String() {
			t.Errorf("%s is another shuffle now: run go run ./studies packets", r.Name)
		}
		delete(now, r.Name)
	}
	if len(now) > 0 {
		t.Errorf("shuffles without a run: %v", len(now))
	}
}

func TestReference(t *testing.T) {
	one, two := [][]int32{{0}}, [][]int32{{0}, {1}, {0, 1}}
	for name, c := range map[string]struct {
		list List
		want []float64
	}{
		"alone":       {List{Links: []float64{10}, Paths: one, Flows: []Flow{{0, 0, 100, 0}}}, []float64{10}},
		"two at once": {List{Links: []float64{10}, Paths: one, Flows: []Flow{{0, 0, 100, 0}, {0, 0, 50, 0}}}, []float64{15, 10}},
		"a cap":       {List{Links: []float64{10}, Paths: one, Flows: []Flow{{0, 0, 100, 0}, {0, 0, 20, 2}}}, []float64{12, 10}},
		"later":       {List{Links: []float64{10}, Paths: one, Flows: []Flow{{0, 0, 100, 0}, {5, 0, 100, 0}}}, []float64{15, 20}},
		"a change": {List{
			Links: []float64{10}, Paths: one, Changes: []Change{{At: 5, Link: 0, Capacity: 5}}, Flows: []Flow{{0, 0, 100, 0}},
		}, []float64{15}},
		// Link 0 is shared by flows 0 and 2 at 5 each, which leaves 15 of link 1 for flow 1.
		"two links": {List{Links: []float64{10, 20}, Paths: two, Flows: []Flow{{0, 0, 50, 0}, {0, 1, 150, 0}, {0, 2, 50, 0}}}, []float64{10, 10, 10}},
	} {
		t.Run(name, func(t *testing.T) {
			for who, got := range map[string][]float64{"reference": Reference(c.list), "ours": Ours(c.list).Ends} {
				for i := range c.want {
					if math.Abs(got[i]-c.want[i]) > 1e-12 {
						t.Errorf("%s: flow %d ended at %v, want %v", who, i, got[i], c.want[i])
					}
				}
			}
		})
	}
}

func TestOursIsExact(t *testing.T) {
	for seed := range uint64(150) {
		l := Small(10000 + seed)
		if d := Compare(l, Ours(l).Ends, Reference(l)); d.End > 1e-12 || d.Missing > 0 {
			t.Errorf("%s: %s", l.Name, d)
		}
	}
}

// A list is sorted, no path has a link twice, and no link gains capacity: SimGrid could not play it otherwise.
func TestLists(t *testing.T) {
	for _, l := range append(keptLists(), UnevenBundles(), Random(100, 500, 1)) {
		for _, p := range l.Paths {
			seen := map[int32]bool{}
			for _, k := range p {
				if seen[k] || int(k) >= len(l.Links) {
					t.Errorf("%s: path %v", l.Name, p)
				}
				seen[k] = true
			}
		}
		at, capacity := 0.0, append([]float64(nil), l.Links...)
		for _, c := range l.Changes {
			if c.At < at || c.Capacity > capacity[c.Link] {
				t.Errorf("%s: change %+v after %v, of %v", l.Name, c, at, capacity[c.Link])
			}
			at, capacity[c.Link] = c.At, c.Capacity
		}
		at = 0
		for _, f := range l.Flows {
			if f.Start < at || f.Bytes == 0 || int(f.Path) >= len(l.Paths) {
				t.Errorf("%s: flow %+v after %v", l.Name, f, at)
			}
			at = f.Start
		}
	}
}

func TestOpened(t *testing.T) {
	closed := Random(20, 100, 3)
	l := Opened(closed, Ours(closed).Ends)
	ends := Ours(l).Ends
	alive, started := 0, 0
	for _, e := range ends {
		if e < 0 {
			t.Fatal("a flow did not end")
		}
	}
	last := l.Flows[len(l.Flows)-1].Start
	for i, f := range l.Flows {
		if f.Start <= last {
			started++
			if ends[i] > last {
				alive++
			}
		}
	}
	if started != 100 || alive < 19 || alive > 22 { // starts are rounded to microseconds
		t.Errorf("%d started, %d are alive when the last one starts", started, alive)
	}
}

func TestMissing(t *testing.T) {
	t.Setenv("YARDMASTER_LAB", t.TempDir())
	p := program{name: "nothing", header: "no/such/header.h", packages: "libnothing-dev"}
	if _, err := p.built(t.Context()); !errors.Is(err, ErrMissing) || !bytes.Contains([]byte(err.Error()), []byte("apt-get install libnothing-dev")) {
		t.Errorf("%v", err)
	}
}

func TestParsePlays(t *testing.T) {
	lists := []List{{Name: "a", Flows: make([]Flow, 2)}}
	plays, err := parsePlays([]byte("case a 1 0.5 0.1\n1.25\n-1\n"), lists)
	if err != nil || plays[0].CPU != 0.5 || plays[0].Ends[0] != 1.25 || plays[0].Ends[1] != -1 {
		t.Errorf("%v, %v", plays, err)
	}
	for _, broken := range []string{"", "case b 1 0.5 0.1\n1\n2\n", "case a 1 x 0.1\n1\n2\n", "case a 1 0.5 0.1\n1\n", "case a 1 0.5 0.1\n1\nx\n"} {
		if _, err := parsePlays([]byte(broken), lists); err == nil {
			t.Errorf("%q was taken", broken)
		}
	}
}

func FuzzParsePlays(f *testing.F) {
	f.Add([]byte("case a 1 0.5 0.1\n1.25\n-1\n"))
	f.Add([]byte("case a 2 1e9 0\nNaN\n+Inf\n"))
	lists := []List{{Name: "a", Flows: make([]Flow, 2)}}
	f.Fuzz(func(t *testing.T, out []byte) {
		plays, err := parsePlays(out, lists)
		if err == nil && len(plays[0].Ends) != 2 {
			t.Errorf("%d ends", len(plays[0].Ends))
		}
	})
}

func TestCompare(t *testing.T) {
	l := List{Flows: []Flow{{Start: 1}, {Start: 0}, {Start: 0}, {Start: 0}}}
	d := Compare(l, []float64{2, 1, -1, -1}, []float64{2.5, 1, 3, -1})
	if d.Flows != 3 || d.Missing != 1 || d.Worst != 0 || math.Abs(d.End-0.2) > 1e-15 || math.Abs(d.Length-0.5/1.5) > 1e-15 {
		t.Errorf("%+v", d)
	}
}

// A flow alone takes its bytes over what headers leave of the link; with five copiers a receiver never has more than five.
func TestFluid(t *testing.T) {
	one := Single(1e6)
	if got, want := one.Fluid(0.5)[0].End, 1e6*8/0.5/1e9; math.Abs(got-want) > 1e-12 {
		t.Errorf("%v, want %v", got, want)
	}
	f := Shuffles()[2]
	spans := f.Fluid(1)
	for i, a := range spans {
		at := 0
		for k, b := range spans {
			if f.Flows[k].To == f.Flows[i].To && b.Start <= a.Start && a.Start < b.End {
				at++
			}
		}
		if at > f.Copiers || a.End <= a.Start {
			t.Fatalf("flow %d: %+v with %d others", i, a, at-1)
		}
	}
}
