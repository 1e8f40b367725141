package jhist

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

type fold struct {
	p        *Parser
	job      *Job
	maps     map[int]int // number -> index in job.Maps
	reduces  map[int]int
	attempts int
}

// event folds one record: {type, event}.
func (f *fold) event(top record) error {
	kind := top.text("type")
	if kind == "" {
		return fmt.Errorf("it has no type")
	}
	e := top.record("event")
	f.job.Events++
	if e == nil {
		return nil // of an irrelevant kind
	}
	switch {
	case strings.HasPrefix(kind, "JOB_"), kind == "AM_STARTED":
		return f.jobEvent(kind, e)
	case strings.HasPrefix(kind, "TASK_"):
		return f.taskEvent(kind, e)
	case strings.HasPrefix(kind, "SETUP_ATTEMPT_"), strings.HasPrefix(kind, "CLEANUP_ATTEMPT_"):
		return nil
	case strings.Contains(kind, "_ATTEMPT_"):
		return f.attemptEvent(kind, e)
	}
	return nil // newer than this program; it affects nothing that is counted
}

func (f *fold) jobEvent(kind string, e record) error {
	j := f.job
	if id := e.text("jobid"); id != "" {
		if j.ID != "" && j.ID != id {
			return fmt.Errorf("it is of job %s, and those before are of %s", cut(id, 60), j.ID)
		}
		j.ID = f.p.name(id)
	}
	switch kind {
	case "JOB_SUBMITTED":
		j.Name, j.User, j.Queue = f.p.name(e.text("jobName")), f.p.name(e.text("userName")), f.p.name(e.text("jobQueueName"))
		j.Submit = e.millis("submitTime")
	case "JOB_INFO_CHANGED":
		j.Submit, j.Launch = cmp.Or(e.millis("submitTime"), j.Submit), cmp.Or(e.millis("launchTime"), j.Launch)
	case "JOB_INITED":
		j.Launch, j.Uber = cmp.Or(e.millis("launchTime"), j.Launch), e.truth("uberized")
	case "JOB_PRIORITY_CHANGED":
		j.Priority = f.p.name(e.text("priority"))
	case "JOB_QUEUE_CHANGED":
		j.Queue = f.p.name(e.text("jobQueueName"))
	case "JOB_FINISHED":
		j.Finish, j.Status = e.millis("finishTime"), "SUCCEEDED"
		j.Totals = e.counters("totalCounters")
	case "JOB_FAILED", "JOB_KILLED", "JOB_ERROR":
		j.Finish, j.Status = e.millis("finishTime"), strings.TrimPrefix(kind, "JOB_")
	case "AM_STARTED":
		m := AM{Start: e.millis("startTime"), Container: strings.Clone(cut(e.text("containerId"), 100))}
		if len(j.AMs) < 100 && !slices.Contains(j.AMs, m) {
			j.AMs = append(j.AMs, m)
		}
	}
	return nil
}

func (f *fold) taskEvent(kind string, e record) error {
	id := e.text("taskid")
	typ := e.text("taskType")
	if typ != "MAP" && typ != "REDUCE" {
		return nil
	}
	t, err := f.task(id)
	if err != nil {
		return err
	}
	if kind == "TASK_STARTED" && t.Hosts == nil {
		t.Hosts = f.hosts(e.text("splitLocations"))
	}
	return nil
}

// hosts splits the locations of a split: host names separated by commas.
func (f *fold) hosts(text string) []string {
	var out []string
	for host := range strings.SplitSeq(text, ",") {
		if host = strings.TrimSpace(host); host != "" && len(out) < MaxHosts && !slices.Contains(out, host) {
			out = append(out, f.p.name(host))
		}
	}
	return out
}

// task finds or makes the task of an id: task_CLUSTER_JOB_m_NUMBER, or an attempt's with a further part.
func (f *fold) task(id string) (*Task, error) {
	parts := strings.Split(cut(id, 200), "_")
	if len(parts) < 5 {
		return nil, fmt.Errorf("%q is not the id of a task", cut(id, 60))
	}
	n, err := strconv.Atoi(parts[4])
	if err != nil || n < 0 {
		return nil, fmt.Errorf("%q is not the id of a task", cut(id, 60))
	}
	list, index := &f.job.Maps, &f.maps
	switch parts[3] {
	case "m":
	case "r":
		list, index = &f.job.Reduces, &f.reduces
	default:
		return nil, fmt.Errorf("%q is not the id of a map or a reduce", cut(id, 60))
	}
	if *index == nil {
		*index = map[int]int{}
	}
	i, ok := (*index)[n]
	if !ok {
		if i = len(*list); i >= MaxTasks {
			return nil, fmt.Errorf("more than %d tasks", MaxTasks)
		}
		(*index)[n] = i
		*list = append(*list, Task{Number: n})
	}
	return &(*list)[i], nil
}

func (f *fold) attemptEvent(kind string, e record) error {
	id := e.text("attemptId")
	t, err := f.task(id)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(id[strings.LastIndexByte(id, '_')+1:])
	if err != nil || n < 0 || strings.Count(id, "_") != 5 {
		return fmt.Errorf("%q is not the id of an attempt", cut(id, 60))
	}
	i := slices.IndexFunc(t.Attempts, func(a Attempt) bool { return a.Number == n })
	if i < 0 {
		if f.attempts++; f.attempts > MaxAttempts {
			return fmt.Errorf("more than %d attempts", MaxAttempts)
		}
		i = len(t.Attempts)
		t.Attempts = append(t.Attempts, Attempt{Number: n})
	}
	a := &t.Attempts[i]
	if strings.HasSuffix(kind, "_STARTED") {
		a.Start = e.millis("startTime")
		a.Locality = f.p.name(e.text("locality"))
		return nil
	}
	a.Finish = e.millis("finishTime")
	a.ShuffleFinished = e.millis("shuffleFinishTime")
	a.Moved = e.counters("counters").Moved
	switch {
	case strings.HasSuffix(kind, "_FINISHED"):
		a.Outcome = Succeeded
	case strings.HasSuffix(kind, "_FAILED"):
		a.Outcome = Failed
	case strings.HasSuffix(kind, "_KILLED"):
		a.Outcome = Killed
	}
	return nil
}

// done sorts the tasks by number.
func (f *fold) done() *Job {
	byNumber := func(a, b Task) int { return cmp.Compare(a.Number, b.Number) }
	slices.SortFunc(f.job.Maps, byNumber)
	slices.SortFunc(f.job.Reduces, byNumber)
	return f.job
}
