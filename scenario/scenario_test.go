package scenario

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/synth"
)

// values compares what scenarios say, not who said it.
var values = cmpopts.IgnoreFields(Scenario{}, "Given", "Known")

func TestLoad(t *testing.T) {
	got, err := Load("testdata/good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Workload = []string{"testdata/jobs-a.tsv", "testdata/jobs-b.tsv"}
	want.Cluster = "600x6/30"
	want.Schedulers = []string{"fifo", "fair:by=user", "testdata/conf/capacity-scheduler.xml"}
	want.Seed, want.Seeds, want.ScaleLoad = 7, 5, 1.5
	want.Model = sim.Model{
		Application: am.Hadoop,
		Heartbeat:   unit.Second, StartUp: 1500 * unit.Millisecond, Replicas: 3, FailTask: 0.01,
		Losses: []sim.Loss{{Node: "node7", At: unit.Hour, For: 10 * unit.Minute}, {Node: "node8", At: 2 * unit.Hour}}, Lookahead: 50,
	}
	want.Trace.SWIM.Block, want.Trace.SWIM.MapRate, want.Trace.Users = 64*unit.MiB, 20*float64(unit.MiB), 50
	want.Trace.Queues, want.Trace.SWIM.Ask = []string{"prod", "adhoc"}, unit.Resources{Mem: 2048, Cores: 1}
	if d := cmp.Diff(want, got, values); d != "" {
		t.Error(d)
	}
}

// TestBroken compares the message of every broken file with the golden text beside it. Run with UPDATE=1 to rewrite them.
func TestBroken(t *testing.T) {
	files, err := filepath.Glob("testdata/broken/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no broken scenarios", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".yaml"), func(t *testing.T) {
			_, err := Load(f)
			if err == nil {
				t.Fatal("taken")
			}
			golden := strings.TrimSuffix(f, ".yaml") + ".txt"
			got := filepath.ToSlash(err.Error()) + "\n"
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Error(d)
			}
		})
	}
}

// arbitrary draws a scenario through its own settings.
func arbitrary(t *rapid.T) Scenario {
	s := Default()
	word := rapid.StringMatching(`[a-zA-Z0-9_./:=, '"#-]{1,12}`)
	s.Workload = rapid.SliceOfN(word, 0, 3).Draw(t, "workload")
	s.Cluster = rapid.SampledFrom([]string{"", "6x3", "600x6/30", "c.yaml"}).Draw(t, "cluster")
	s.Schedulers = rapid.SliceOfN(word, 0, 3).Draw(t, "schedulers")
	s.Seed = rapid.Uint64Max(1<<62).Draw(t, "seed")
	s.Seeds = rapid.IntRange(1, 100).Draw(t, "seeds")
	s.Resampling.Jobs = rapid.IntRange(0, 1000).Draw(t, "sample-jobs")
	s.Resampling.Arrivals = rapid.SampledFrom([]synth.Respread{{}, {How: "batch"}, {How: "uniform", Time: 90 * unit.Minute}, {How: "exponential", Time: 1500 * unit.Millisecond}}).Draw(t, "arrivals")
	s.ScaleLoad = rapid.Float64Range(0.001, 1e6).Draw(t, "load")
	s.ScaleLength = rapid.Float64Range(0.001, 1e6).Draw(t, "length")
	s.Deadlines.Factor = rapid.SampledFrom([]float64{0, 1, 2.5}).Draw(t, "deadline-factor")
	if rapid.Bool().Draw(t, "deadline-class") {
		s.Deadlines.Classes = map[string]unit.Time{"small": unit.Minute, "a=b c": unit.Time(rapid.Int64Range(1, int64(unit.Day)).Draw(t, "due"))}
		s.Deadlines.Override = rapid.Bool().Draw(t, "deadline-override")
	}
	span := rapid.Int64Range(0, int64(unit.Day))
	s.Model.Heartbeat = unit.Time(span.Draw(t, "heartbeat"))
	s.Model.StartUp = unit.Time(span.Draw(t, "start-up"))
	s.Model.Replicas = rapid.IntRange(0, 10).Draw(t, "replicas")
	s.Model.Application = rapid.SampledFrom(am.Names()).Draw(t, "application")
	s.Model.FailTask = rapid.Float64Range(0, 0.99).Draw(t, "fail")
	s.Model.Placement = rapid.SampledFrom([]string{"", "linear", "hadoop"}).Draw(t, "placement")
	s.Model.Speculate = rapid.SampledFrom([]string{"", "hadoop", "late"}).Draw(t, "speculate")
	if rapid.Bool().Draw(t, "straggle") {
		s.Model.Stragglers = sim.Stragglers{Share: rapid.Float64Range(1e-9, 1).Draw(t, "share"), Factor: rapid.Float64Range(1, 1e6).Draw(t, "factor")}
	}
	for range rapid.IntRange(0, 3).Draw(t, "losses") {
		s.Model.Losses = append(s.Model.Losses, sim.Loss{Node: "n@1", At: unit.Time(span.Draw(t, "at")), For: unit.Time(span.Draw(t, "for"))})
	}
	for range rapid.IntRange(0, 2).Draw(t, "racks") {
		s.RackLosses = append(s.RackLosses, sim.Loss{Node: "/r@1", At: unit.Time(span.Draw(t, "at"))})
		s.Gangs = append(s.Gangs, Move{Kind: "class", Name: "a=b: c"})
		s.Executors = append(s.Executors, Executors{Who: Move{Kind: "job", Name: "a=b: c"}, Text: "max=8,idle=10s", Do: workload.Executors{Max: new(int64(8)), Idle: new(10 * unit.Second)}})
		s.Moves = append(s.Moves, Move{rapid.SampledFrom([]string{"user", "class", "queue"}).Draw(t, "who"), "a=b: c", "root.x"})
	}
	s.Nodes = rapid.SampledFrom([]string{"", "+100", "-3", "700"}).Draw(t, "nodes")
	s.Clock = rapid.SampledFrom([]string{Ideal, SLS, Hadoop}).Draw(t, "clock")
	s.Yarn.Site = rapid.SampledFrom([]string{"", "conf/yarn-site.xml"}).Draw(t, "site")
	s.Yarn.AMStart = unit.Time(rapid.Int64Range(-1, int64(unit.Day)).Draw(t, "am-start"))
	s.Yarn.Linger = unit.Time(rapid.Int64Range(-1, int64(unit.Day)).Draw(t, "linger"))
	s.Steering.Policies = rapid.SliceOfN(rapid.SampledFrom([]string{NoSteering, "cbt", "static"}), 0, 3).Draw(t, "steer")
	s.Steering.Queue = rapid.SampledFrom([]string{"", "root.default", "root.a.b"}).Draw(t, "steer-queue")
	s.Steering.Delay = rapid.SampledFrom([]string{AutoDelay, FairFile, AtOnce, "2500ms"}).Draw(t, "steer-delay")
	s.Steering.Sense = unit.Time(span.Draw(t, "steer-sense"))
	s.Steering.Bounds = steer.Bounds{Min: rapid.SampledFrom([]float64{0, 0.05}).Draw(t, "steer-min"), Max: rapid.SampledFrom([]float64{0.5, 0.9}).Draw(t, "steer-max"),
		UntilEmpty: rapid.Bool().Draw(t, "steer-until-empty"), Spacing: unit.Time(span.Draw(t, "steer-spacing"))}
	s.Steering.PerHour = rapid.IntRange(1, 1000).Draw(t, "steer-per-hour")
	s.Steering.Set = rapid.SliceOfN(rapid.SampledFrom([]string{"slots=yes", "value=0.25"}), 0, 2).Draw(t, "steer-set")
	s.Trace.SWIM.Block = unit.Bytes(rapid.Int64Range(1, 1<<40).Draw(t, "block"))
	s.Trace.SWIM.MapRate = float64(rapid.Int64Range(1, 1<<40).Draw(t, "map-rate"))
	s.Trace.SWIM.SlowStart = rapid.Float64Range(0, 1).Draw(t, "slow-start")
	queue := rapid.StringMatching(`[a-z0-9._-]{1,8}`) // a queue's name has no comma
	s.Trace.Queues = rapid.SliceOfN(queue, 0, 3).Draw(t, "queues")
	s.Trace.Users = rapid.IntRange(0, 1000).Draw(t, "users")
	s.Trace.SWIM.Ask = unit.Resources{Mem: rapid.Int64Range(1, 1<<20).Draw(t, "mem"), Cores: rapid.Int64Range(0, 64).Draw(t, "cores")}
	if len(s.Workload) == 0 {
		s.Workload = nil
	}
	if len(s.Schedulers) == 0 {
		s.Schedulers = nil
	}
	if len(s.Steering.Policies) == 0 {
		s.Steering.Policies = nil
	}
	if len(s.Steering.Set) == 0 {
		s.Steering.Set = nil
	}
	if len(s.Trace.Queues) == 0 {
		s.Trace.Queues = nil
	}
	return s
}

func TestPropertyYAMLReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := arbitrary(t)
		text := s.YAML()
		back, err := Parse("s.yaml", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if d := cmp.Diff(s, back, values); d != "" {
			t.Fatalf("%s\n%s", d, text)
		}
	})
}

func TestPropertySettingsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, back := arbitrary(t), Default()
		for i := range Settings {
			set := &Settings[i]
			if values := set.Get(&s); len(values) > 0 {
				if err := back.Apply(set, values); err != nil {
					t.Fatalf("%s=%q: %v", set.Name, values, err)
				}
			}
		}
		if d := cmp.Diff(s, back, values); d != "" {
			t.Fatal(d)
		}
	})
}

func TestCommand(t *testing.T) {
	s := Default()
	s.Workload, s.Cluster, s.Schedulers = []string{"my jobs.tsv"}, "600x6/30", []string{"fifo", "fair:by=user"}
	s.Model.Heartbeat, s.Seeds = 1500*unit.Millisecond, 3
	const want = "yardmaster compare --workload 'my jobs.tsv' --cluster 600x6/30 --scheduler fifo --scheduler fair:by=user --seed 1 --seeds 3 --heartbeat 1500ms"
	if got := s.Command("compare"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A setting of the reading of traces that cannot act is refused, even when it is given as it is by default.
func TestCheckTrace(t *testing.T) {
	for _, c := range []struct{ setting, value, format, want string }{
		{"block", "128MB", "swim", ""},
		{"block", "128MB", "parquet", "--block applies only to raw traces, and jobs is already imported: give it to yardmaster import"},
		{"block", "1GB", "", "--block applies only to raw traces, and jobs is synthetic: leave it out"},
		{"retried", "true", "swim", "--retried applies only to rumen traces, and jobs is swim: leave it out"},
		{"drop-failed", "true", "sls", "--drop-failed applies only to rumen or google or table traces, and jobs is sls: leave it out"},
		{"users", "3", "parquet", ""},
		{"queues", "a,b", "", ""},
		{"heartbeat", "1s", "parquet", ""},
	} {
		s := Default()
		set, _ := Find(c.setting)
		if err := s.Apply(set, []string{c.value}); err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := s.CheckTrace(c.format, "jobs"); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("--%s %s on %q: got %q, want %q", c.setting, c.value, c.format, got, c.want)
		}
	}
}

func TestSettingsAreNamedOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Settings {
		if seen[s.Name] {
			t.Errorf("%s is there twice", s.Name)
		}
		seen[s.Name] = true
		if s.Help == "" || s.Value == "" && len(s.Get(&defaults)) != 1 {
			t.Errorf("%s has no help", s.Name)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, p := range []string{"testdata/good.yaml", "testdata/broken/key.yaml", "testdata/broken/loss.yaml"} {
		b, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return
		}
		s, err := Parse("s.yaml", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "s.yaml:") {
				t.Fatalf("error without a place: %v", err)
			}
			return
		}
		back, err := Parse("s.yaml", s.YAML())
		if err != nil {
			t.Fatalf("does not read back: %v\n%s", err, s.YAML())
		}
		if d := cmp.Diff(s, back, values); d != "" {
			t.Fatalf("reads back as another: %s\n%s", d, s.YAML())
		}
	})
}

// What belongs to a YARN clock is refused without one, and put aside where a person asks for ideal time.
func TestYarnSettings(t *testing.T) {
	apply := func(pairs ...string) error {
		s := Default()
		s.Workload, s.Cluster, s.Schedulers = []string{"synth:demo"}, "4x3", []string{"fair"}
		for i := 0; i < len(pairs); i += 2 {
			set, _ := Find(pairs[i])
			if err := s.Apply(set, []string{pairs[i+1]}); err != nil {
				t.Fatal(err)
			}
		}
		setup, err := s.Resolve()
		if err == nil && (setup.Timing != nil) != (setup.Scenario.Clock != Ideal) {
			t.Errorf("%q: timing %v", pairs, setup.Timing)
		}
		return err
	}
	for _, c := range []struct {
		given []string
		want  string
	}{
		{[]string{"linger", "1s"}, "belongs to a YARN clock"},
		{[]string{"linger", "1s", "clock", "ideal"}, ""},
		{[]string{"linger", "1s", "clock", "hadoop"}, ""},
		{[]string{"clock", "sls", "per-beat", "3"}, "--per-beat acts in ideal time only"},
		{[]string{"clock", "sls", "speculate", "late"}, "because its AMs request none"},
		{[]string{"clock", "sls", "replicas", "3", "placement", "random"}, ""},
		{[]string{"clock", "hadoop", "network", "star:1Gbit"}, ""},
		{[]string{"clock", "hadoop", "phases", "mrperf-2010"}, "does not simulate phases"},
		{[]string{"clock", "sls", "sample", "1s"}, ""},
		{[]string{"clock", "sls", "node-heartbeat", "0s"}, "at least 1 ms"},
		{[]string{"clock", "hadoop", "yarn-site", "testdata/nosuch.xml"}, "does not exist"},
	} {
		if err := apply(c.given...); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.given, err, c.want)
		}
	}
}

func TestDeadlines(t *testing.T) {
	for _, v := range []string{"small", "=10m", "small=", "small=0s", "small=-1m", "small=x", "small=200000d"} {
		s := Default()
		set, _ := Find("deadline-class")
		if err := s.Apply(set, []string{v}); err == nil {
			t.Errorf("deadline-class %q is taken", v)
		}
	}
	base := Default()
	base.Workload, base.Cluster, base.Schedulers = []string{"synth:demo"}, "4x4", []string{"fifo"}
	for want, change := range map[string]func(*Scenario){
		"--deadline-override replaces": func(s *Scenario) { s.Deadlines.Override = true },
		"--phases does not have":       func(s *Scenario) { s.Deadlines.Factor, s.Data.Phases = 2, "mrperf-2010" },
	} {
		s := base
		change(&s)
		if _, err := s.Resolve(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	s := base
	s.Deadlines.Factor, s.Deadlines.Classes = 3, map[string]unit.Time{"etl": 10 * unit.Minute}
	out, err := s.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	want := "workload: jobs without a deadline get one: 10 min after submission for class etl, 3 times the time on the empty cluster for all others"
	if !slices.Contains(out.Assumptions, want) {
		t.Errorf("assumed %q, want %q", out.Assumptions, want)
	}
	if about := out.Runs()[0].About(1); !strings.Contains(about.Command, "--deadline-factor 3 --deadline-class etl=600s") || !slices.Contains(about.Model, "deadline-factor=3") {
		t.Errorf("%+v", about)
	}
}
