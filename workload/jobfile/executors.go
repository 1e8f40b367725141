package jobfile

import (
	"fmt"
	"reflect"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// How a job requests and fills the containers that it keeps: the column that version 3 added.
type (
	executorsRow struct {
		Start        unit.Time      `parquet:"start_us"`
		Warm         unit.Time      `parquet:"warm_us"`
		Tail         unit.Time      `parquet:"tail_us"`
		Ready        float64        `parquet:"ready"`
		ReadyWait    unit.Time      `parquet:"ready_wait_us"`
		LocalityWait unit.Time      `parquet:"locality_wait_us"`
		Fair         bool           `parquet:"fair"`
		External     bool           `parquet:"external"`
		Batch        int64          `parquet:"batch"`
		Pending      int64          `parquet:"pending"`
		Every        unit.Time      `parquet:"every_us"`
		Dynamic      *dynamicRow    `parquet:"dynamic,optional"`
		Stages       []keptStageRow `parquet:"stages,list"` // empty: no stage has any of them
	}
	dynamicRow struct { // the fields of workload.Dynamic
		Min         int64     `parquet:"min"`
		Initial     int64     `parquet:"initial"`
		Ratio       float64   `parquet:"ratio"`
		Backlog     unit.Time `parquet:"backlog_us"`
		Sustained   unit.Time `parquet:"sustained_us"`
		Idle        unit.Time `parquet:"idle_us"`
		CachedIdle  unit.Time `parquet:"cached_idle_us"`
		ShuffleIdle unit.Time `parquet:"shuffle_idle_us"`
	}
	keptStageRow struct {
		Delay  unit.Time `parquet:"delay_us"`
		Pool   string    `parquet:"pool"`
		Cached int32     `parquet:"cached"`
	}
)

// toExecutors is nil for a job that says no more than how many containers it keeps.
func toExecutors(j *workload.Job) *executorsRow {
	k := j.Keep
	r := executorsRow{
		Start: k.Start, Warm: k.Warm, Tail: k.Tail, Ready: k.Ready, ReadyWait: k.ReadyWait, LocalityWait: k.LocalityWait, Fair: k.Fair, External: k.External,
		Batch: k.Batch, Pending: k.Pending, Every: k.Every, Dynamic: (*dynamicRow)(k.Dynamic),
	}
	for i := range j.Stages {
		s := &j.Stages[i]
		if x := (keptStageRow{s.Delay, s.Pool, int32(s.Cached)}); x != (keptStageRow{}) {
			if r.Stages == nil {
				r.Stages = make([]keptStageRow, len(j.Stages))
			}
			r.Stages[i] = x
		}
	}
	if reflect.ValueOf(r).IsZero() {
		return nil
	}
	return &r
}

func (r *executorsRow) addTo(j *workload.Job) error {
	k := j.Keep
	if k == nil {
		return fmt.Errorf("has executors, but keeps no containers")
	}
	k.Start, k.Warm, k.Tail, k.Ready, k.ReadyWait, k.LocalityWait = r.Start, r.Warm, r.Tail, r.Ready, r.ReadyWait, r.LocalityWait
	k.Fair, k.External, k.Batch, k.Pending, k.Every, k.Dynamic = r.Fair, r.External, r.Batch, r.Pending, r.Every, (*workload.Dynamic)(r.Dynamic)
	if n := len(r.Stages); n > 0 && n != len(j.Stages) {
		return fmt.Errorf("executors has %d entries for %d stages", n, len(j.Stages))
	}
	for i, x := range r.Stages {
		s := &j.Stages[i]
		s.Delay, s.Pool, s.Cached = x.Delay, x.Pool, int(x.Cached)
	}
	return nil
}
