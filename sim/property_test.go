package sim_test

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/policytest"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
)

// specs are all policies there are, and some with parameters. (Those that need a network have a test of their own in policy/nas.)
var specs = append(slices.DeleteFunc(all.Policies.Names(), func(name string) bool { return name == "nas" || name == "shufflewatcher" }),
	"nas:parts=mts", "nas:parts=mts+ca,skip=3", "nas:parts=mts+ca,skip=2s,unfetched=yes", "fair:by=user", "fair:by=pool", "fair:resource=drf", "capacity:ordering=fair", "delay:node=4s",
	"fbq:limits=5,20,60", "fbq:limits=15,count=completed", "tags:limits=5,20,shares=0.3,0.3", "tags:limits=10,borrow=yes", "sita:limits=10,40,shares=0.3,0.3", "comp:queues=4")

func genSpec(t *rapid.T) policy.Spec {
	spec, err := policy.ParseSpec(rapid.SampledFrom(specs).Draw(t, "scheduler"))
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// each draws a policy for a property.
func each(check func(*rapid.T, func() (policy.Policy, error))) func(*rapid.T) {
	return func(t *rapid.T) { check(t, maker(genSpec(t))) }
}

func TestPropertyWorkIsConserved(t *testing.T) { rapid.Check(t, each(policytest.Conserves)) }

func TestPropertyDeterminism(t *testing.T) { rapid.Check(t, each(policytest.Repeats)) }

func TestPropertyDecisionsCanBeReplayed(t *testing.T) { rapid.Check(t, each(policytest.Replays)) }

// A job that is by itself takes exactly as long as Alone says, whether that was computed or played.
func TestPropertyAloneIsARunOfOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := policytest.Cluster(t)
		job := policytest.Jobs(t)[:1]
		seed := rapid.Uint64().Draw(t, "seed")
		sink := &policytest.Ledger{}
		_, err := sim.Run(context.Background(), sim.Config{
			Cluster: c, Source: job.Source(), Seed: seed, Sink: sink,
			Model:     sim.Model{StartUp: unit.Time(rapid.Int64Range(0, 3).Draw(t, "startup")) * unit.Second},
			NewPolicy: func() (policy.Policy, error) { return all.Policies.New(policy.Spec{Name: "fifo"}) },
		})
		if err != nil {
			t.Fatal(err)
		}
		if r := sink.Records[0]; r.Outcome == sim.Finished && r.Finish-r.Job.Submit != r.Alone {
			t.Fatalf("took %v, alone %v", r.Finish-r.Job.Submit, r.Alone)
		}
	})
}
