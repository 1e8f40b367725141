package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim"
)

// shares is the share of the starts on a node that holds the input.
type shares struct {
	outcomes
	local, starts int64
}

func (s *shares) Job(r *sim.JobRecord) {
	s.outcomes.Job(r)
	s.local += r.Near[policy.NodeLocal]
	s.starts += r.Near[policy.NodeLocal] + r.Near[policy.RackLocal] + r.Near[policy.OffRack]
}

// A placement behind any order finds more input on the node, on every clock.
func TestPlacementBehindAnyOrder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "capacity-scheduler.xml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(threeQueues, "science", "ml")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, order := range []string{"fifo", "capacity", "fbq:limits=600", "deadline", "sita:limits=600,shares=0.3", file} {
		for _, clock := range []string{Ideal, SLS, Hadoop} {
			var share [2]float64
			for i, place := range []string{"", "delay:node=3s"} {
				s := Default()
				s.Workload, s.Cluster, s.Schedulers, s.Place, s.Clock, s.Model.Replicas = []string{"synth:demo"}, "60x6/3", []string{order}, place, clock, 2
				setup, err := s.Resolve()
				if place != "" && order == file && clock != Ideal {
					if err == nil || !strings.Contains(err.Error(), "places its containers by its own locality delay") {
						t.Errorf("%s, %s: %v", order, clock, err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				got := &shares{outcomes: outcomes{t: t, name: order + ", " + clock}}
				r := setup.Runs()[0]
				r.Workload, r.Seed, r.Sink, r.NoAlone = run.Jobs(slice(t, setup)[:100]), 1, got, true
				if _, err := run.Play(t.Context(), &r); err != nil {
					t.Fatal(err)
				}
				share[i] = float64(got.local) / float64(got.starts)
				if want := strings.TrimSuffix(order+"+"+place, "+"); r.Scheduler.Title() != want {
					t.Errorf("the title is %s, want %s", r.Scheduler.Title(), want)
				}
			}
			t.Logf("%s, %s: %.3f on the node, %.3f with delay", filepath.Base(order), clock, share[0], share[1])
			if share[1] > 0 && share[1] < share[0]+0.02 {
				t.Errorf("%s, %s: %.3f on the node, %.3f with delay", order, clock, share[0], share[1])
			}
		}
	}
}

// A pair is typed with the scheduler, or its placement is given for all schedulers; both mean the same, in files and variants too.
func TestPlacementAsTyped(t *testing.T) {
	for _, c := range []struct{ file, want, err string }{
		{"scheduler: capacity+delay:node=3s", "capacity+delay:node=3s", ""},
		{"scheduler: [fifo, 'capacity:queues=etl:60;adhoc:40+delay', nas:parts=mts+ca]", "fifo capacity:queues=etl:60;adhoc:40+delay nas:parts=mts+ca", ""},
		{"scheduler: [fifo, fair+delay:node=3]\nplace: delay:node=1s", "fifo+delay:node=1s fair+delay:node=3", ""},
		{"scheduler: fifo+delay:node=soon", "", "placement delay: node=soon"},
		{"scheduler: fifo+delay:by=user", "", "placement delay has no parameter by: it has node, rack"},
		{"scheduler: fifo+dealy", "", "did you mean delay?"},
		{"scheduler: fifo\nplace: dealy", "", `--place: no policy is named dealy; did you mean "delay"?`},
		{"scheduler: fifo+nas", "", "nas chooses a job together with its node, so its placement needs its own order: want delay"},
		{"scheduler: fifo+shufflewatcher", "", "needs its own order"},
		{"scheduler: fifo+capacity1", "", "needs its own order"},
		{"scheduler: fifo+fair", "", "fair places no tasks: want delay"},
		{"scheduler: nas+delay", "", "nas chooses nodes for its tasks itself and takes no second placement"},
		{"scheduler: [fifo, delay]\nplace: delay", "", "delay chooses nodes for its tasks itself"},
		{"scheduler: fifo+delay+delay", "", "fifo+delay chooses nodes for its tasks itself"},
		{"scheduler: none.xml+delay", "", "none.xml does not exist"},
	} {
		s, err := Parse("s.yaml", []byte("workload: synth:demo\ncluster: 6x6\n"+c.file+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		setup, err := s.Resolve()
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %q", c.file, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		var titles []string
		for _, r := range setup.Runs() {
			titles = append(titles, r.Scheduler.Title())
			if about := r.About(1); strings.Contains(about.Command, "--place") || !strings.Contains(about.Command, Quote(r.Scheduler.Name)) {
				t.Errorf("%s: repeated with %s", c.file, about.Command)
			}
		}
		if got := strings.Join(titles, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.file, got, c.want)
		}
	}
	base := variantBase(t)
	for text, want := range map[string]string{"place=delay": "+delay", "scheduler=fifo+delay:node=3s": "fifo+delay:node=3s"} {
		v, err := ParseVariant("other: " + text)
		if err != nil {
			t.Fatal(err)
		}
		setup, err := base.Variant(v)
		if err != nil || !strings.HasSuffix(setup.Schedulers[0].Name, want) {
			t.Errorf("%s: %v, %v", text, setup, err)
		}
	}
}
