package policy

import (
	"fmt"
	"strings"
)

// Needs is a set of what a policy needs of its engine.
type Needs uint16

// What a policy may need.
const (
	NodeOffers     Needs = 1 << iota // offers name a node
	Placement                        // the engine asks Place about nodes
	Racks                            // Cluster.Racks and Cluster.Working
	NetworkLoad                      // a Network is played, which depends on the run more than on its engine: see Watch
	StageChoice                      // the engine calls Policy.Choose
	TrueSizes                        // the engine calls Policy.Foresee
	InputPlacement                   // the engine calls Policy.Input
	Preemption                       // the engine asks Preemptor for victims
	Timers                           // the engine calls Timer
	Shifts                           // the engine calls Policy.Shifted
	RepeatedOffers                   // nodes are offered repeatedly: see Counter
	Restarts                         // the engine honours Claim.Restart

	Everything = Restarts<<1 - 1
)

// needs says each need in words, in the order of the bits: what the policy does with it.
var needs = [...]string{
	"it decides by node, so every offer must name one",
	"it chooses nodes for tasks",
	"it goes by the racks of the nodes",
	"it goes by the load of the network",
	"it chooses among the stages of a job",
	"it knows the true sizes of jobs, as only a simulator can",
	"it places the input of jobs, and on a cluster the file system does",
	"it preempts containers",
	"it acts periodically",
	"its order changes between events",
	"it counts offers, so nodes must be offered repeatedly",
	"it restarts jobs from their first task, and only an AM decides what of its job runs again",
}

// String lists the needs as clauses.
func (n Needs) String() string {
	var list []string
	for i, text := range needs {
		if n>>i&1 != 0 {
			list = append(list, text)
		}
	}
	return strings.Join(list, "; ")
}

// Required is what the policy needs: what it declares in Needs, and what follows from its parts.
func (p *Policy) Required() Needs {
	n := p.Needs
	add := func(has bool, need Needs) {
		if has {
			n |= need
		}
	}
	_, networked := p.Place.(Networked)
	_, preempts := p.Order.(Preemptor)
	counter, counts := p.Place.(Counter)
	add(p.ByNode, NodeOffers)
	add(p.Place != nil, Placement)
	add(networked, NetworkLoad)
	add(p.Choose != nil, StageChoice)
	add(p.Foresee != nil, TrueSizes)
	add(p.Input != nil, InputPlacement)
	add(preempts, Preemption)
	add(p.Timer != nil, Timers)
	add(p.Shifted != nil, Shifts)
	add(counts && (counter.Counts(MapSlot) || counter.Counts(ReduceSlot)), RepeatedOffers)
	return n
}

// Check is for engines, before anything else: it refuses a policy that needs what the engine cannot give. An engine that ignored it would run another
// policy than the one it was asked for.
func (p *Policy) Check(engine string, gives Needs) error {
	if lacks := p.Required() &^ gives; lacks != 0 {
		return fmt.Errorf("%s cannot run this policy: %v", engine, lacks)
	}
	return nil
}
