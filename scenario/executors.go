package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/internal/setting"
	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// Executors changes how the jobs that it selects keep executors.
type Executors struct {
	Who  Move
	Text string // the settings as typed
	Do   workload.Executors
}

func (e Executors) String() string { return e.Who.Kind + ":" + e.Who.Name + "=" + e.Text }

// executorKeys are the settings of executors, in Spark's words.
var executorKeys = []string{"instances", "dynamic", "min", "max", "initial", "idle", "cached-idle", "shuffle-idle", "cores", "memory"}

func executorSetting() Setting {
	return list("executors", "", "WHO=KEY=VALUE[,...]",
		"other executors for Spark applications: queue:etl=dynamic=true,idle=10s; WHO as for move, or job:ID; keys: "+strings.Join(executorKeys, ", "),
		func(s *Scenario) *[]Executors { return &s.Executors }, parseExecutors, Executors.String)
}

func parseExecutors(text string) (e Executors, err error) {
	for i := range len(text) { // a name may hold an equals sign: the longest end of the text that is settings counts
		if text[i] != '=' {
			continue
		}
		do, bad := executorChanges(text[i+1:])
		if bad != nil {
			err = cmp.Or(err, bad)
			continue
		}
		e.Text, e.Do = text[i+1:], do
		if name, ok := strings.CutPrefix(text[:i], "job:"); ok && name != "" {
			e.Who = Move{Kind: "job", Name: name}
			return e, nil
		}
		e.Who, err = parseGang(text[:i])
		return e, err
	}
	return e, cmp.Or(err, fmt.Errorf("%q does not say whose executors change how; write queue:NAME=KEY=VALUE, as in queue:etl=dynamic=true,idle=10s", text))
}

// executorChanges parses KEY=VALUE,KEY=VALUE.
func executorChanges(text string) (e workload.Executors, err error) {
	counts := map[string]struct {
		to  **int64
		low int64
	}{"instances": {&e.Instances, 1}, "min": {&e.Min, 0}, "max": {&e.Max, 1}, "initial": {&e.Initial, 0}, "cores": {&e.Cores, 1}}
	times := map[string]**unit.Time{"idle": &e.Idle, "cached-idle": &e.CachedIdle, "shuffle-idle": &e.ShuffleIdle}
	seen := map[string]bool{}
	for item := range strings.SplitSeq(text, ",") {
		key, v, _ := strings.Cut(strings.TrimSpace(item), "=")
		if seen[key] {
			return e, fmt.Errorf("%s is given twice", key)
		}
		seen[key] = true
		count, counted := counts[key]
		idle, timed := times[key]
		switch {
		case counted:
			n, bad := setting.Whole(v, count.low, math.MaxInt32)
			*count.to, err = &n, bad
		case key == "idle" && v == "never":
			err = errors.New("an executor without data may not idle for ever: leave idle out, or write dynamic=false")
		case timed && v == "never":
			*idle = new(unit.Time)
		case timed:
			t, bad := unit.ParseTime(v)
			if err = bad; err == nil && (t <= 0 || t > workload.MaxLength) {
				err = fmt.Errorf("%s is not a time above 0, or never", v)
			}
			*idle = &t
		case key == "dynamic":
			on, bad := strconv.ParseBool(v)
			e.Dynamic, err = &on, bad
		case key == "memory":
			b, bad := unit.ParseBytes(v)
			if err = bad; err == nil && (b < unit.MiB || b >= 1<<50) {
				err = fmt.Errorf("%s is no size of a container", v)
			}
			mib := int64(b / unit.MiB)
			e.Memory = &mib
		default:
			return e, fmt.Errorf("executors have no setting %q%s; they have %s", key, suggest.Hint(key, executorKeys), strings.Join(executorKeys, ", "))
		}
		if err != nil {
			return e, fmt.Errorf("%s: %w", key, err)
		}
	}
	dynamic := e.Dynamic != nil && *e.Dynamic
	bounds := e.Min != nil || e.Max != nil || e.Initial != nil || e.Idle != nil || e.CachedIdle != nil || e.ShuffleIdle != nil
	if bounds && !dynamic && (e.Instances != nil || e.Dynamic != nil) {
		return e, fmt.Errorf("%s fixes the number of executors: leave out min, max, initial and the idle times, or add dynamic=true", text)
	}
	if e.Min != nil && e.Max != nil && *e.Min > *e.Max {
		return e, fmt.Errorf("min=%d is above max=%d", *e.Min, *e.Max)
	}
	return e, nil
}

// editExecutors applies the changes in their order to jobs, each on top of those before it.
func (s *Scenario) editExecutors(jobs, out workload.Slice) error {
	for i := range s.Executors {
		e := &s.Executors[i]
		var keeps, concerned bool
		if !e.Who.change(jobs, out, func(j *workload.Job) {
			keeps = keeps || j.Keep != nil
			concerned = e.Do.Apply(j) || concerned
		}) {
			return e.Who.nobody("executors "+e.String(), jobs)
		}
		switch {
		case !keeps:
			return misuse("executors %s: no job of %s %s keeps executors: import Spark's event logs with the jobs (--spark-logs)", e, e.Who.Kind, e.Who.Name)
		case !concerned:
			return misuse("executors %s: no job of %s %s has dynamic allocation: add dynamic=true", e, e.Who.Kind, e.Who.Name)
		}
	}
	return nil
}
