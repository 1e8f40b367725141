package marp

import (
	"math"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// course is one job's progress through its maps and to its end, with the pace of each.
type course struct {
	readAt, since    unit.Time // time of the last reading; start of the period that the pace is measured over
	maps, all        float64   // share of the maps done, percent of the job done
	mapPace, allPace float64   // per second
	peak             float64   // max share of the processors seen
	begun            unit.Time
	seen             bool
	started, working bool
}

// mapped is the share of a job's maps that are done. Where the engine reports only the total: set-up counts 5 %, maps
// 45 % of it (MapReduce), and reduces that copy early add to it, so that the maps seem slightly further than they are.
func mapped(j *steer.Job) float64 {
	if j.Maps > 0 {
		return min(j.Maps, 1)
	}
	return min(max((j.Progress-5)/45, 0), 1)
}

// atWork reports whether a job has tasks: more than its AM's container, or some progress.
func atWork(j *steer.Job) bool { return j.Running >= 2 || j.Done >= 1 || j.Progress >= 1 }

// advance takes a new reading. A pace is the mean since the job got to work or left its maps, and once that is longer
// ago than the lead, roughly the mean over the lead: it looks as far back as it extrapolates.
func (k *course) advance(now unit.Time, j *steer.Job, lead unit.Time) {
	maps := mapped(j)
	if !k.working || maps >= 1 && k.maps < 1 { // the past does not predict this phase
		k.readAt, k.maps, k.all = now, maps, j.Progress
		k.since, k.mapPace, k.allPace = now, 0, 0
		k.working = atWork(j)
		return
	}
	gap := (now - k.readAt).Seconds()
	if gap <= 0 {
		return
	}
	weight := gap / (now - k.since).Seconds()
	if lead > 0 {
		weight = max(weight, 1-math.Exp(-gap/lead.Seconds()))
	}
	k.mapPace += weight * (max(maps-k.maps, 0)/gap - k.mapPace)
	k.allPace += weight * (max(j.Progress-k.all, 0)/gap - k.allPace)
	k.readAt, k.maps, k.all = now, maps, j.Progress
}

// ends reports whether the job will have ended within the lead.
func (k *course) ends(lead unit.Time) bool {
	return k.working && k.maps >= 1 && (k.all >= 100 || k.allPace > 0 && (100-k.all)/k.allPace <= lead.Seconds())
}

// leavesMaps reports whether the job is in its maps now and will not be after the lead.
func (k *course) leavesMaps(lead unit.Time) bool {
	return k.working && k.maps < 1 && k.mapPace > 0 && (1-k.maps)/k.mapPace <= lead.Seconds()
}

// forecast is the share of processors that would idle after the lead if nobody were admitted.
func (a *ahead) forecast(v *view) float64 {
	held, busy := containers(v), v.busy()
	if held == 0 {
		return 1 - busy
	}
	each := v.own() / held // processors that one container keeps busy
	var frees, wants float64
	for _, j := range v.jobs {
		k := a.courses[j.ID]
		switch {
		case k == nil:
		case k.ends(a.lead):
			frees += each * float64(j.Running)
		case k.leavesMaps(a.lead): // one container goes on: reduces are few
			frees += each * float64(max(j.Running-1, 0))
		case k.started:
			wants += float64(j.Pending)
		}
	}
	used := v.queue.Used
	if used.IsZero() { // unknown
		used = v.used
	}
	each = max(each, used.DominantShare(v.total)/held) // processors may be overcommitted
	return min(max(1-busy+frees-each*wants, 0), 1)
}

// containers is the number of containers that the queue's jobs hold.
func containers(v *view) (n float64) {
	for _, j := range v.jobs {
		n += float64(j.Running)
	}
	return n
}

// own is the queue's part of busy, by its share of the cluster's used resources.
func (v *view) own() float64 {
	if v.used.Mem <= 0 || v.queue.Used.Mem <= 0 {
		return v.busy()
	}
	return v.busy() * min(float64(v.queue.Used.Mem)/float64(v.used.Mem), 1)
}

// busy is the share of processors in use; without a sensor, of what is allocated.
func (v *view) busy() float64 {
	if v.idleShare >= 0 {
		return 1 - v.idleShare
	}
	return min(v.used.DominantShare(v.total), 1)
}
