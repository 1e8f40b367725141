package run

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/yardmaster/yardmaster/unit"
)

// Each does the work of n runs in order, several at once, and starts none after ctx has ended. Workers 0: one per processor.
// Parallelism is across runs: the outcome of one must not depend on the timing of others.
func Each(ctx context.Context, n, workers int, do func(i int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(unit.Positive(workers, runtime.GOMAXPROCS(0)), n) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wait.Wait()
}
