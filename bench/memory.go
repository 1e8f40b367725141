package bench

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

// MemoryResult reports a run's memory: it must grow with the cluster and the jobs present, not with the tasks.
type MemoryResult struct {
	Rows []MemoryRow `json:"rows"`
	// PerWaitingJob and PerContainer are bytes, from the differences between rows.
	PerWaitingJob float64 `json:"bytes_a_waiting_job"`
	PerContainer  float64 `json:"bytes_a_container"`
	PerTask       float64 `json:"bytes_a_task"`
}

// MemoryRow is one run.
type MemoryRow struct {
	Load      Load   `json:"load"`
	Tasks     int64  `json:"tasks"`
	Allocated uint64 `json:"allocated_bytes"` // total, including freed
	Heap      uint64 `json:"heap_bytes"`      // of the process, after the run and before a collection
}

// Memory measures memory per task, waiting job and container.
func Memory(ctx context.Context) (*MemoryResult, error) {
	loads := []Load{
		{Jobs: 100, Tasks: 1_000, Nodes: 100, Each: 6},
		{Jobs: 100, Tasks: 100_000, Nodes: 100, Each: 6},
		{Jobs: 100_000, Tasks: 1, Nodes: 100, Each: 6},
		{Jobs: 100, Tasks: 1_000, Nodes: 10_000, Each: 6},
	}
	r := &MemoryResult{}
	for _, l := range loads {
		debug.FreeOSMemory()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, _, err := play(ctx, l, "fifo"); err != nil {
			return nil, fmt.Errorf("measure memory of %+v: %w", l, err)
		}
		runtime.ReadMemStats(&after)
		r.Rows = append(r.Rows, MemoryRow{l, l.Jobs * l.Tasks, after.TotalAlloc - before.TotalAlloc, after.HeapSys})
	}
	alloc := func(i int) float64 { return float64(r.Rows[i].Allocated) }
	r.PerTask = (alloc(1) - alloc(0)) / float64(r.Rows[1].Tasks-r.Rows[0].Tasks)
	r.PerWaitingJob = (alloc(2) - alloc(0)) / float64(loads[2].Jobs-loads[0].Jobs)
	r.PerContainer = (alloc(3) - alloc(0)) / float64((loads[3].Nodes-loads[0].Nodes)*loads[3].Each)
	return r, nil
}
