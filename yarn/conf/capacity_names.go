package conf

import (
	"slices"
	"strings"
)

// meaning says what becomes of a setting.
type meaning uint8

const (
	unheard     meaning = iota
	modelled            // acted on
	leafOnly            // acted on in leaves; without effect on a parent
	ifHeartbeat         // kept for engines with heartbeats
	notModelled         // understood, no effect here
	harmless            // nothing that changes who runs when
)

// Settings of a queue, without the queue's path. A name that ends in * stands for all that start so.
var queueSettings = []struct {
	name string
	as   meaning
}{
	{"queues", modelled}, {"capacity", modelled}, {"maximum-capacity", modelled}, {"state", modelled},
	{"ordering-policy", modelled}, {"priority", modelled},
	{"minimum-user-limit-percent", leafOnly}, {"user-limit-factor", leafOnly}, {"maximum-am-resource-percent", leafOnly},
	{"maximum-applications", leafOnly}, {"default-application-priority", leafOnly},
	{"ordering-policy.fair.enable-size-based-weight", leafOnly},
	{"acl_submit_applications", notModelled}, {"acl_administer_queue", notModelled}, {"acl_administer_jobs", notModelled},
	{"acl_list_applications", notModelled}, {"acl_application_max_priority", notModelled}, {"acl_administer_reservations", notModelled},
	{"acl_list_reservations", notModelled}, {"acl_submit_reservations", notModelled},
	{"maximum-allocation", notModelled}, {"maximum-allocation-mb", notModelled}, {"maximum-allocation-vcores", notModelled},
	{"max-parallel-apps", notModelled}, {"maximum-application-lifetime", notModelled}, {"default-application-lifetime", notModelled},
	{"disable_preemption", ifHeartbeat}, {"intra-queue-preemption.disable_preemption", notModelled},
	{"accessible-node-labels", notModelled}, {"accessible-node-labels.*", notModelled}, {"default-node-label-expression", notModelled},
	{"reservable", notModelled}, {"reservation-*", notModelled}, {"average-capacity", notModelled}, {"instantaneous-max-capacity", notModelled},
	{"show-reservations-as-queues", harmless}, {"configurable", notModelled},
	{"user-settings.*", notModelled}, {"auto-create-child-queue.*", notModelled}, {"auto-queue-creation-v2.*", notModelled},
	{"leaf-queue-template.*", notModelled}, {"multi-node-sorting.policy", notModelled}, {"ordering-policy.exclusive-enforced-partitions", notModelled},
	{"allow-zero-capacity-sum", notModelled}, {"unmanaged-am.*", notModelled},
}

// Settings of the scheduler as a whole, without the prefix.
var schedulerSettings = []struct {
	name string
	as   meaning
}{
	{"maximum-applications", modelled}, {"maximum-am-resource-percent", modelled}, {"resource-calculator", modelled},
	{"minimum-user-limit-percent", modelled}, {"user-limit-factor", modelled}, {"global-queue-max-application", modelled},
	{"allow-zero-capacity-sum", modelled},
	{"per-node-heartbeat.multiple-assignments-enabled", ifHeartbeat}, {"per-node-heartbeat.maximum-container-assignments", ifHeartbeat},
	{"per-node-heartbeat.maximum-offswitch-assignments", ifHeartbeat}, {"node-locality-delay", ifHeartbeat},
	{"rack-locality-additional-delay", ifHeartbeat}, {"rack-locality-full-reset", ifHeartbeat},
	{"reservations-continue-look-all-nodes", ifHeartbeat},
	{"queue-mappings", notModelled}, {"queue-mappings-override.enable", notModelled}, {"app-name.queue-mappings*", notModelled},
	{"mapping-rule-*", notModelled}, {"workflow-priority-mappings*", notModelled}, {"application.fail-fast", harmless},
	{"schedule-asynchronously.*", notModelled}, {"multi-node-placement-enabled", notModelled}, {"multi-node-sorting.*", notModelled},
	{"lazy-preemption-enabled", notModelled}, {"legacy-queue-mode.enabled", notModelled}, {"max-parallel-apps", notModelled},
	{"user.*", notModelled}, {"maximum-application-lifetime", notModelled}, {"default-application-lifetime", notModelled},
	{"user-metrics.enable", harmless}, {"configuration.*", notModelled}, {"queue-management-policy*", notModelled},
	{"max-queue-depth", notModelled}, {"skip-allocate-on-nodes-with-reserved-containers", notModelled}, {"assign-multiple.*", notModelled},
	{"auto-create-child-queue.*", notModelled}, {"autoqueue.*", notModelled},
}

// Settings of yarn-site.xml that are read when they stand in the same file.
var siteSettings = []string{"yarn.cluster.max-application-priority", "yarn.scheduler.minimum-allocation-mb", "yarn.scheduler.minimum-allocation-vcores"}

func lookUp(table []struct {
	name string
	as   meaning
}, name string) meaning {
	for _, s := range table {
		if prefix, open := strings.CutSuffix(s.name, "*"); open && strings.HasPrefix(name, prefix) || s.name == name {
			return s.as
		}
	}
	return unheard
}

func listed(table []struct {
	name string
	as   meaning
}) []string {
	var all []string
	for _, s := range table {
		if !strings.HasSuffix(s.name, "*") {
			all = append(all, s.name)
		}
	}
	return all
}

// classify notes a setting that has no effect, or is not known at all.
func (b *capacityReader) classify(p *Property) {
	c := b.c
	rest, ours := strings.CutPrefix(p.Name, Prefix)
	if !ours {
		if !slices.Contains(siteSettings, p.Name) {
			c.NotModelled = note(c.NotModelled, p.String()+" is not modelled"+didYouMean(p.Name, siteSettings))
		}
		return
	}
	if rest == "root" || strings.HasPrefix(rest, "root.") {
		b.classifyQueue(p, rest)
		return
	}
	switch lookUp(schedulerSettings, rest) {
	case ifHeartbeat:
		c.HeartbeatOnly = note(c.HeartbeatOnly, p.String()+" is not modelled without node heartbeats")
	case notModelled:
		c.NotModelled = note(c.NotModelled, p.String()+" is not modelled")
	case unheard:
		if len(c.Warnings) <= maxNotes {
			b.warn("%s is not a known setting%s", p.Pos, shorten(p.Name), didYouMean(rest, listed(schedulerSettings)))
		}
	}
}

func (b *capacityReader) classifyQueue(p *Property, rest string) {
	q, name := b.c.Root, strings.TrimPrefix(strings.TrimPrefix(rest, "root"), ".")
	for {
		head, tail, ok := strings.Cut(name, ".")
		k := b.queues[q.Path+"."+head]
		if !ok || k == nil {
			break
		}
		q, name = k, tail
	}
	switch lookUp(queueSettings, name) {
	case leafOnly:
		if !q.Leaf() {
			b.warn("%s has no effect on the parent queue %s: set it on its leaves", p.Pos, p.Name, q.Path)
		}
	case notModelled:
		b.c.NotModelled = note(b.c.NotModelled, p.String()+" is not modelled")
	case unheard:
		if len(b.c.Warnings) > maxNotes {
			return
		}
		for i, dots := 0, 0; i < len(name) && dots < MaxDepth; i++ {
			if name[i] != '.' {
				continue
			}
			dots++
			if lookUp(queueSettings, name[i+1:]) == unheard {
				continue
			}
			var known []string
			for _, k := range q.Children[:min(len(q.Children), 1000)] { // a guess is not worth more
				known = append(known, k.Name)
			}
			first, _, _ := strings.Cut(name, ".")
			b.warn("%s has no effect: there is no queue %s%s", p.Pos, shorten(p.Name), shorten(q.Path+"."+name[:i]), didYouMean(first, known))
			return
		}
		b.warn("%s is not a known setting%s", p.Pos, shorten(p.Name), didYouMean(name, listed(queueSettings)))
	}
}
