package history

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/jobfile"
)

// tally counts what was found while jobs were built. Every part of the store carries that of its own jobs.
type tally struct {
	MapReduce, Maps, Reduces int64
	FailedJobs, KilledJobs   int64
	FailedTries, KilledTries int64
	Observed                 int64 // tasks without a successful attempt, which take the length of their longest
	NeverRan                 int64 // tasks that were never started
	Early                    int64 // reduces that were started before their job's last map had ended
	Uber                     int64
	NoTasks                  int64
	SizeAssumed              int64 // jobs with an assumed container size
	NoConf                   int64 // jobs whose own configuration could not be read
	OverREST                 int64 // jobs taken from the history server
	FromRM                   int64 // applications that only the ResourceManager knows
	FromLogs                 int64 // Spark applications with their event logs
	NoLaunch                 int64 // of these, without the time of their first container
	Quantiles                int64 // stages with so many tasks that their lengths are a table
	Restarted                int64 // jobs whose AM was started more than once
	Near, InRack, Far        int64 // attempts of maps by where their input was

	Samples samples
	Logs    map[string]int64 `json:",omitempty"` // what readers of event logs noted
}

// samples are durations, in milliseconds, from which the cluster's own delays are learned.
type samples struct {
	AMStart    []int64 `json:"MasterStart,omitempty"` // launch of the AM's container to its being ready
	QuietStart []int64 `json:",omitempty"`            // submission to its being ready
	// DriverStart is AMStart of Spark applications.
	DriverStart []int64 `json:",omitempty"`
	Commit      []int64 `json:",omitempty"` // end of the last task to the end of the job
	Overhead    []int64 `json:",omitempty"` // container time beyond task time, per container
}

// maxSamples of each kind are kept per part.
const maxSamples = 500

func sample(list *[]int64, ms int64) {
	if ms >= 0 && len(*list) < maxSamples {
		*list = append(*list, ms)
	}
}

// ended counts how a job ended.
func (t *tally) ended(status string) {
	switch status {
	case "SUCCEEDED":
	case "KILLED":
		t.KilledJobs++
	default:
		t.FailedJobs++
	}
}

// add adds another tally.
func (t *tally) add(o *tally) {
	mine, theirs := t.counts(), o.counts()
	for i := range mine {
		*mine[i].n += *theirs[i].n
	}
	t.Samples.AMStart = append(t.Samples.AMStart, o.Samples.AMStart...)
	t.Samples.QuietStart = append(t.Samples.QuietStart, o.Samples.QuietStart...)
	t.Samples.DriverStart = append(t.Samples.DriverStart, o.Samples.DriverStart...)
	t.Samples.Commit = append(t.Samples.Commit, o.Samples.Commit...)
	t.Samples.Overhead = append(t.Samples.Overhead, o.Samples.Overhead...)
	for text, n := range o.Logs {
		t.logged(text, n)
	}
}

// logged counts what a reader of event logs noted.
func (t *tally) logged(text string, n int64) {
	if t.Logs == nil {
		t.Logs = map[string]int64{}
	}
	t.Logs[text] += n
}

type counted struct {
	n    *int64
	text string // "": reported elsewhere
}

func (t *tally) counts() []counted {
	return []counted{
		{&t.MapReduce, ""},
		{&t.Maps, ""},
		{&t.Reduces, ""},
		{&t.FailedJobs, "jobs that failed are kept, as if they had run to their end; their outcome is in the file"},
		{&t.KilledJobs, "jobs that were killed are kept, with the tasks that they had started; their outcome is in the file"},
		{&t.FailedTries, "attempts of tasks that failed are left out: the simulation does not repeat them"},
		{&t.KilledTries, "attempts of tasks that were killed (speculative ones, preempted ones) are left out"},
		{&t.Observed, "tasks without a successful attempt take the length of their longest attempt"},
		{&t.NeverRan, "tasks that were never started are left out"},
		{&t.Early, "reduces were started before their job's last map ended: what they did after it counts"},
		{&t.Uber, "jobs ran inside their AM (uber mode): one task of the AM's size"},
		{&t.NoTasks, "jobs without a task whose length is known are left out"},
		{&t.SizeAssumed, "jobs do not say how large their containers were: Hadoop's defaults are taken"},
		{&t.NoConf, "jobs' own configurations were not read: the size of their AM and their slow-start are assumed"},
		{&t.OverREST, "jobs were taken from the history server's answers: hosts, failed attempts and shuffle times are not known"},
		{&t.FromRM, "applications are known to the ResourceManager only: containers that hold their memory-seconds and vcore-seconds"},
		{&t.FromLogs, "Spark applications are simulated stage by stage, from their event logs"},
		{&t.NoLaunch, "applications do not say when they got their first container, as unmanaged ones never do: their wait counts as work, and a replay waits again"},
		{&t.Quantiles, "stages have so many tasks that their lengths are kept as a table of quantiles, without hosts"},
		{&t.Restarted, "jobs had their AM started more than once: it is started once"},
		{&t.Near, ""},
		{&t.InRack, ""},
		{&t.Far, ""},
	}
}

func (t *tally) notes() workload.Notes {
	var notes workload.Notes
	notes.Say("YARN: %d MapReduce jobs with %d maps and %d reduces, and %d other applications", t.MapReduce, t.Maps, t.Reduces, t.FromRM)
	if all := t.Near + t.InRack + t.Far; all > 0 {
		share := func(n int64) float64 { return 100 * float64(n) / float64(all) }
		notes.Say("YARN: maps ran on a node with their input (%.0f %%), in its rack (%.0f %%) or elsewhere (%.0f %%)", share(t.Near), share(t.InRack), share(t.Far))
	}
	for _, c := range t.counts() {
		if c.text != "" {
			notes.Add(*c.n, "YARN: %s", c.text)
		}
	}
	for _, text := range slices.Sorted(maps.Keys(t.Logs)) {
		notes.Add(t.Logs[text], "Spark: %s", text)
	}
	return notes
}

// readTally reads the tally of a part.
func readTally(part *jobfile.Reader) (t tally, ok bool) {
	notes := part.Notes()
	ok = len(notes) == 1 && json.Unmarshal([]byte(notes[0].Text), &t) == nil
	return t, ok
}

func (t *tally) text() string {
	b, err := json.Marshal(t)
	if err != nil {
		panic("history: counts have no JSON: " + err.Error())
	}
	return string(b)
}
