package live

import (
	"bytes"
	"context"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/yardmaster/yardmaster/studies/evidence"
	"github.com/yardmaster/yardmaster/studies/harness"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/host"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// Cycles measures the CPU cycles of Hadoop's own examples per byte and per process start.
type Cycles struct {
	History string // address of a history server that already has the jobs; "": run them
}

// Names of the records.
const (
	cyclesSeries = "run"
	cyclesExt    = ".json"
)

// CyclesRecord is the record of one run of the study.
type CyclesRecord struct {
	Hadoop    string      `json:"hadoop"`
	Java      int         `json:"java"`
	At        time.Time   `json:"at"`
	Processor string      `json:"processor"`
	MHz       float64     `json:"mhz"`
	Count     int         `json:"processors"`
	Load      float64     `json:"load"` // mean of the 15 minutes before the counters were read
	Jobs      []CyclesJob `json:"jobs"`
}

// CyclesJob is one job of a benchmark.
type CyclesJob struct {
	Benchmark string       `json:"benchmark"`
	ID        string       `json:"id"`
	Options   string       `json:"options"` // of its tasks' JVMs
	Tasks     []CyclesTask `json:"tasks"`
}

// CyclesTask is a task's counters. In is a map's or reduce's input, Out its output.
type CyclesTask struct {
	Reduce  bool  `json:"reduce,omitempty"`
	In      int64 `json:"in"`
	Out     int64 `json:"out"`
	CPU     int64 `json:"cpu_ms"`
	GC      int64 `json:"gc_ms"` // wall clock
	Records int64 `json:"records"`
	Spilled int64 `json:"spilled"` // records
}

// cyclesNames are the benchmarks by the job names that the examples use.
var cyclesNames = map[string]string{"TeraSort": "TeraSort", "word count": "WordCount", "sorter": "Sort"}

// Sizes of the inputs, in rows of 100 bytes, and their numbers of files. A block is 128 MiB, so that the large input has maps of
// two lengths and the small one has a third.
var cyclesInputs = []struct{ rows, files int64 }{{3_000_000, 2}, {750_000, 1}}

// cyclesOptions are the options of every job: the tasks' JVMs have a heap size and no other flags.
var cyclesOptions = []string{
	"-Dmapreduce.map.java.opts=-Xmx200m", "-Dmapreduce.reduce.java.opts=-Xmx200m", "-Dmapreduce.map.memory.mb=512", "-Dmapreduce.reduce.memory.mb=512",
	"-Dmapreduce.task.io.sort.mb=100", "-Dmapreduce.job.ubertask.enable=false", "-Dmapreduce.job.queuename=default", "-Ddfs.blocksize=134217728", "-Ddfs.replication=1",
}

// Study declares it.
func (s *Cycles) Study() *harness.Study[CyclesRecord] {
	return &harness.Study[CyclesRecord]{
		Folder: "cycles", Series: cyclesSeries, Ext: cyclesExt, Run: s.run, Template: cyclesPage, Facts: cyclesData,
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&s.History, "history", "", "`address` of a history server that already has the jobs; runs nothing")
		},
	}
}

// run runs the examples, unless they have run already, and reads their counters.
func (s *Cycles) run(ctx context.Context, now *harness.Run) (*CyclesRecord, string, error) {
	history, jobs := s.History, 0 // as many as there are
	if history == "" {
		c, down, err := hadoop.UpIn(ctx, now.Work, hadoop.Options{
			SchedulerXML: hadoop.Properties("yarn.scheduler.capacity.", map[string]string{"root.queues": "default", "root.default.capacity": "100", "maximum-am-resource-percent": "0.5"}),
			NodeMB:       2048, History: true, Log: now.Log,
		})
		if err != nil {
			return nil, "", err
		}
		defer down()
		if err := examples(ctx, c, now.Log); err != nil {
			return nil, "", err
		}
		history, jobs = c.History(), len(cyclesNames)*len(cyclesInputs)
	}
	client, err := rest.New(rest.Options{History: history})
	if err != nil {
		return nil, "", err
	}
	defer client.CloseIdle()
	var rec *CyclesRecord
	err = hadoop.Poll(ctx, time.Minute, "waiting for the last job in the history", func() (stop bool, err error) {
		if rec, err = readCycles(ctx, client.History()); err == nil && len(rec.Jobs) < jobs {
			err = fmt.Errorf("%d of %d jobs", len(rec.Jobs), jobs)
		}
		return jobs == 0, err
	})
	if err != nil {
		return nil, "", err
	}
	return rec, fmt.Sprintf("%d jobs", len(rec.Jobs)), nil
}

// examples makes the inputs and runs the three benchmarks on each.
func examples(ctx context.Context, c *hadoop.Cluster, log io.Writer) error {
	for _, in := range cyclesInputs {
		of := func(name string) string { return fmt.Sprintf("/cycles/%d/%s", in.rows, name) }
		bytes := 100 * in.rows
		for _, args := range [][]string{
			{"teragen", fmt.Sprintf("-Dmapreduce.job.maps=%d", in.files), strconv.FormatInt(in.rows, 10), of("rows")},
			{"terasort", "-Dmapreduce.job.reduces=1", of("rows"), of("terasort")},
			{"wordcount", "-Dmapreduce.job.reduces=1", of("rows"), of("wordcount")},
			{"randomwriter", fmt.Sprintf("-Dmapreduce.randomwriter.totalbytes=%d", bytes), fmt.Sprintf("-Dmapreduce.randomwriter.bytespermap=%d", bytes/in.files), of("random")},
			{"sort", "-r", "1", of("random"), of("sort")},
		} {
			fmt.Fprintf(log, "%s of %d MB\n", args[0], bytes/1e6)
			all := slices.Concat(args[:1], cyclesOptions, args[1:])
			if out, err := c.Java(ctx, 256, "org.apache.hadoop.examples.ExampleDriver", all...).CombinedOutput(); err != nil {
				return fmt.Errorf("%s: %w\n%s", args[0], err, out)
			}
		}
	}
	return nil
}

// readCycles reads the counters of every task of the benchmarks that the history has.
func readCycles(ctx context.Context, h *rest.MapReduce) (*CyclesRecord, error) {
	info, err := h.Info(ctx)
	if err != nil {
		return nil, err
	}
	rec := &CyclesRecord{Hadoop: info.HadoopVersion}
	if java, err := hadoop.FindJava(ctx, info.HadoopVersion); err == nil {
		rec.Java = java.Version
	}
	rec.machine()
	var jobs []rest.Job
	for j, err := range h.Jobs(ctx, rest.JobFilter{State: "SUCCEEDED"}) {
		if err != nil {
			return nil, err
		}
		if cyclesNames[j.Name] != "" {
			jobs = append(jobs, j)
		}
	}
	slices.SortFunc(jobs, func(a, b rest.Job) int { return strings.Compare(a.ID, b.ID) })
	for _, j := range jobs {
		rec.At = time.UnixMilli(j.FinishTime).UTC().Truncate(time.Second)
		job := CyclesJob{Benchmark: cyclesNames[j.Name], ID: j.ID}
		conf, err := h.JobConf(ctx, j.ID)
		if err != nil {
			return nil, err
		}
		if o := conf.Get("mapreduce.map.java.opts"); o != nil {
			job.Options = o.Value
		}
		for t, err := range h.Tasks(ctx, j.ID) {
			if err != nil {
				return nil, err
			}
			groups, err := h.TaskCounters(ctx, j.ID, t.ID)
			if err != nil {
				return nil, err
			}
			job.Tasks = append(job.Tasks, taskCycles(t.Type == "REDUCE", groups))
		}
		slices.SortFunc(job.Tasks, func(a, b CyclesTask) int { // maps first, long ones first
			if a.Reduce != b.Reduce {
				return map[bool]int{false: -1, true: 1}[a.Reduce]
			}
			return int(b.In - a.In)
		})
		rec.Jobs = append(rec.Jobs, job)
	}
	return rec, nil
}

func taskCycles(reduce bool, groups []rest.CounterGroup) CyclesTask {
	v := map[string]int64{}
	for _, g := range groups {
		for _, c := range g.Counters {
			v[c.Name] = c.Value
		}
	}
	t := CyclesTask{Reduce: reduce, CPU: v["CPU_MILLISECONDS"], GC: v["GC_TIME_MILLIS"], Spilled: v["SPILLED_RECORDS"]}
	if reduce {
		t.In, t.Out, t.Records = v["REDUCE_SHUFFLE_BYTES"], v["BYTES_WRITTEN"], v["REDUCE_INPUT_RECORDS"]
	} else {
		t.In, t.Out, t.Records = v["BYTES_READ"], v["MAP_OUTPUT_MATERIALIZED_BYTES"], v["MAP_OUTPUT_RECORDS"] //nolint:misspell // Hadoop's word
	}
	return t
}

// machine records the computer's description.
func (r *CyclesRecord) machine() {
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range bytes.Lines(b) {
			name, value, _ := strings.Cut(strings.TrimSpace(string(line)), ":")
			switch name, value = strings.TrimSpace(name), strings.TrimSpace(value); name {
			case "processor":
				r.Count++
			case "model name":
				r.Processor = value
			case "cpu MHz":
				r.MHz, _ = strconv.ParseFloat(value, 64)
			}
		}
	}
	r.Load = host.LoadAverage(host.FifteenMinutes)
}

// Cost is the CPU cost of a benchmark's tasks: a line fitted to the tasks of all its jobs.
type Cost struct {
	MapStart, Map       float64 // cycles: per map process, and per byte of input; includes sorting, spilling and merging
	ReduceStart, Reduce float64 // the same for a reduce and its input
	Passed, Written     float64 // map output and reduce output, in bytes per byte of input
}

// CyclesRecords are all runs of the study.
type CyclesRecords []*CyclesRecord

// ReadCycles reads the records of a folder, with their lines of the ledger.
func ReadCycles(dir string) ([]evidence.Run, CyclesRecords, error) {
	return evidence.ReadRecords[CyclesRecord](dir, cyclesSeries, cyclesExt)
}

//go:embed cycles.md.tmpl
var cyclesPage string

var benchmarks = []string{"TeraSort", "WordCount", "Sort"}

// Costs are the costs of the benchmarks by name, over the tasks of all runs.
func (l CyclesRecords) Costs() (map[string]Cost, error) {
	all := map[string]Cost{}
	for _, name := range benchmarks {
		var read, passed, written float64
		var in, cycles [2][]float64 // of maps and of reduces
		for _, r := range l {
			for _, j := range r.Jobs {
				for _, t := range j.Tasks {
					k := 0
					switch {
					case j.Benchmark != name:
						continue
					case t.Reduce:
						k, written = 1, written+float64(t.Out)
					default:
						read, passed = read+float64(t.In), passed+float64(t.Out)
					}
					in[k], cycles[k] = append(in[k], float64(t.In)), append(cycles[k], float64(t.CPU)/1e3*r.MHz*1e6)
				}
			}
		}
		c := Cost{Passed: passed / read, Written: written / read}
		var okM, okR bool
		c.MapStart, c.Map, okM = line(in[0], cycles[0])
		c.ReduceStart, c.Reduce, okR = line(in[1], cycles[1])
		if !okM || !okR {
			return nil, fmt.Errorf("%s: maps and reduces of two sizes are needed", name)
		}
		all[name] = c
	}
	return all, nil
}

// line is the least-squares line through points. It needs two that differ.
func line(x, y []float64) (at0, slope float64, ok bool) {
	at0, slope = stat.LinearRegression(x, y, nil, false)
	return at0, slope, len(x) > 0 && slices.Min(x) < slices.Max(x)
}

// cyclesData are the figures of the page.
func cyclesData(_ context.Context, _ []evidence.Run, list []*CyclesRecord) (map[string]any, template.FuncMap, error) {
	costs, err := CyclesRecords(list).Costs()
	options := map[string]bool{}
	for _, r := range list {
		for _, j := range r.Jobs {
			options["`"+j.Options+"`"] = true
		}
	}
	return map[string]any{"Options": slices.Sorted(maps.Keys(options)), "Benchmarks": benchmarks, "Costs": costs},
		template.FuncMap{"giga": func(v float64) float64 { return v / 1e9 }, "seconds": func(ms int64) float64 { return float64(ms) / 1e3 }}, err
}
