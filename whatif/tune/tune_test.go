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
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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

// A move changes one setting, or the capacities of a queue and its siblings; from where a maximum is now, to elsewhere.
func TestMoves(t *testing.T) {
	s, err := NewSpace("c.xml", capacityFile(3, "40"), []string{"capacity", "root.b.maximum-capacity", "node-locality-delay=0,40", "root.b.user-limit-factor"})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, p := range s.moves() {
		kind := map[string]bool{}
		for _, c := range s.Changes(p) {
			if kind[c.Property] = true; c.Property == "maximum-capacity" && c.Value == "40" {
				t.Errorf("%v is a move", s.Changes(p))
			}
		}
		delete(kind, map[bool]string{true: "maximum-capacity"}[kind["capacity"]]) // no maximum is below its capacity
		if len(kind) > 1 {
			t.Errorf("%v moves together", s.Changes(p))
		}
		for k := range kind {
			kinds[k]++
		}
	}
	if kinds["capacity"] != 36 || kinds["maximum-capacity"] < 3 || kinds["node-locality-delay"] != 1 || kinds["user-limit-factor"] < 4 {
		t.Errorf("%v", kinds)
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

func toyPlan(t *testing.T, confirmation ...*Part) Plan {
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
	history := &History{Search: []*Part{toy("1", 25), toy("2", 20), toy("1", 25), toy("2", 20)}, Days: 2, Validation: []*Part{toy("1", 24), toy("2", 21)}, Confirmation: confirmation}
	return Plan{Space: s, History: history, Aim: Aim{Goal: g, Keep: []goal.Bound{b}, Others: 0.1}, Runs: 60, Seed: 1}
}

func TestSearch(t *testing.T) {
	var first []byte
	for _, workers := range []int{1, 7} {
		p := toyPlan(t, toy("3", 24), toy("4", 22))
		p.Workers = workers
		var mu sync.Mutex
		tried := map[string]bool{}
		run := p.History.Search[0].Run
		p.History.Search[0].Run = func(ctx context.Context, changes []edit.Change) (*result.Run, error) {
			mu.Lock()
			defer mu.Unlock()
			tried[fmt.Sprint(changes)] = true
			return run(ctx, changes)
		}
		a, err := Search(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		if a.Trials != len(tried)-1 { // the first is what is set now
			t.Errorf("%d candidates, and %d are tried", a.Trials, len(tried)-1)
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
		if len(a.Effects) != 2 || a.Effects[1].Needed || a.Effects[1].Alone == nil || a.Effects[1].Alone.Change != 0 || slices.ContainsFunc(a.Changes, func(c string) bool { return strings.Contains(c, "delay") }) {
			t.Errorf("the delay matters: %s", text)
		}
	}
	// On the day of the confirmation b needs all that it has now: the candidate that was chosen breaks its bound there, and no
	// other one is tried.
	last := toy("5", 120)
	seen, plain := 0, last.Run
	last.Run = func(ctx context.Context, changes []edit.Change) (*result.Run, error) {
		seen++
		return plain(ctx, changes)
	}
	a, err := Search(context.Background(), toyPlan(t, last))
	if err != nil || a.Found || a.Edits != nil || !strings.HasPrefix(a.Sentence, "Keep the present settings: the best candidate") || len(a.Refuted) != 1 || seen != 2 {
		t.Errorf("%d runs of the confirmation; %+v, %v", seen, a, err)
	}
	// On the validation, candidates that break a bound are rejected, and the next one has its turn.
	p := toyPlan(t, toy("3", 24))
	p.History.Validation = []*Part{toy("4", 30)}
	if a, err := Search(context.Background(), p); err != nil || !a.Found || len(a.Rejected) == 0 || a.Expected[1].Percent[3] > 2 {
		t.Errorf("%+v, %v", a, err)
	}
	p = toyPlan(t, toy("3", 24))
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
	p.Runs = 200
	for _, part := range slices.Concat(p.History.Search, p.History.Validation, p.History.Confirmation) {
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
	if err != nil || !a.Found || len(a.Effects) != 2 || !a.Effects[1].Needed || !strings.Contains(strings.Join(a.Changes, " "), "node-locality-delay") {
		t.Errorf("%+v, %v", a, err)
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
		kept := slices.IndexFunc(best, func(r Ranked) bool { return r.Broken != "" })
		byChange := func(a, b Ranked) int { return cmp.Compare(a.Change, b.Change) }
		if len(best) != points || kept < 1 || !slices.IsSortedFunc(best[:kept], byChange) || !slices.IsSortedFunc(best[kept:], byChange) ||
			!strings.Contains(best[kept].Broken, "<= +") {
			t.Errorf("%d points, %d of which keep the bounds: %+v", len(best), kept, best)
		}
		if best := Rank(rows[1:], &p.Aim); best != nil {
			t.Errorf("without the present settings: %+v", best)
		}
		for name, files := range map[string]map[string]string{
			"missing":          {"a": string(sweep(0, 3, 1)), "b": string(sweep(1, 3, 1))},
			"too":              {"a": string(whole), "b": string(whole)},
			"another":          {"a": string(whole), "b": `{"points":1}` + "\n"},
			"version":          {"a": string(whole), "b": `{"version":"v2","points":1}` + "\n"},
			"points is":        {"a": string(whole), "b": `{"command":"x","points":1}` + "\n"},
			"read other files": {"a": string(whole), "b": `{"command":"x","inputs":"y","points":1}` + "\n"},
			"not the":          {"a": "hello\n"},
			"a point":          {"a": string(whole[:bytes.IndexByte(whole, '\n')+1]) + "{\"point\":-1}\n"},
			"empty":            {},
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

// A time is kept: what the closing needs is set aside, at the pace so far, and the share that is done grows to the end.
func TestTimeIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(limit time.Duration) Plan {
			var last []*Part
			for i := range 40 {
				last = append(last, toy(strconv.Itoa(3+i), 24))
			}
			p := toyPlan(t, last...)
			for _, part := range slices.Concat(p.History.Search, p.History.Validation, p.History.Confirmation) {
				plain := part.Run
				part.Run = func(ctx context.Context, changes []edit.Change) (*result.Run, error) {
					time.Sleep(100 * time.Millisecond)
					return plain(ctx, changes)
				}
			}
			p.Runs, p.Time, p.Workers = math.MaxInt32, limit, 2
			return p
		}
		p := slow(30 * time.Second)
		var shares []float64
		p.Progress = func(done, _ float64) { shares = append(shares, done) }
		began := time.Now()
		a, err := Search(context.Background(), p)
		if took := time.Since(began); err != nil || !a.Found || took > p.Time || took < p.Time/2 {
			t.Errorf("%v of %v; %+v, %v", took, p.Time, a, err)
		}
		if full := slices.Index(shares, 1); !slices.IsSorted(shares) || full >= 0 && full < len(shares)-1 {
			t.Errorf("shares %v", shares)
		}
		if _, err := Search(context.Background(), slow(time.Second)); err == nil || !strings.Contains(err.Error(), "give at least") {
			t.Error(err)
		}
	})
}

// A bound that is exceeded on the confirmation, but not clearly, is named: nobody is told that it is kept.
func TestUnclearIsSaid(t *testing.T) {
	var days []*Part
	for i := range 6 {
		days = append(days, toy(strconv.Itoa(3+i), []float64{24, 27}[i%2])) // b wants more on every second one
	}
	a, err := Search(context.Background(), toyPlan(t, days...))
	if err != nil || !a.Found || !a.Expected[1].Unclear || !strings.Contains(a.Sentence, "cannot be told: p95 elapsed of root.b (") {
		t.Errorf("%+v, %v", a, err)
	}
}

// The answer leads with a warning if the history is not replayed as it was.
func TestReplayErrorIsSaid(t *testing.T) {
	for off, want := range map[float64]bool{0.1: false, 0.5: true} {
		p := toyPlan(t, toy("3", 24))
		plain := p.History.Search[1].Run
		p.History.Search[1].Run = func(ctx context.Context, changes []edit.Change) (*result.Run, error) {
			r, err := plain(ctx, changes)
			r.Observed = &result.Observed{Jobs: 100, MedianError: off}
			return r, err
		}
		if a, err := Search(context.Background(), p); err != nil || (a.Warning != "") != want {
			t.Errorf("off by %v: %+v, %v", off, a, err)
		}
	}
}
