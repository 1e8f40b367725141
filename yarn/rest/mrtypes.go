package rest

// HistoryInfo is the self-description of a JobHistoryServer.
type HistoryInfo struct {
	StartedOn     int64  `json:"startedOn"`
	HadoopVersion string `json:"hadoopVersion"`
}

// Job is a MapReduce job, from the history server or from its running AM.
type Job struct {
	ID               string  `json:"id"`
	Name             string  `json:"name"`
	Queue            string  `json:"queue"`
	User             string  `json:"user"`
	State            string  `json:"state"`
	SubmitTime       int64   `json:"submitTime"`
	StartTime        int64   `json:"startTime"`
	FinishTime       int64   `json:"finishTime"`
	MapsTotal        int64   `json:"mapsTotal"`
	MapsCompleted    int64   `json:"mapsCompleted"`
	MapsPending      int64   `json:"mapsPending"` // this and the next two: of a running AM
	MapsRunning      int64   `json:"mapsRunning"`
	ReducesPending   int64   `json:"reducesPending"`
	ReducesTotal     int64   `json:"reducesTotal"`
	ReducesCompleted int64   `json:"reducesCompleted"`
	MapProgress      float64 `json:"mapProgress"`
	Uberized         bool    `json:"uberized"`
}

// Task is a map or a reduce.
type Task struct {
	ID         string `json:"id"`
	Type       string `json:"type"` // MAP, REDUCE
	State      string `json:"state"`
	StartTime  int64  `json:"startTime"`
	FinishTime int64  `json:"finishTime"`
}

// CounterGroup is a set of counters under a class name.
type CounterGroup struct {
	Name     string    `json:"counterGroupName"`
	Counters []Counter `json:"counter"`
}

// Counter has Total in a job and Value in a task.
type Counter struct {
	Name  string `json:"name"`
	Value int64  `json:"value"`
	Total int64  `json:"totalCounterValue"`
}

// FileStatus is an entry of a WebHDFS listing.
type FileStatus struct {
	Name   string `json:"pathSuffix"` // within the listed folder; empty when a single file was listed
	Type   string `json:"type"`       // FILE, DIRECTORY, SYMLINK
	Length int64  `json:"length"`
	Owner  string `json:"owner"`
}

// IsDir reports whether the entry is a folder.
func (f *FileStatus) IsDir() bool { return f.Type == "DIRECTORY" }
