package tune

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/whatif/goal"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/edit"
)

// capacityFile makes a file with queues a, b, ... under root, and three under the first.
func capacityFile(n int, limit string) []byte {
	var b strings.Builder
	set := func(name, value string) {
		fmt.Fprintf(&b, "<property><name>yarn.scheduler.capacity.%s</name><value>%s</value></property>\n", name, value)
	}
	b.WriteString("<configuration>\n")
	var names []string
	left := 100
	for i := range n {
		name := string(rune('a' + i))
		share := 100 / n
		if i == n-1 {
			share = left
		}
		left -= share
		names = append(names, name)
		set("root."+name+".capacity", strconv.Itoa(share))
		if limit != "" {
			set("root."+name+".maximum-capacity", limit)
		}
	}
	set("root.queues", strings.Join(names, ","))
	set("root.a.queues", "x,y,z")
	for _, k := range []string{"x", "y", "z"} {
		set("root.a."+k+".capacity", map[string]string{"x": "33.4", "y": "33.3", "z": "33.3"}[k])
	}
	b.WriteString("</configuration>\n")
	return []byte(b.String())
}

const fairFile = `<allocations><queue name="a"><weight>3</weight><queue name="x"/></queue><queue name="b"/></allocations>`

// Every point of a space is a file that a ResourceManager takes, with shares that add up exactly.
func TestEveryPointIsValid(t *testing.T) {
	settings := []string{"capacity", "maximum-capacity", "user-limit-factor", "minimum-user-limit-percent", "maximum-am-resource-percent", "node-locality-delay", "ordering-policy"}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{2, 3, 4, 5, 22}).Draw(t, "queues")
		file := capacityFile(n, rapid.SampledFrom([]string{"", "60"}).Draw(t, "max"))
		over := rapid.SliceOfNDistinct(rapid.SampledFrom(settings), 1, len(settings), rapid.ID[string]).Draw(t, "over")
		if n > 5 {
			over = settings[:1]
		}
		s, err := NewSpace("c.xml", file, over)
		if err != nil {
			t.Fatal(err)
		}
		p := s.Present()
		if c := s.Changes(p); len(c) != 0 {
			t.Fatalf("the present settings change %v", c)
		}
		drop := rapid.Bool().Draw(t, "drop")
		for _, u := range s.units() {
			for _, i := range u {
				if p[i] = rapid.Float64Range(0, 1).Draw(t, "u"); drop && u[0]%2 == 0 {
					p[i] = math.NaN()
				}
			}
		}
		out, err := edit.Apply("c.xml", file, s.Changes(p))
		if err != nil {
			t.Fatalf("%v: %v", s.Changes(p), err)
		}
		c, err := conf.ReadCapacity(bytes.NewReader(out), "c.xml")
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range []*conf.Queue{c.Root, c.Root.Children[0]} {
			sum := 0.0
			for _, k := range q.Children {
				v, _, _ := edit.Value(out, k.Path, "capacity")
				x, _ := strconv.ParseFloat(v, 64)
				sum += math.Round(x * 100)
			}
			if sum != 10000 {
				t.Fatalf("the capacities below %s sum to %v", q.Path, sum/100)
			}
		}
	})
}

func TestSpace(t *testing.T) {
	file := capacityFile(3, "")
	for _, c := range []struct{ over, want string }{
		{"root.b.capacity=50", "root.a.capacity=25 root.b.capacity=50 root.c.capacity=25"},
		{"root.b.capacity=99.5", "root.a.capacity=0.25 root.b.capacity=99.5 root.c.capacity=0.25"},
		{"root.b.maximum-capacity=10", "root.b.maximum-capacity=33"},
		{"node-locality-delay=7", "node-locality-delay=7"},
		{"maximum-am-resource-percent=0.5", "root.a.x.maximum-am-resource-percent=0.5 root.a.y.maximum-am-resource-percent=0.5 root.a.z.maximum-am-resource-percent=0.5 root.b.maximum-am-resource-percent=0.5 root.c.maximum-am-resource-percent=0.5"},
	} {
		s, err := NewSpace("c.xml", file, []string{c.over})
		if err != nil {
			t.Fatal(err)
		}
		p := s.Present()
		for i := range p {
			p[i] = 0.5
		}
		if got := edit.Words(s.Changes(p)); got != c.want {
			t.Errorf("%s: %s, want %s", c.over, got, c.want)
		}
	}
	fair, err := NewSpace("f.xml", []byte(fairFile), []string{"weight", "maxAMShare"})
	if err != nil || len(fair.axes) != 5 {
		t.Fatal(fair, err)
	}
	if w := fair.axes[0]; w.Value != "3" || w.value(w.at) != "3" {
		t.Errorf("%+v: the present weight is %s", w, w.value(w.at))
	}
	for over, want := range map[string]string{
		"capasity":                 "did you mean",
		"maximum-applications":     "has no range here",
		"root.d.capacity":          "has no queue root.d",
		"user-limit-factor=5..1":   "not a range",
		"user-limit-factor=1,,2":   "empty or repeated",
		"node-locality-delay=0..x": "not a range",
		"root.b.capacity=100..200": "", // nothing is left for the others: edit.Apply says so
	} {
		if _, err := NewSpace("c.xml", file, []string{over}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", over, err, want)
		}
	}
	if _, err := NewSpace("c.xml", file, []string{"node-locality-delay", "node-locality-delay"}); err == nil {
		t.Error("a setting is named twice")
	}
}

// The estimator finds the corner of a bowl in fewer tries than chance does.
func TestProposeBeatsChance(t *testing.T) {
	s := &Space{}
	for range 8 {
		s.axes = append(s.axes, &axis{at: 0.5})
	}
	bowl := func(p Point) (sum float64) {
		for i := range p {
			sum += math.Abs(s.located([]Point{p})[0][i] - []float64{0.1, 0.8}[i%2])
		}
		return sum
	}
	wins := 0
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 1))
		var tried []Point
		chance := math.Inf(1)
		for range 60 {
			p := s.random(r)
			if chance = min(chance, bowl(s.random(r))); len(tried) > 12 {
				p = s.propose(r, tried)
			}
			tried = append(tried, p)
			slices.SortStableFunc(tried, func(a, b Point) int { return int(math.Copysign(1, bowl(a)-bowl(b))) })
		}
		if bowl(tried[0]) < 0.8*chance {
			wins++
		}
	}
	if wins < 4 {
		t.Errorf("better in %d of 5", wins)
	}
}

// toy is a cluster whose queues get slower the smaller their share is. On some days, a small share of b is worse.
func toy(name string, hard float64) *Part {
	return &Part{Name: name, Run: func(_ context.Context, changes []edit.Change) (*result.Run, error) {
		share := map[string]float64{"root.a": 34, "root.b": 33, "root.c": 33}
		delay := 40.0
		for _, c := range changes {
			v, err := strconv.ParseFloat(c.Value, 64)
			if err != nil {
				return nil, err
			}
			if delay = v; c.Property == "capacity" {
				share[c.Queue], delay = v, 40
			}
		}
		r := &result.Run{Events: 1000}
		r.Jobs.Finished = 300
		for q, need := range map[string]float64{"root.a": 60, "root.b": hard, "root.c": 5} {
			v := 10 + max(0, need-share[q]) + 0*delay
			r.ByQueue = append(r.ByQueue, result.Group{Name: q, Jobs: 100, Elapsed: result.Stats{Count: 100, Mean: v, Median: v, P95: v}})
		}
		slices.SortFunc(r.ByQueue, func(a, b result.Group) int { return strings.Compare(a.Name, b.Name) })
		return r, nil
	}}
}

func toyPlan(t *testing.T, heldOut ...*Part) Plan {
	t.Helper()
	file := []byte(strings.ReplaceAll(strings.ReplaceAll(string(capacityFile(3, "")), "<value>x,y,z</value>", "<value></value>"), ">34<", ">33<"))
	file = bytes.Replace(file, []byte("root.a.capacity</name><value>33"), []byte("root.a.capacity</name><value>34"), 1)
	file = bytes.Replace(file, []byte("root.c.capacity</name><value>33"), []byte("root.c.capacity</name><value>33"), 1)
	s, err := NewSpace("c.xml", file, []string{"capacity", "node-locality-delay"})
	if err != nil {
		t.Fatal(err)
	}
	g, _ := goal.Parse("p95 elapsed of root.a")
	b, _ := goal.ParseBound("p95 elapsed of root.b <= +2 %")
	history := &History{Busy: []*Part{toy("busy", 25)}, Days: []*Part{toy("1", 25), toy("2", 20)}, HeldOut: heldOut}
	return Plan{Space: s, History: history, Aim: Aim{Goal: g, Keep: []goal.Bound{b}, Others: 0.1}, Runs: 60, Seed: 1}
}

func TestSearch(t *testing.T) {
	var first []byte
	for _, workers := range []int{1, 7} {
		p := toyPlan(t, toy("3", 24), toy("4", 22))
		p.Workers = workers
		a, err := Search(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(a)
		if first == nil {
			first = text
		} else if !bytes.Equal(first, text) {
			t.Errorf("%d workers find another answer: %s, not %s", workers, text, first)
		}
		// The best is 60 to 70 for a, 25 for b and the rest for c.
		if !a.Found || a.Expected[0].Percent[0] > -60 || len(a.Expected) != 3 || a.Spent > p.Runs {
			t.Errorf("%s", text)
		}
		if len(a.Effects) != 2 || !a.Effects[1].Idle || slices.ContainsFunc(a.Changes, func(c string) bool { return strings.Contains(c, "delay") }) {
			t.Errorf("the delay matters: %s", text)
		}
	}
	// On a held-out day b needs all that it has now: no better setting keeps its bound there, unless c pays.
	a, err := Search(context.Background(), toyPlan(t, toy("5", 120)))
	if err != nil || a.Found && a.Expected[1].Percent[3] > 2 || !a.Found && (a.Edits != nil || !strings.HasPrefix(a.Sentence, "Keep the present settings")) {
		t.Errorf("%+v, %v", a, err)
	}
	p := toyPlan(t, toy("3", 24))
	p.Keep[0].Queue = "root.d"
	if _, err := Search(context.Background(), p); err == nil || !strings.Contains(err.Error(), "no job of such a queue") {
		t.Error(err)
	}
	stopped, stop := context.WithCancel(context.Background())
	p = toyPlan(t, toy("3", 24))
	p.Progress = func(float64, float64) { stop() }
	if a, err := Search(stopped, p); err != nil || !a.Partial || a.Found {
		t.Errorf("stopped: %+v, %v", a, err)
	}
}

// A change that is worth half a percentage point stays.
func TestSmallGainsStay(t *testing.T) {
	p := toyPlan(t, toy("3", 24))
	for _, part := range slices.Concat(p.History.Busy, p.History.Days, p.History.HeldOut) {
		plain := part.Run
		part.Run = func(ctx context.Context, changes []edit.Change) (*result.Run, error) {
			r, err := plain(ctx, changes)
			if slices.ContainsFunc(changes, func(c edit.Change) bool { return c.Property == "node-locality-delay" }) {
				r.ByQueue[0].Elapsed.P95 -= 0.005 * (10 + 60 - 34)
			}
			return r, err
		}
	}
	a, err := Search(context.Background(), p)
	if err != nil || !a.Found || len(a.Effects) != 2 || a.Effects[1].Idle || !strings.Contains(strings.Join(a.Changes, " "), "node-locality-delay") {
		t.Errorf("%+v, %v", a, err)
	}
}

// The worst day counts, and a job that no longer finishes breaks any bound.
func TestScore(t *testing.T) {
	j := judge{{}, {Limit: 0.1}}
	good, bad := outcome{pairs: []pair{{10, 5}, {10, 10}}}, outcome{pairs: []pair{{10, 9}, {10, 12}}}
	s := j.score([]outcome{good, bad})
	if s.kept() || s.ratio != 0.9 || math.Abs(s.excess-0.1) > 1e-6 || math.Abs(s.change-0.2) > 1e-9 {
		t.Errorf("%+v", s)
	}
	if g := j.score([]outcome{good}); !g.kept() || g.order(s) >= 0 {
		t.Errorf("%+v", g)
	}
	if l := j.score([]outcome{{pairs: good.pairs, lost: 1}}); l.kept() || !strings.Contains(j.broken(l), "1 job ") {
		t.Errorf("%+v", l)
	}
}

func TestSweep(t *testing.T) {
	p := toyPlan(t, toy("3", 24))
	part := toy("all", 25)
	factorial, err := NewSpace("c.xml", capacityFile(3, ""), []string{"root.b.capacity=20,30", "node-locality-delay=0,10,40"})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []Design{{Space: p.Space, Random: 17, Seed: 3}, {Space: factorial}} {
		points, err := d.Points()
		if want := map[bool]int{true: 18, false: 7}[d.Random > 0]; err != nil || points != want {
			t.Fatalf("%d points, %v", points, err)
		}
		head := Header{Points: points, Command: "x"}
		sweep := func(shard, of, workers int) []byte {
			var b bytes.Buffer
			if _, err := Sweep(context.Background(), &d, part, head, shard, of, workers, &b, nil); err != nil {
				t.Fatal(err)
			}
			return b.Bytes()
		}
		whole := sweep(0, 1, 3)
		shards := map[string]io.Reader{}
		for i := range 3 {
			shards[strconv.Itoa(i)] = bytes.NewReader(sweep(i, 3, 1))
		}
		var merged bytes.Buffer
		rows, err := Merge(shards, &merged)
		if err != nil || !bytes.Equal(merged.Bytes(), whole) {
			t.Fatalf("%v\n%s\n%s", err, &merged, whole)
		}
		best := Rank(rows, &p.Aim)
		if len(best) == 0 || len(best) == points || !slices.IsSortedFunc(best, func(a, b Ranked) int { return cmp.Compare(a.Change, b.Change) }) {
			t.Errorf("%+v", best)
		}
		if best := Rank(rows[1:], &p.Aim); best != nil {
			t.Errorf("without the present settings: %+v", best)
		}
		for name, files := range map[string]map[string]string{
			"missing": {"a": string(sweep(0, 3, 1)), "b": string(sweep(1, 3, 1))},
			"too":     {"a": string(whole), "b": string(whole)},
			"another": {"a": string(whole), "b": "{}\n"},
			"not the": {"a": "hello\n"},
			"a point": {"a": string(whole[:bytes.IndexByte(whole, '\n')+1]) + "{\"point\":-1}\n"},
			"empty":   {},
		} {
			in := map[string]io.Reader{}
			for k, v := range files {
				in[k] = strings.NewReader(v)
			}
			if _, err := Merge(in, io.Discard); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	failing := Part{Run: func(context.Context, []edit.Change) (*result.Run, error) { return nil, errors.New("broken") }}
	if _, err := Sweep(context.Background(), &Design{Space: factorial}, &failing, Header{Points: 7}, 0, 1, 1, io.Discard, nil); err == nil {
		t.Error("the present settings fail, and the sweep goes on")
	}
	if _, err := (&Design{Space: p.Space}).Points(); err == nil {
		t.Error("a factorial design needs values")
	}
}
