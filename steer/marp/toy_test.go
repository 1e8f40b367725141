package marp

import (
	"testing"

	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// toy is a crude cluster in steps of a second, enough to drive a controller through a batch: 51 containers on 16 cores,
// jobs of maps that use a core each and one reduce that uses a third of one, 13 s until a started job gets to work, a
// file that is read again 10 s after it was written. It says nothing about gains: it has no disk.
type toy struct {
	now     unit.Time
	jobs    []*toyJob
	in      float64
	pending []steer.Action
	felt    []unit.Time
	idle    float64
	idled   float64 // sum of idle shares over seconds
	begins  []unit.Time
}

type toyJob struct {
	id          string
	started     bool
	since       unit.Time
	maps, todo  float64 // core seconds
	reduce, red float64 // seconds, done
	containers  int64
	wants       int64
	over        bool
}

func newToy(n int, seed uint64) *toy {
	y := &toy{in: 0.05}
	for i := range n {
		noise := 0.8 + 0.4*workload.Uniform01(seed, uint64(i))
		work := 24 * 40 * noise
		y.jobs = append(y.jobs, &toyJob{id: string(rune('a' + i)), maps: work, todo: work, reduce: 100 * noise})
	}
	return y
}

func (j *toyJob) working(now unit.Time) bool { return j.started && !j.over && now-j.since >= 13*sec }

func (y *toy) second() {
	for len(y.felt) > 0 && y.felt[0] <= y.now {
		y.in = y.pending[0].Value
		y.felt, y.pending = y.felt[1:], y.pending[1:]
	}
	slots := amlimit.FairV2.Slots(sourceTotal, sourceAM, unit.Resources{}, y.in)
	var running int64
	for _, j := range y.jobs {
		if j.started && !j.over {
			running++
		}
	}
	for _, j := range y.jobs {
		if !j.started && running < slots {
			j.started, j.since = true, y.now
			running++
			y.begins = append(y.begins, y.now)
		}
	}
	room := 51 - 2*running
	cpu, mapping := 0.0, []*toyJob(nil)
	for _, j := range y.jobs {
		j.containers, j.wants = 0, 0
		if j.started && !j.over {
			j.containers = 1
		}
		switch {
		case !j.working(y.now):
		case j.todo > 0:
			mapping = append(mapping, j)
		default:
			j.containers, cpu, room = 2, cpu+0.3, room-1
			if j.red++; j.red >= j.reduce {
				j.over = true
			}
		}
	}
	total := 0.0
	for _, j := range mapping {
		want := min(24, 1+int64(24*j.todo/j.maps))
		n := min(want, room/int64(len(mapping)))
		j.wants = want - n
		j.containers += n
		total += float64(n)
	}
	speed := min(1, (16-cpu)/max(total, 1))
	for _, j := range mapping {
		did := float64(j.containers-1) * speed
		j.todo, cpu = max(j.todo-did, 0), cpu+did
	}
	y.idle = max(1-cpu/16, 0)
	y.idled += y.idle
	y.now += sec
}

func (y *toy) snapshot() *steer.Snapshot {
	s := &steer.Snapshot{Now: y.now, Total: sourceTotal, Nodes: 3, CPUIdle: y.idle}
	q := steer.Queue{Name: "root.default", AMShare: y.in}
	for _, j := range y.jobs {
		if j.over {
			continue
		}
		sj := steer.Job{ID: j.id, Queue: "root.default", Started: j.started, Running: j.containers, Pending: j.wants}
		if j.started {
			q.Running++
			q.Used = q.Used.Add(unit.Resources{Mem: 1024, Cores: 1}.Times(j.containers + 1))
			if j.working(y.now) {
				sj.Progress = 5 + 45*(1-j.todo/j.maps) + 45*j.red/j.reduce
			}
		} else {
			q.Waiting++
		}
		s.Jobs = append(s.Jobs, sj)
	}
	s.Used, s.Queues = q.Used, []steer.Queue{q}
	return s
}

// run plays a batch and checks what must hold at every step.
func (y *toy) run(t testing.TB, c Controller) (ends unit.Time, line []string) {
	t.Helper()
	for next := unit.Time(0); y.now < 3*unit.Hour; y.second() {
		if y.now < next {
			continue
		}
		do, again := c.Step(y.snapshot())
		d := c.Last()
		if len(do) > 0 {
			line = append(line, d.String())
			if d.Kind == Raise && d.Pending == 0 {
				t.Fatalf("raised for nobody: %v", d)
			}
			if v := do[0].Value; v < 0.039 || v > 1 {
				t.Fatalf("out of bounds: %v", d)
			}
		}
		if d.Kind == Refuse {
			t.Fatalf("refused a good snapshot: %v", d)
		}
		for _, a := range do {
			y.pending, y.felt = append(y.pending, a), append(y.felt, y.now+10*sec)
		}
		if again == 0 {
			return y.now, line
		}
		next = y.now + again
	}
	t.Fatalf("the batch does not end: %v", c.Last())
	return 0, nil
}

func TestBatches(t *testing.T) {
	for _, name := range Names() {
		for seed := range uint64(3) {
			s := Defaults(name, "root.default")
			s.AM, s.Seed, s.Value, s.Limit = sourceAM, seed, SourcePRJ, amlimit.FairV2
			run := func() (*toy, unit.Time, []string) {
				c, err := New(name, s)
				if err != nil {
					t.Fatal(err)
				}
				y := newToy(6, seed)
				ends, lines := y.run(t, c)
				return y, ends, lines
			}
			y, ends, lines := run()
			if again, _, same := run(); len(same) != len(lines) || again.idled != y.idled {
				t.Errorf("%s: two runs differ", name)
			} else {
				for i := range same {
					if same[i] != lines[i] {
						t.Errorf("%s: two runs differ:\n%s\n%s", name, lines[i], same[i])
					}
				}
			}
			t.Logf("%-10s seed %d: %v, idle %v, begins %v", name, seed, ends, unit.FromSeconds(y.idled), y.begins)
			if testing.Verbose() && seed == 0 {
				for _, l := range lines {
					t.Log("   ", l)
				}
			}
		}
	}
}
