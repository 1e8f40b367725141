package alike

import "testing"

// Applications that come again are of one kind, whatever date or number their names have and however YARN shows their queue.
func TestKinds(t *testing.T) {
	a, b := Kinds("ann", "etl-2026-11-17", "root.prod"), Kinds("ann", "etl-2026-11-18", "prod")
	if a[0] != b[0] || a[0] != (Kind{"ann", "etl---", "prod"}) {
		t.Errorf("%v, %v", a[0], b[0])
	}
	for i, other := range []Kind{Kinds("ann", "etl-1", "adhoc")[0], Kinds("ben", "etl--1", "prod")[0], Kinds("ann", "report", "prod")[0]} {
		if other == a[0] {
			t.Errorf("%d is of the same kind", i)
		}
	}
}
