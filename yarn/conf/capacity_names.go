package conf

import (
	"slices"
	"strings"
)

// meaning is how a setting is handled.
type meaning uint8

const (
	unknownSetting meaning = iota
	modelled               // has an effect
	leafOnly               // has an effect in leaves; ignored on a parent
	ifHeartbeat            // for engines with heartbeats
	notModelled            // known, ignored here
	harmless               // does not affect scheduling
)

// settings are names by meaning, separated by blanks.
type settings map[meaning]string

// Settings of a queue, without the queue's path. A name that ends in * matches all with that prefix.
var queueSettings = settings{
	modelled: `queues capacity maximum-capacity state ordering-policy priority`,
	leafOnly: `minimum-user-limit-percent user-limit-factor maximum-am-resource-percent maximum-applications default-application-priority
		ordering-policy.fair.enable-size-based-weight`,
	notModelled: `acl_submit_applications acl_administer_queue acl_administer_jobs acl_list_applications acl_application_max_priority
		acl_administer_reservations acl_list_reservations acl_submit_reservations maximum-allocation maximum-allocation-mb
		maximum-allocation-vcores max-parallel-apps maximum-application-lifetime default-application-lifetime
		intra-queue-preemption.disable_preemption accessible-node-labels accessible-node-labels.* default-node-label-expression reservable
		reservation-* average-capacity instantaneous-max-capacity configurable user-settings.* auto-create-child-queue.*
		auto-queue-creation-v2.* leaf-queue-template.* multi-node-sorting.policy ordering-policy.exclusive-enforced-partitions
		allow-zero-capacity-sum unmanaged-am.*`,
	ifHeartbeat: `disable_preemption`,
	harmless:    `show-reservations-as-queues`,
}

// Settings of the scheduler as a whole, without the prefix.
var schedulerSettings = settings{
	modelled: `maximum-applications maximum-am-resource-percent resource-calculator minimum-user-limit-percent user-limit-factor
		global-queue-max-application allow-zero-capacity-sum`,
	ifHeartbeat: `per-node-heartbeat.multiple-assignments-enabled per-node-heartbeat.maximum-container-assignments
		per-node-heartbeat.maximum-offswitch-assignments node-locality-delay rack-locality-additional-delay rack-locality-full-reset
		reservations-continue-look-all-nodes`,
	notModelled: `queue-mappings queue-mappings-override.enable app-name.queue-mappings* mapping-rule-* workflow-priority-mappings*
		schedule-asynchronously.* multi-node-placement-enabled multi-node-sorting.* lazy-preemption-enabled legacy-queue-mode.enabled
		max-parallel-apps user.* maximum-application-lifetime default-application-lifetime configuration.* queue-management-policy*
		max-queue-depth skip-allocate-on-nodes-with-reserved-containers assign-multiple.* auto-create-child-queue.* autoqueue.*`,
	harmless: `application.fail-fast user-metrics.enable`,
}

// Settings of yarn-site.xml that are read if they are in the same file.
var siteSettings = []string{"yarn.cluster.max-application-priority", "yarn.scheduler.minimum-allocation-mb", "yarn.scheduler.minimum-allocation-vcores"}

// of is the meaning of a setting. No name is in two of the lists.
func (t settings) of(name string) meaning {
	for as, list := range t {
		for known := range strings.FieldsSeq(list) {
			if prefix, open := strings.CutSuffix(known, "*"); open && strings.HasPrefix(name, prefix) || known == name {
				return as
			}
		}
	}
	return unknownSetting
}

// names are those without *, sorted.
func (t settings) names() (all []string) {
	for _, list := range t {
		all = append(all, strings.Fields(list)...)
	}
	slices.Sort(all)
	return slices.DeleteFunc(all, func(name string) bool { return strings.HasSuffix(name, "*") })
}

// classify notes a setting that is ignored or unknown.
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
	switch schedulerSettings.of(rest) {
	case ifHeartbeat:
		c.HeartbeatOnly = note(c.HeartbeatOnly, p.String()+" is not modelled without node heartbeats")
	case notModelled:
		c.notModelled(p)
	case unknownSetting:
		c.unknown(p, rest, schedulerSettings)
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
	switch queueSettings.of(name) {
	case leafOnly:
		if !q.Leaf() {
			b.c.warn(p.Pos, "%s has no effect on the parent queue %s: set it on its leaves", p.Name, q.Path)
		}
	case notModelled:
		b.c.notModelled(p)
	case unknownSetting:
		if len(b.c.Warnings) > maxNotes {
			return
		}
		for i, dots := 0, 0; i < len(name) && dots < MaxDepth; i++ {
			if name[i] != '.' {
				continue
			}
			dots++
			if queueSettings.of(name[i+1:]) == unknownSetting {
				continue
			}
			var known []string
			for _, k := range q.Children[:min(len(q.Children), 1000)] { // enough for a guess
				known = append(known, k.Name)
			}
			first, _, _ := strings.Cut(name, ".")
			b.c.warn(p.Pos, "%s has no effect: there is no queue %s%s", shorten(p.Name), shorten(q.Path+"."+name[:i]), didYouMean(first, known))
			return
		}
		b.c.unknown(p, name, queueSettings)
	}
}

// Known reports whether a file of this kind may have a setting: of a queue, or of the scheduler as a whole. names are candidates for a
// suggestion.
func Known(kind Kind, queue bool, setting string) (known bool, names []string) {
	if kind == FairFile {
		if names = fairTopWords; queue {
			names = fairQueueWords[2:] // without the queues themselves
		}
		_, inert := fairInert[setting]
		return inert || slices.Contains(names, setting), names
	}
	table := schedulerSettings
	if queue {
		table = queueSettings
	}
	return table.of(setting) != unknownSetting, table.names()
}

// LeafOnly reports whether a queue's setting has an effect in leaf queues alone.
func LeafOnly(setting string) bool { return queueSettings.of(setting) == leafOnly }

// QueueNamesMatch reports whether two names may refer to the same queue: they are equal, or one is the last parts of the other, as b and a.b are of
// root.a.b. A short name may match several queues.
func QueueNamesMatch(a, b string) bool {
	return a == b || strings.HasSuffix(a, "."+b) || strings.HasSuffix(b, "."+a)
}
