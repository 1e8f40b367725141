package result

// Thresholds are those of service levels, in seconds: 1, 5 and 30 minutes, and 2 hours.
var Thresholds = [...]float64{60, 300, 1800, 7200}

// Level is a service level: how many finished jobs took longer than a threshold, from submission to finish. It is counted, not estimated.
type Level struct {
	Over float64 `json:"over"` // s
	Jobs int64   `json:"jobs"`
}

// overs counts jobs by threshold.
type overs [len(Thresholds)]int64

func (o *overs) add(elapsed float64) {
	for i, t := range Thresholds {
		if elapsed > t {
			o[i]++
		}
	}
}

func (o *overs) figures() []Level {
	list := make([]Level, len(o))
	for i, n := range o {
		list[i] = Level{Thresholds[i], n}
	}
	return list
}

// ShareOver is the share of jobs that took longer than the i-th threshold, of count jobs; 0 where that is unknown.
func ShareOver(levels []Level, i int, count int64) float64 {
	if i >= len(levels) || count == 0 {
		return 0
	}
	return float64(levels[i].Jobs) / float64(count)
}
