package engine

import (
	"fmt"
	"testing"
	"time"
)

// What has not been asked for in two turns is forgotten: pods that are gone leave nothing behind.
func TestRecentForgets(t *testing.T) {
	var r recent[int]
	pass := func() { r.since = r.since.Add(-2 * period) }
	if r.get("a", 1) != 1 || r.get("a", 2) != 1 {
		t.Error("it is not kept")
	}
	pass()
	if r.get("b", 3); r.get("a", 4) != 1 {
		t.Error("it is forgotten after a turn")
	}
	for range 2 {
		pass()
		r.get(time.Now().String(), 0)
	}
	if r.get("a", 5) != 5 || len(r.now)+len(r.before) > 4 {
		t.Errorf("it is kept after two turns: %v, %v", r.now, r.before)
	}
	for i := range 5 * maxAlike {
		r.get(fmt.Sprint(i), i)
	}
	if len(r.now) > maxAlike || len(r.before) > maxAlike {
		t.Errorf("%d and %d are kept", len(r.now), len(r.before))
	}
}
