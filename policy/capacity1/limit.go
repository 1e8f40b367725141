package capacity1

// Use is how much of its share of one kind of slot a queue uses.
type Use struct {
	Capacity int64 // slots of its share
	Occupied int64 // slots
	Running  int64 // tasks
}

// QueueOrder ranks queues: the one with the smallest number is asked first, ties stay in the order they had. It must not be NaN.
type QueueOrder func(u Use) float64

// LeastLoaded is the original order: by the part of its share that a queue occupies.
func LeastLoaded(u Use) float64 {
	if u.Capacity == 0 {
		return 1
	}
	return float64(u.Occupied) / float64(u.Capacity)
}

// EqualRunning ranks by running tasks and ignores shares: all queues get the same.
func EqualRunning(u Use) float64 { return float64(u.Running) }

// MostLoaded is the opposite of LeastLoaded.
func MostLoaded(u Use) float64 { return -LeastLoaded(u) }

// UserLimit is the number of slots of one kind that a user of a queue may hold after a start that needs need slots: see the package
// comment. It is never less than need, so that nobody waits forever.
func UserLimit(capacity, occupied, need int64, activeUsers int, minimumPercent, factor float64) int64 {
	share := max(capacity, need)
	current := share
	if occupied >= share {
		current = occupied + need
	}
	users := int64(max(activeUsers, 1))
	limit := max((current+users-1)/users, roundUp(minimumPercent*float64(current)/100))
	return max(min(limit, roundDown(float64(share)*factor)), need)
}
