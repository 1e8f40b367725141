package policytest_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/policytest"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

var clocks = []string{scenario.Ideal, scenario.SLS, scenario.Hadoop}

// specs are all policies, with parameters that a small run exercises, and pairs of an order and a placement.
var specs = []string{
	"fifo", "fair", "fair:by=user", "capacity", "capacity1", "delay:node=2", "delay:node=3s", "shufflewatcher", "nas", "deadline", "fbq:limits=20", "tags:limits=20", "sita:limits=60,shares=0.5",
	"comp", "hybrid", "capacity+delay:node=2", "fbq:limits=20+delay:node=3s",
}

// play plays jobs under a policy on a clock, watched, with a change of the run.
func play(t *testing.T, spec, clock, cluster string, jobs workload.Slice, change func(*run.Spec)) (books policytest.Books, err error) {
	t.Helper()
	s := scenario.Default()
	s.Workload, s.Cluster, s.Schedulers, s.Clock, s.Model.Replicas = []string{"synth:demo"}, cluster, []string{spec}, clock, 1
	if p := fresh(t, spec); p.Required()&policy.NetworkLoad != 0 {
		s.Data.Network = "racks:node=1Gbit,uplink=1Gbit"
	}
	setup, err := s.Resolve()
	if err != nil {
		return nil, err
	}
	r := setup.Runs()[0]
	r.Workload, r.Seed, r.Sink, r.NoAlone = run.Jobs(jobs), 1, &policytest.Ledger{}, true
	r.Scheduler.New = books.Watch(t, r.Scheduler.New)
	if change != nil {
		change(&r)
	}
	sum, err := run.Play(t.Context(), &r)
	if err != nil {
		return nil, err
	}
	if sum.Finished != int64(len(jobs)) {
		return nil, fmt.Errorf("%d of %d jobs finished", sum.Finished, len(jobs))
	}
	books.Empty(t)
	return books, nil
}

// watch is play, for runs that must succeed.
func watch(t *testing.T, spec, clock, cluster string, jobs workload.Slice) policytest.Books {
	t.Helper()
	books, err := play(t, spec, clock, cluster, jobs, nil)
	if err != nil {
		t.Fatal(err)
	}
	return books
}

// fresh makes a policy as typed.
func fresh(t *testing.T, spec string) policy.Policy {
	t.Helper()
	load, _, err := all.Load(all.Policies, spec)
	if err != nil {
		t.Fatal(err)
	}
	p, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func demo(t *testing.T, n int) workload.Slice {
	t.Helper()
	s := scenario.Default()
	s.Workload, s.Cluster, s.Schedulers = []string{"synth:demo"}, "6x6", []string{"fifo"}
	setup, err := s.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	src, err := setup.Workload.Open(1)
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := workload.ReadAll(src)
	if err != nil {
		t.Fatal(err)
	}
	return jobs[:n]
}

// On every clock the engine keeps the contract, and what it told the policy, replayed without the engine, brings the same decisions.
func TestEveryPolicyOnEveryClockReplays(t *testing.T) {
	jobs := demo(t, 8)
	for i := range jobs {
		if i%2 == 0 {
			jobs[i].AM = unit.Resources{Mem: 1024, Cores: 1}
		}
	}
	named := map[string]bool{}
	for _, spec := range specs {
		name, _, _ := strings.Cut(spec, ":")
		named[name] = true
		for _, clock := range clocks {
			t.Run(spec+", "+clock, func(t *testing.T) {
				for _, r := range watch(t, spec, clock, "6x6/3", jobs).Recordings() {
					policytest.Replay(t, fresh(t, spec), r)
				}
			})
		}
	}
	for _, name := range all.Policies.Names() {
		if !named[name] {
			t.Errorf("%s is not watched", name)
		}
	}
}

// few is a handful of jobs for the recordings.
func few() workload.Slice {
	ask := unit.Resources{Mem: 1024, Cores: 1}
	job := func(id, user, queue string, submit, length unit.Time, maps, reduces int64) *workload.Job {
		j := &workload.Job{ID: id, User: user, Queue: queue, Submit: submit * unit.Second, Deadline: (submit + 60) * unit.Second, AM: ask}
		j.Stages = []workload.Stage{{Kind: workload.Map, Tasks: maps, Ask: ask, Input: unit.Bytes(maps) << 27, Length: workload.Fixed(length * unit.Second)}}
		if reduces > 0 {
			j.Stages = append(j.Stages, workload.Stage{
				Kind: workload.Reduce, Tasks: reduces, Ask: ask, Length: workload.Fixed(5 * unit.Second), After: []workload.Edge{{Shuffle: 1 << 27, SlowStart: 1}},
			})
		}
		return j
	}
	return workload.Slice{job("long", "ann", "a", 0, 40, 4, 1), job("short", "bob", "b", 3, 5, 2, 0), job("last", "ann", "b", 5, 10, 2, 0)}
}

// The recordings in testdata, of runs in ideal time and on a YARN clock, bring the same decisions from today's policies. UPDATE=1 records anew.
func TestRecordings(t *testing.T) {
	for _, spec := range specs {
		for _, clock := range clocks[:2] {
			name := strings.NewReplacer(":", "_", "=", "-", ",", "_").Replace(spec) + "." + clock + ".jsonl"
			t.Run(name, func(t *testing.T) {
				path := filepath.Join("testdata", name)
				if os.Getenv("UPDATE") != "" {
					r := watch(t, spec, clock, "3x2/2", few()).Recordings()[0]
					r.Policy = spec
					var out bytes.Buffer
					if err := r.Write(&out); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				file, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				r, err := policytest.Read(bytes.NewReader(file))
				if err != nil {
					t.Fatal(err)
				}
				if r.Policy != spec {
					t.Errorf("a recording of %s", r.Policy)
				}
				policytest.Replay(t, fresh(t, spec), r)
				var again bytes.Buffer
				if err := r.Write(&again); err != nil || !bytes.Equal(again.Bytes(), file) {
					t.Errorf("written again it differs: %v", err)
				}
			})
		}
	}
}

// failing notes a failure and stops the test.
type failing struct {
	*testing.T
	text string
}

func (f *failing) Fatalf(format string, args ...any) {
	f.text = fmt.Sprintf(format, args...)
	panic(f)
}

// failure is how a replay fails; "": it does not.
func failure(t *testing.T, spec string, r *policytest.Recording) (text string) {
	t.Helper()
	f := &failing{T: t}
	defer func() {
		if r := recover(); r != nil && r != f {
			panic(r)
		}
		text = f.text
	}()
	policytest.Replay(f, fresh(t, spec), r)
	return ""
}

// recorded reads a recording.
func recorded(t *testing.T, name string) *policytest.Recording {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := policytest.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A policy asks what it asked when it was recorded, no more and no less.
func TestReplaysCountAnswers(t *testing.T) {
	for _, n := range []int{-1, 1} {
		r := recorded(t, "nas.ideal")
		loads := &r.Answers.Network
		*loads = append(*loads, [2]float64{})[:len(*loads)+n]
		if got, want := failure(t, "nas", r), map[int]string{-1: "more than the recording has", 1: "are left"}[n]; !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A recording refuses another policy, and files that are none.
func TestRecordingsTellPoliciesApart(t *testing.T) {
	for spec, want := range map[string]string{
		"fair": "", "fifo": "the recording has", "fbq:limits=1": "the recording has", "delay:node=0": "the recording has",
	} {
		t.Run(spec, func(t *testing.T) {
			name := "fair.ideal"
			if spec == "delay:node=0" {
				name = "delay_node-3s.ideal"
			}
			if got := failure(t, spec, recorded(t, name)); !strings.Contains(got, want) || want == "" && got != "" {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
	for text, want := range map[string]string{
		"": "EOF", "{}": "version 0, want 1", `{"policytest":2}`: "version 2", `{"policytest":1}` + "\n{": "call 0", `{"policytest":1}` + "\n" + `{"job":"x"}`: "call 0",
	} {
		if _, err := policytest.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
