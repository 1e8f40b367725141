package workload

import (
	"fmt"

	"github.com/yardmaster/yardmaster/unit"
)

// MaxPool is the length of a pool's name, in bytes.
const MaxPool = 256

// MaxCached is the number of tasks of a stage whose results are cached: where each is cached is remembered. All stages of a job read maxCachedInAll.
const (
	MaxCached      = 1 << 20
	maxCachedInAll = 1 << 24
)

// validate reports why containers cannot be kept so.
func (k *Keep) validate() error {
	if k.Slots < 1 || k.Max < 1 || k.Ask.Mem < 0 || k.Ask.Cores < 0 || k.Ask.Extra.Check() != nil || k.Ask.IsZero() {
		return fmt.Errorf("keeps containers of %v with %d slots, at most %d: all must be positive", k.Ask, k.Slots, k.Max)
	}
	if k.Batch < 0 || k.Pending < 0 {
		return fmt.Errorf("requests %d containers in a batch with %d pending at most: both must be at least 0", k.Batch, k.Pending)
	}
	d := k.Dynamic
	if d == nil {
		d = &Dynamic{Initial: k.Max}
	}
	for _, x := range []struct {
		what string
		t    unit.Time
	}{
		{"a batch", k.Every}, {"a container's start", k.Start}, {"warming up", k.Warm}, {"the end", k.Tail}, {"waiting for containers", k.ReadyWait},
		{"waiting for a cache", k.LocalityWait}, {"a backlog", d.Backlog}, {"a sustained backlog", d.Sustained}, {"idling", d.Idle},
		{"idling with a cache", d.CachedIdle}, {"idling with shuffle output", d.ShuffleIdle},
	} {
		if x.t < 0 || x.t > MaxLength {
			return fmt.Errorf("%s takes %v: it must be between 0 and %v", x.what, x.t, MaxLength)
		}
	}
	if !(k.Ready >= 0 && k.Ready <= 1) || !(d.Ratio >= 0 && d.Ratio <= 1) {
		return fmt.Errorf("starts with a share of %v of its containers, requests %v of what its tasks could fill: both are between 0 and 1",
			k.Ready, d.Ratio)
	}
	if d.Min < 0 || d.Initial < d.Min || d.Initial > k.Max {
		return fmt.Errorf("keeps %d containers at least, %d at first, %d at most: they must not fall", d.Min, d.Initial, k.Max)
	}
	return nil
}

// validateKept validates what stage i says about kept containers.
func (j *Job) validateKept(i int) error {
	switch s := &j.Stages[i]; {
	case j.Keep == nil && (s.Delay != 0 || s.Pool != "" || s.Cached != 0):
		return fmt.Errorf("has a delay, a pool or a cache, but the job keeps no containers")
	case s.Delay < 0 || s.Delay > MaxLength:
		return fmt.Errorf("is submitted with a delay of %v: it must be between 0 and %v", s.Delay, MaxLength)
	case len(s.Pool) > MaxPool:
		return fmt.Errorf("the name of its pool has %d bytes: at most %d are taken", len(s.Pool), MaxPool)
	case s.Cached < 0 || s.Cached > i:
		return fmt.Errorf("reads what stage %d cached, which is not before it", s.Cached-1)
	case s.Cached > 0 && s.Tasks > MaxCached:
		return fmt.Errorf("reads what %d tasks cached: at most %d are taken", s.Tasks, MaxCached)
	case s.Cached > 0 && j.Stages[s.Cached-1].Tasks != s.Tasks:
		return fmt.Errorf("reads with %d tasks what the %d tasks of stage %d cached", s.Tasks, j.Stages[s.Cached-1].Tasks, s.Cached-1)
	}
	return nil
}
