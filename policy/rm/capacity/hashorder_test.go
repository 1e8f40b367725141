package capacity

import (
	"testing"

	"github.com/yardmaster/yardmaster/policy/rm"
)

// Buckets as java.util.HashMap has them for NodeId.newInstance(name, port).
func TestPlace(t *testing.T) {
	for _, c := range []struct {
		name string
		port int32
		want uint32
	}{{"127.1.1.1", 0, 10}, {"127.1.1.2", 7, 10}, {"127.1.2.5", 11, 9}, {"worker-17.example.org", 45454, 2}, {"n", 65535, 8}} {
		if got := nodeBucket(&rm.Node{Name: c.name, Port: c.port}); got != c.want {
			t.Errorf("%s:%d is in bucket %d, want %d", c.name, c.port, got, c.want)
		}
	}
}

// Buckets as java.util.HashMap has them for SchedulerRequestKey.create of a request with that priority.
func TestRowPlace(t *testing.T) {
	for priority, want := range []uint32{10, 13, 12, 15, 14, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14} {
		if got := priorityBucket(int32(priority)); got != want {
			t.Errorf("priority %d is in bucket %d, want %d", priority, got, want)
		}
	}
}
