// Package result computes figures from a run's records: per job, per queue, user and class, and for the whole run.
// docs/metrics.md defines every figure. All times in a Run are seconds; it holds no wall-clock time, so that the same
// scenario and seed give the same bytes.
package result

// NoEffect ends an assumption about a setting that has no effect in this run: commands repeat it at the end of their output.
const NoEffect = "so it has no effect"

// Run is one run's figures, written as result.json.
type Run struct {
	Tool        string   `json:"tool"`    // "yardmaster"
	Version     string   `json:"version"` // of the program
	Scenario    Scenario `json:"scenario"`
	Assumptions []string `json:"assumptions"`
	NotModelled []string `json:"not_modelled"`
	Partial     bool     `json:"partial"`

	Jobs  JobCounts  `json:"jobs"`
	Tasks TaskCounts `json:"tasks"`

	// Makespan is from the first submission to the last finish.
	Makespan float64 `json:"makespan"`
	// Utilisation is memory held over total memory, between first submission and last finish.
	Utilisation float64 `json:"utilisation"`
	Named       []Named `json:"named_resources,omitempty"` // of a cluster that has any, by name
	// ContainerHours is the time containers were held, WorkHours what tasks of finished jobs needed of it: the rest is overhead, and attempts that
	// failed or were killed.
	ContainerHours float64 `json:"container_hours"`
	WorkHours      float64 `json:"work_hours"`

	Metrics   Metrics  `json:"metrics"`
	Quantiles string   `json:"quantiles"` // "exact" or "sketch"
	Service   []Level  `json:"service_levels"`
	Fairness  Fairness `json:"fairness"`
	Locality  Locality `json:"locality"`
	Traffic   *Traffic `json:"traffic,omitempty"` // of a run with a network

	Spread     *Spread     `json:"slowdown_spread,omitempty"` // if sizes and slowdowns are known
	Deadlines  *Deadlines  `json:"deadlines,omitempty"`       // if jobs have any
	Estimates  *Estimates  `json:"estimates,omitempty"`       // of a scheduler that predicts when jobs end
	Idle       *Idle       `json:"idle,omitempty"`
	Partitions []Partition `json:"partitions,omitempty"` // of a scheduler that divides the nodes

	Steering *Steering `json:"steering,omitempty"` // of a run with a steering policy

	ByQueue []Group `json:"by_queue"`
	ByUser  []Group `json:"by_user"`
	ByClass []Group `json:"by_class"`

	Observed *Observed `json:"observed,omitempty"` // against what really happened, where the trace says

	Refusals []Refusal `json:"refusals,omitempty"` // why jobs did not finish: at most 20 reasons, most frequent first

	// LeftOut are the jobs that did not finish, by arrival number, ascending; see Apart. Truncated if there are very many.
	LeftOut []int64 `json:"-"`

	Events    int64 `json:"events"`
	Decisions int64 `json:"decisions"`
}

// Named is what containers held of a named resource, such as GPUs.
type Named struct {
	Name        string  `json:"name"`
	Count       int64   `json:"count"`       // in the cluster
	Hours       float64 `json:"hours"`       // that one was held, summed
	Utilisation float64 `json:"utilisation"` // as that of memory
}

// Scenario is what was run, in reproducible terms.
type Scenario struct {
	Workload       string   `json:"workload"`
	WorkloadSHA256 string   `json:"workload_sha256,omitempty"` // of the file, when it is one
	Cluster        string   `json:"cluster"`                   // as typed
	ClusterTitle   string   `json:"cluster_title"`             // in words
	Scheduler      string   `json:"scheduler"`
	OtherSettings  string   `json:"-"`     // see Observed
	Model          []string `json:"model"` // each as "name=value"
	Seed           uint64   `json:"seed"`
	Command        string   `json:"command,omitempty"` // that reproduces it
}

// JobCounts counts jobs.
type JobCounts struct {
	Submitted  int64 `json:"submitted"`
	Finished   int64 `json:"finished"`
	Refused    int64 `json:"refused"`
	Failed     int64 `json:"failed"`
	Unfinished int64 `json:"unfinished"`
}

// TaskCounts counts tasks.
type TaskCounts struct {
	Finished int64 `json:"finished"`
	Lost     int64 `json:"lost"` // attempts that failed or were killed and ran again
}

// Metrics are taken over finished jobs.
type Metrics struct {
	Wait          Stats `json:"wait"`               // submission to first container, s
	GangWait      Stats `json:"gang_wait,omitzero"` // of jobs with a gang: submission to the start of the first one, s
	Run           Stats `json:"run"`                // first container to finish, s
	Elapsed       Stats `json:"elapsed"`            // submission to finish, s
	Slowdown      Stats `json:"slowdown"`           // elapsed over elapsed on an empty cluster
	ResponseRatio Stats `json:"response_ratio"`     // elapsed over run
}

// Stats describes a set of values. All are 0 when Count is 0.
type Stats struct {
	Count  int64   `json:"count"`
	Mean   float64 `json:"mean"`
	CV     float64 `json:"cv"` // standard deviation over mean
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	P95    float64 `json:"p95"`
	P99    float64 `json:"p99"`
	Max    float64 `json:"max"`
}

// Fairness holds Jain's index, (sum x)^2 / (n sum x^2), 1 when all are treated equally.
type Fairness struct {
	JainSlowdownUsers  float64 `json:"jain_slowdown_users"`  // over users' mean slowdown
	JainSlowdownQueues float64 `json:"jain_slowdown_queues"` // over queues' mean slowdown
	JainSlowdownJobs   float64 `json:"jain_slowdown_jobs"`   // over jobs' slowdown
}

// Locality counts task starts by how near their input was.
type Locality struct {
	Node int64 `json:"node"`
	Rack int64 `json:"rack"`
	Off  int64 `json:"off"`
	None int64 `json:"none"` // tasks whose input has no location
}

// Traffic is what tasks passed over the network.
type Traffic struct {
	Flows          int64     `json:"flows"`
	Settled        int64     `json:"settled"` // times that the rates of flows were recomputed
	ReadBytes      float64   `json:"read_bytes"`
	ShuffledBytes  float64   `json:"shuffled_bytes"`
	CrossRackBytes float64   `json:"cross_rack_bytes"`
	Congested      int64     `json:"congested"`               // times that a link into or out of a rack became congested
	UplinkLoad     float64   `json:"uplink_load"`             // mean of these links, as a share of their capacity
	ReduceIdle     float64   `json:"reduce_idle"`             // share of the container-time held that was reduces waiting for maps or data
	MapProgress    float64   `json:"map_progress,omitempty"`  // mean share of maps done when the first reduce starts
	OpticalBytes   float64   `json:"optical_bytes,omitempty"` // of them, sent over circuits
	Reconfigured   int64     `json:"reconfigured,omitempty"`  // times that circuits were
	Busiest        []LinkUse `json:"busiest"`                 // links by the share of their capacity that was used; at most 20
}

// LinkUse is what went over one link.
type LinkUse struct {
	Name        string  `json:"name"`
	Bytes       float64 `json:"bytes"`
	Utilisation float64 `json:"utilisation"`
	Crossings   int64   `json:"congested"` // times that it became congested
}

// Group is the figures of the jobs of one queue, user or class.
type Group struct {
	Name           string  `json:"name"`
	Jobs           int64   `json:"jobs"`
	Tasks          int64   `json:"tasks"`
	ContainerHours float64 `json:"container_hours"`
	Wait           Stats   `json:"wait"`
	Elapsed        Stats   `json:"elapsed"`
	Slowdown       Stats   `json:"slowdown"`
	Service        []Level `json:"service_levels"`
}

// Refusal is a reason for which jobs were not admitted, failed or can never finish.
type Refusal struct {
	Reason string `json:"reason"`
	Jobs   int64  `json:"jobs"`
}

// JobRow is one job of jobs.parquet in a run's output folder, and of a small run's chart of jobs.
type JobRow struct {
	ID            string  `parquet:"id" json:"id"`
	Name          string  `parquet:"name" json:"name"`
	User          string  `parquet:"user" json:"user"`
	Queue         string  `parquet:"queue" json:"queue"`
	Class         string  `parquet:"class" json:"class"`
	Outcome       string  `parquet:"outcome" json:"outcome"`
	Reason        string  `parquet:"reason" json:"reason"`
	Priority      int64   `parquet:"priority" json:"priority"`
	Tasks         int64   `parquet:"tasks" json:"tasks"`
	Submit        float64 `parquet:"submit" json:"submit"`
	Start         float64 `parquet:"start" json:"start"`   // -1: never
	Finish        float64 `parquet:"finish" json:"finish"` // -1: never
	Wait          float64 `parquet:"wait" json:"wait"`
	Run           float64 `parquet:"run" json:"run"`
	Elapsed       float64 `parquet:"elapsed" json:"elapsed"`
	Alone         float64 `parquet:"alone" json:"alone"`
	Slowdown      float64 `parquet:"slowdown" json:"slowdown"`
	ResponseRatio float64 `parquet:"response_ratio" json:"response_ratio"`
	ContainerTime float64 `parquet:"container_seconds" json:"container_seconds"`
	Lost          int64   `parquet:"lost" json:"lost"`
	NodeLocal     int64   `parquet:"node_local" json:"node_local"`
	RackLocal     int64   `parquet:"rack_local" json:"rack_local"`
	OffRack       int64   `parquet:"off_rack" json:"off_rack"`
}

// TimeRow is one queue in one interval of timeline.parquet.
type TimeRow struct {
	From       float64 `parquet:"from" json:"from"`
	To         float64 `parquet:"to" json:"to"`
	Queue      string  `parquet:"queue" json:"queue"`
	Containers float64 `parquet:"containers" json:"containers"`
	Mem        float64 `parquet:"mem_mib" json:"mem_mib"`
	Running    int64   `parquet:"running_jobs" json:"running_jobs"`
	Waiting    int64   `parquet:"waiting_jobs" json:"waiting_jobs"`
	Pending    int64   `parquet:"pending_tasks" json:"pending_tasks"`
}
