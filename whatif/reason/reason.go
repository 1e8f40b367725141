// Package reason says in words what holds a job back: on a live cluster, and in a simulation.
package reason

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/sim"
	"github.com/yardmaster/yardmaster/unit"
)

// Say says the reasons, tightest first, and who is ahead. It returns what ends the wait: "it gets a container when ...".
func Say(say func(sentence string), reasons []policy.Reason) (until string) {
	until = "nodes report that they have room"
	if len(reasons) == 0 {
		say("No limit holds it back.")
	}
	for i := range reasons {
		r := &reasons[i]
		text, ends := Sentence(r)
		if i == 0 {
			until = ends
			say(text)
		} else if r.Limit != "" || !r.Max.IsZero() { // else who is ahead says it
			say("Besides: " + text)
		}
	}
	if i := slices.IndexFunc(reasons, func(r policy.Reason) bool { return r.Ahead > 0 }); i >= 0 {
		var ahead []string
		for _, id := range First(&reasons[i]) {
			ahead = append(ahead, term.Name(id))
		}
		more := ""
		if n := reasons[i].Ahead - int64(len(reasons[i].Next)); n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		say("Ahead of it: " + strings.Join(ahead, ", ") + more + ".")
	}
	return until
}

// First are the first of those ahead.
func First(r *policy.Reason) []string { return r.Next[:min(r.Ahead, int64(len(r.Next)))] }

// Sentence says what holds a job back, and until when.
func Sentence(r *policy.Reason) (text, until string) {
	queue, user, node := term.Name(r.Queue), term.Name(r.User), term.Name(r.Node)
	held, counted := fmt.Sprintf("%s of %s", amount(r, r.Held, r.Max), amount(r, r.Max, r.Max)), fmt.Sprintf("%d of %d", r.Count, r.MaxCount)
	if r.MaxCount > 0 {
		held = counted + " slots"
	}
	next := ""
	if !r.Size.IsZero() {
		next = fmt.Sprintf(", and its next container has %s", amount(r, r.Size, r.Max))
	}
	skipped := fmt.Sprintf("it has skipped %d of at most %d opportunities on others", r.Count, r.MaxCount)
	if r.MaxWait > 0 {
		skipped = fmt.Sprintf("it has waited %v of at most %v", r.Waited, r.MaxWait)
	}
	if node != "" {
		skipped += ", " + node + " among them"
	}
	const waited = ", or it has waited long enough"
	switch r.Limit {
	case "maximum-capacity", "maxResources":
		return fmt.Sprintf("Queue %s is at its maximum (%s): it holds %s%s.", queue, r.Limit, held, next), "a container in " + queue + " ends"
	case "user-limit-factor", "minimum-user-limit-percent":
		return fmt.Sprintf("User %s is at the limit of a user in %s (%s): it holds %s%s.", user, queue, r.Limit, held, next),
			fmt.Sprintf("a container of %s in %s ends", user, queue)
	case "maximum-am-resource-percent", "maxAMShare", "am-share":
		this := ""
		if !r.Size.IsZero() {
			this = ", and this one has " + amount(r, r.Size, r.Max)
		}
		where := cmp.Or(queue, "the cluster")
		if user != "" {
			return fmt.Sprintf("The AMs of user %s are at a user's limit in %s (%s): they hold %s%s.", user, where, r.Limit, held, this),
				fmt.Sprintf("an application of %s in %s ends", user, where)
		}
		return fmt.Sprintf("The AMs in %s are at their limit (%s): they hold %s%s.", where, r.Limit, held, this), "an application in " + where + " ends"
	case "maximum-applications", "maxRunningApps", "maximum-system-jobs":
		owner := cmp.Or(queue, "the cluster")
		if user != "" {
			owner = "user " + user + " in " + owner
		}
		return fmt.Sprintf("There are as many applications of %s as there may be (%s): %s.", owner, r.Limit, counted), "one of them ends"
	case "maximum-initialized-active-tasks", "maximum-initialized-active-tasks-per-user":
		return fmt.Sprintf("The initialised jobs of %s have as many tasks as they may (%s): %s.", cmp.Or(user, queue), r.Limit, counted), "one of these jobs ends"
	case "init-poll-interval":
		return fmt.Sprintf("It is not initialised yet: the poller comes every %v (%s).", r.MaxWait, r.Limit), "the poller has come"
	case "node-locality-delay", "rack-locality-additional-delay", "locality.threshold.node", "locality.threshold.rack", "node-delay", "rack-delay", "off-switch", "node", "rack", "skip":
		return fmt.Sprintf("It waits for a node that holds its data (%s): %s.", r.Limit, skipped), "such a node has room" + waited
	case "threshold":
		return fmt.Sprintf("Its maps produce more than the nodes with room may send now (%s): %s.", r.Limit, skipped), "another map ends on such a node" + waited
	case "congested", "reduce-skip", "gate":
		text = fmt.Sprintf("The uplinks of node %s's rack are congested (%s)", node, r.Limit)
		if r.MaxCount+int64(r.MaxWait) > 0 {
			text, until = text+": "+skipped, waited
		}
		return text + ".", "they are not, or a node of another rack has room" + until
	case "slowstart":
		return fmt.Sprintf("Its reduces start when enough of its maps are done (%s): %s are.", r.Limit, counted), "its maps are done"
	case "capped":
		return fmt.Sprintf("Its reduces must leave room for maps that wait (%s).", r.Limit), "more maps have started"
	case "avoid-busy-nodes":
		return fmt.Sprintf("Its reduces avoid nodes that run one (%s), such as %s.", r.Limit, node), "a node without one has room, or no other is left"
	case "missed-share":
		return fmt.Sprintf("Jobs past their deadlines hold as many containers as they may (%s): %s.", r.Limit, counted), "one of these containers ends"
	case "nodata-cap":
		return fmt.Sprintf("It holds as many containers as a job without an estimate may (%s): %s.", r.Limit, counted), "one of its tasks has finished"
	case "mode":
		return "It needs no more containers to meet its deadline (mode).", "it needs them"
	case "shares":
		return fmt.Sprintf("It is in %s, which has a part of the nodes (%s) and holds %s.", term.Line(r.Queue), r.Limit, held), "a container ends there"
	case "machine kind":
		return fmt.Sprintf("No %s machine has room, and node %s is of the other kind.", queue, node), "a container ends on a " + queue + " machine"
	case "plan":
		return fmt.Sprintf("The plan does not put it on the rack of node %s now, which has room.", node), "a rack of its plan has room"
	case "racks of a job":
		return fmt.Sprintf("It is not in the plan and may use few racks: it runs in %s, and node %s is in another.", counted, node), "one of its racks has room"
	case "AMs of a rack":
		return fmt.Sprintf("AMs may take half of a rack: on that of node %s they hold %s.", node, held), "an application in the rack ends"
	case policy.Refused:
		return fmt.Sprintf("The scheduler refuses node %s, which has room.", node), "another node has room"
	case policy.NodeSize:
		return fmt.Sprintf("No node is large enough: its next container has %s, and the largest node %s.", amount(r, r.Size, r.Max), amount(r, r.Max, r.Max)), "a larger node joins"
	case policy.NodeRoom:
		if r.Size.IsZero() {
			return "No node has a free slot.", "a task ends"
		}
		if r.Max.IsZero() {
			return fmt.Sprintf("No node has room: its next container has %s, and all nodes are full.", amount(r, r.Size, r.Size)), "a container ends"
		}
		return fmt.Sprintf("No node has room: its next container has %s, and at most %s are free on one.", amount(r, r.Size, r.Size), amount(r, r.Max, r.Size)), "a container ends"
	case policy.GangRoom:
		return fmt.Sprintf("Its tasks start together, and there is room for %s.", counted), "enough containers end"
	case policy.GangSize:
		return fmt.Sprintf("Its tasks start together, and %s exist.", counted), "the others are created"
	case policy.NoNode:
		return "The cluster found no node for it: besides room, what it asks of a node counts (selector, taints, affinity, volumes).", "a node suits it, or its next trial succeeds"
	case policy.Reserved:
		if r.Ahead > 0 {
			return fmt.Sprintf("Node %s has %s free, but is reserved for another application.", node, amount(r, r.Held, r.Max)), "that one has got its container"
		}
		if r.Max.Fits(r.Held) { // for a gang, which needs more nodes
			return fmt.Sprintf("Node %s is reserved for it.", node), "enough containers end on the nodes that are reserved for it"
		}
		return fmt.Sprintf("Node %s is reserved for it: %s of the %s that it needs are free there.", node, amount(r, r.Held, r.Max), amount(r, r.Max, r.Max)),
			"enough containers end on " + node
	case "":
		if !r.Max.IsZero() {
			return fmt.Sprintf("Queue %s comes first: it holds %s of its share.", queue, held), "those ahead have their containers"
		}
		if queue != "" {
			queue = " in " + queue
		}
		return "Others" + queue + " come first.", "those ahead have their containers"
	}
	text = "It is held back by " + term.Line(r.Limit) // of another repository's policy
	switch {
	case r.MaxCount > 0:
		text += ": " + counted
	case !r.Max.IsZero():
		text += ": " + held
	case node != "":
		text += " on node " + node
	}
	return text + ".", "that ends"
}

// amount is a size in the measure of the next container's, with cores only where the limit has some.
func amount(r *policy.Reason, size, limit unit.Resources) string {
	if limit.Cores == 0 {
		return fmt.Sprintf("%d MiB", size.Mem)
	}
	return size.Like(r.Size)
}

// Text writes what a simulation answered, for people; 0 columns: not a terminal.
func Text(w io.Writer, columns int, y *sim.Why) error {
	r := &y.Record
	if r.Job == nil {
		return fmt.Errorf("no job is named %s", term.Name(y.ID))
	}
	say := func(sentence string) { fmt.Fprint(w, term.Sentence(sentence, columns)) }
	title := fmt.Sprintf("At %v, %s of %s in %s", y.At, term.Name(y.ID), cmp.Or(term.Name(r.Job.User), "nobody"), cmp.Or(term.Name(r.Job.Queue), "default"))
	switch {
	case r.Job.Submit > y.At:
		say(fmt.Sprintf("%s has not arrived: it is submitted at %v.", title, r.Job.Submit))
	case !y.Present && r.Outcome == sim.Finished:
		say(fmt.Sprintf("%s has ended: it finished at %v.", title, r.Finish))
	case !y.Present:
		say(fmt.Sprintf("%s has ended: it was %v (%s).", title, r.Outcome, term.Line(r.Reason)))
	case y.Pending == 0:
		say(fmt.Sprintf("%s runs in %s and waits for none.", title, unit.Count(y.Running, "container")))
	default:
		if y.Running > 0 {
			say(fmt.Sprintf("%s runs in %s and waits for %d more.", title, unit.Count(y.Running, "container"), y.Pending))
		} else {
			say(fmt.Sprintf("%s waits since %v (%v).", title, r.Job.Submit, y.At-r.Job.Submit))
		}
		text := "It gets a container when " + Say(say, y.Reasons)
		if r.Start > y.At {
			text += fmt.Sprintf(": in this run its first one after %v more, at %v", r.Start-y.At, r.Start)
		}
		say(text + ".")
	}
	for _, by := range slices.Sorted(maps.Keys(y.Lost)) {
		whom := ""
		if by != "" {
			whom = ", for " + term.Line(by)
		}
		say(fmt.Sprintf("By then it had lost %s to preemption%s.", unit.Count(y.Lost[by], "container"), whom))
	}
	if y.Taken > 0 {
		say(fmt.Sprintf("By then others had lost %s to preemption for it.", unit.Count(y.Taken, "container")))
	}
	return nil
}
