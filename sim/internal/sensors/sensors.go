// Package sensors holds what the engines' sensors share.
package sensors

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Sides of a job, for its progress.
const (
	MapSide = iota
	ReduceSide
)

// Side returns a stage's side by the number of stages that it needs: stages that need none are maps.
func Side(needs int) int {
	if needs == 0 {
		return MapSide
	}
	return ReduceSide
}

// Parts of a job's progress as MapReduce's AM reports it, in percent. The last 5 are for the clean-up, after which the job is gone.
const (
	setUpPart = 5
	tasksPart = 90
)

// Progress returns a job's progress in percent and the share of its maps' work that is done, from the work done on each side, in tasks.
func Progress(done [2]float64, total [2]int64) (percent, maps float64) {
	share := [2]float64{1, 1}
	for k := range share {
		if total[k] > 0 {
			share[k] = min(1, done[k]/float64(total[k]))
		}
	}
	weight := [2]float64{0.5, 0.5} // 1 if there is only one kind of task
	for k := range weight {
		if total[k] == 0 {
			weight[k], weight[1-k] = 0, 1
		}
	}
	return setUpPart + tasksPart*(weight[MapSide]*share[MapSide]+weight[ReduceSide]*share[ReduceSide]), share[MapSide]
}

// Decimal returns a single-precision number as a scheduler prints it: 0.1 and not 0.10000000149.
func Decimal(x float64) float64 {
	single := float32(x)
	if float64(single) != x {
		return x
	}
	d, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', -1, 32), 64) // it was just made
	return d
}

// Capacities reads the capacities of a queue's leaves, in the live driver's format.
func Capacities(gauges []policy.Gauge, parent string, property func(queue, property string) (float64, error)) (string, error) {
	texts := map[string]string{}
	for i := range gauges {
		name := gauges[i].Queue
		if !steer.SamePath(steer.Parent(name), parent) {
			continue
		}
		if _, err := property(name, "weight"); err == nil {
			return "", fmt.Errorf("the capacity of queue %s is a weight, not a percentage", name)
		}
		x, err := property(name, "capacity")
		if err != nil {
			return "", err
		}
		texts[name[strings.LastIndexByte(name, '.')+1:]] = strconv.FormatFloat(Decimal(x), 'f', -1, 64)
	}
	v, err := drive.Capacities(texts)
	return v.Text, err
}

// SetCapacities sets all or none of them.
func SetCapacities(parent, text string, set func(queue, property string, value float64) (float64, error)) error {
	shares, _, err := drive.Value{Text: text}.Shares()
	for i := range shares {
		s := &shares[i]
		old, failed := set(parent+"."+s.Queue, "capacity", s.Value)
		if err = failed; err != nil {
			for _, done := range shares[:i] {
				_, _ = set(parent+"."+done.Queue, "capacity", done.Value) // as it was
			}
			break
		}
		s.Value = old
	}
	return err
}

// Tags returns the tags that a job would have on a real cluster: its deadline and, with sizes, its input and its size in vcore-seconds,
// if the workload tells it. Only a simulator knows the true size; it is computed once and kept.
func Tags(kept *string, j *workload.Job, sizes bool, input unit.Bytes, size func() unit.Time) string {
	if *kept != "" {
		return *kept
	}
	tags := ""
	if j.Deadline > 0 {
		tags = "deadline:" + seconds(j.Deadline)
	}
	if !sizes {
		return tags
	}
	tags = strings.TrimPrefix(fmt.Sprintf("%s,input:%d", tags, input), ",")
	if t := size(); t > 0 {
		tags += ",size:" + seconds(t)
	}
	*kept = tags
	return tags
}

func seconds(t unit.Time) string { return strconv.FormatFloat(t.Seconds(), 'f', -1, 64) }

// Idle is the share of a cluster's cores that tasks leave idle; -1: it has none. A scheduler may overcommit cores.
func Idle(used, total int64) float64 {
	if total <= 0 {
		return -1
	}
	return max(0, 1-float64(used)/float64(total))
}

// ByArrival lists the jobs present, in order of arrival. Entries of all may be nil.
func ByArrival[J any](all []*J, seq func(*J) int64) []*J {
	list := make([]*J, 0, len(all))
	for _, j := range all {
		if j != nil {
			list = append(list, j)
		}
	}
	slices.SortFunc(list, func(a, b *J) int { return cmp.Compare(seq(a), seq(b)) })
	return list
}

// ByName sorts the queues of a snapshot.
func ByName(queues []steer.Queue) {
	slices.SortFunc(queues, func(a, b steer.Queue) int { return cmp.Compare(a.Name, b.Name) })
}
