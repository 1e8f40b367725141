package bench

import (
	"context"
	"testing"
)

// Memory must not grow with tasks. (Time is for the command to measure: a test on a shared machine would only flicker.)
func TestMemoryDoesNotGrowWithTasks(t *testing.T) {
	if testing.Short() {
		t.Skip("ten million tasks")
	}
	r, err := Memory(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.2f bytes a task, %.0f a waiting job, %.0f a container", r.PerTask, r.PerWaitingJob, r.PerContainer)
	if r.PerTask > 1 {
		t.Errorf("%.2f bytes allocated a task: pending tasks must be counters", r.PerTask)
	}
	if r.PerWaitingJob > 4096 {
		t.Errorf("%.0f bytes a waiting job", r.PerWaitingJob)
	}
}
