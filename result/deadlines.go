package result

import "github.com/yardmaster/yardmaster/sim"

// Deadlines says how jobs with a deadline fared. The lateness of a job is its finish less its deadline, negative if it is early; its tardiness is
// the same, but 0 if it is early.
type Deadlines struct {
	Jobs          int64   `json:"jobs"` // with a deadline, whatever their outcome
	Met           int64   `json:"met"`  // finished by their deadline
	MetShare      float64 `json:"met_share"`
	MeanLateness  float64 `json:"mean_lateness"` // s, over finished jobs
	MaxLateness   float64 `json:"max_lateness"`
	MeanTardiness float64 `json:"mean_tardiness"`
}

// MaxTardiness is that of the latest job.
func (d *Deadlines) MaxTardiness() float64 { return max(0, d.MaxLateness) }

type dues struct {
	jobs, met, finished int64
	late, tardy, max    float64
}

func (d *dues) add(r *sim.JobRecord) {
	if r.Job.Deadline <= 0 {
		return
	}
	d.jobs++
	if r.Outcome != sim.Finished {
		return
	}
	late := (r.Finish - r.Job.Deadline).Seconds()
	if late <= 0 {
		d.met++
	}
	if d.finished == 0 || late > d.max {
		d.max = late
	}
	d.finished++
	d.late += late
	d.tardy += max(0, late)
}

func (d *dues) figures() *Deadlines {
	if d.jobs == 0 {
		return nil
	}
	out := &Deadlines{Jobs: d.jobs, Met: d.met, MetShare: round(float64(d.met) / float64(d.jobs))}
	if n := float64(d.finished); n > 0 {
		out.MeanLateness, out.MaxLateness, out.MeanTardiness = round(d.late/n), round(d.max), round(d.tardy/n)
	}
	return out
}

// Idle is what nobody held while at least one job was present.
type Idle struct {
	Present float64 `json:"present"` // s with a job
	Share   float64 `json:"share"`   // of the cluster's memory, or slots, in that time
	// ContainerSeconds is the same in containers of the size that nodes are counted in; 0 if they are not counted in containers.
	ContainerSeconds float64 `json:"container_seconds,omitempty"`
}

func (o *Options) idle(sum *sim.Summary) *Idle {
	present := sum.Present.Seconds()
	room := float64(o.TotalMem) * present
	if !(room > 0) {
		return nil
	}
	share := max(0, 1-sum.BusyMem/room)
	return &Idle{Present: round(present), Share: round(share), ContainerSeconds: round(share * float64(o.Containers) * present)}
}
