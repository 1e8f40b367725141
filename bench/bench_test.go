package bench

import (
	"context"
	"testing"
)

func TestLoop(t *testing.T) {
	if testing.Short() {
		t.Skip("measures")
	}
	r, err := Loop(context.Background(), 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Rows {
		t.Logf("%-10s bare %.1f M/s, simulator %.1f M/s, ratio %.2f", row.Scheduler, row.BareEventsPerSecond/1e6, row.SimEventsPerSecond/1e6, row.Ratio)
	}
}
