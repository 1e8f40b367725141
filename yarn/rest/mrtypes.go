package rest

// HistoryInfo is what a JobHistoryServer says of itself.
type HistoryInfo struct {
	StartedOn     int64  `json:"startedOn"`
	HadoopVersion string `json:"hadoopVersion"`
}

// Job is a MapReduce job, from the history server or from its running master. The averages and the counts of attempts are absent in lists.
type Job struct {
	ID                       string  `json:"id"`
	Name                     string  `json:"name"`
	Queue                    string  `json:"queue"`
	User                     string  `json:"user"`
	State                    string  `json:"state"`
	SubmitTime               int64   `json:"submitTime"`
	StartTime                int64   `json:"startTime"`
	FinishTime               int64   `json:"finishTime"`
	MapsTotal                int64   `json:"mapsTotal"`
	MapsCompleted            int64   `json:"mapsCompleted"`
	MapsPending              int64   `json:"mapsPending"` // this and the next three: of a running master
	MapsRunning              int64   `json:"mapsRunning"`
	ReducesPending           int64   `json:"reducesPending"`
	ReducesRunning           int64   `json:"reducesRunning"`
	ReducesTotal             int64   `json:"reducesTotal"`
	ReducesCompleted         int64   `json:"reducesCompleted"`
	MapProgress              float64 `json:"mapProgress"`
	ReduceProgress           float64 `json:"reduceProgress"`
	Uberized                 bool    `json:"uberized"`
	Diagnostics              string  `json:"diagnostics"`
	AvgMapTime               int64   `json:"avgMapTime"`
	AvgReduceTime            int64   `json:"avgReduceTime"`
	AvgShuffleTime           int64   `json:"avgShuffleTime"`
	AvgMergeTime             int64   `json:"avgMergeTime"`
	FailedMapAttempts        int64   `json:"failedMapAttempts"`
	KilledMapAttempts        int64   `json:"killedMapAttempts"`
	SuccessfulMapAttempts    int64   `json:"successfulMapAttempts"`
	FailedReduceAttempts     int64   `json:"failedReduceAttempts"`
	KilledReduceAttempts     int64   `json:"killedReduceAttempts"`
	SuccessfulReduceAttempts int64   `json:"successfulReduceAttempts"`
}

// JobAttempt is one run of the job's master.
type JobAttempt struct {
	ID          int64  `json:"id"`
	NodeHTTP    string `json:"nodeHttpAddress"`
	NodeID      string `json:"nodeId"`
	StartTime   int64  `json:"startTime"`
	ContainerID string `json:"containerId"`
	LogsLink    string `json:"logsLink"`
}

// Task is a map or a reduce.
type Task struct {
	ID                string  `json:"id"`
	Type              string  `json:"type"` // MAP, REDUCE
	State             string  `json:"state"`
	StartTime         int64   `json:"startTime"`
	FinishTime        int64   `json:"finishTime"`
	ElapsedTime       int64   `json:"elapsedTime"`
	Progress          float64 `json:"progress"`
	SuccessfulAttempt string  `json:"successfulAttempt"`
}

// TaskAttempt is one try of a task; the fields from ShuffleFinishTime on belong to reduces.
type TaskAttempt struct {
	ID                string  `json:"id"`
	Type              string  `json:"type"`
	State             string  `json:"state"`
	Status            string  `json:"status"`
	Rack              string  `json:"rack"`
	NodeHTTP          string  `json:"nodeHttpAddress"`
	Container         string  `json:"assignedContainerId"`
	Diagnostics       string  `json:"diagnostics"`
	StartTime         int64   `json:"startTime"`
	FinishTime        int64   `json:"finishTime"`
	ElapsedTime       int64   `json:"elapsedTime"`
	Progress          float64 `json:"progress"`
	ShuffleFinishTime int64   `json:"shuffleFinishTime"`
	MergeFinishTime   int64   `json:"mergeFinishTime"`
	ElapsedShuffle    int64   `json:"elapsedShuffleTime"`
	ElapsedMerge      int64   `json:"elapsedMergeTime"`
	ElapsedReduce     int64   `json:"elapsedReduceTime"`
}

// CounterGroup is a set of counters under a class name.
type CounterGroup struct {
	Name     string    `json:"counterGroupName"`
	Counters []Counter `json:"counter"`
}

// Counter has three values in a job and only Value in a task or attempt.
type Counter struct {
	Name   string `json:"name"`
	Value  int64  `json:"value"`
	Total  int64  `json:"totalCounterValue"`
	Map    int64  `json:"mapCounterValue"`
	Reduce int64  `json:"reduceCounterValue"`
}

// FileStatus is an entry of a WebHDFS listing.
type FileStatus struct {
	Name             string `json:"pathSuffix"` // within the listed folder; empty when a single file was listed
	Type             string `json:"type"`       // FILE, DIRECTORY, SYMLINK
	Length           int64  `json:"length"`
	ModificationTime int64  `json:"modificationTime"`
	AccessTime       int64  `json:"accessTime"`
	BlockSize        int64  `json:"blockSize"`
	Replication      int64  `json:"replication"`
	Owner            string `json:"owner"`
	Group            string `json:"group"`
	Permission       string `json:"permission"`
	FileID           int64  `json:"fileId"`
	ChildrenNum      int64  `json:"childrenNum"`
}

// IsDir reports whether the entry is a folder.
func (f *FileStatus) IsDir() bool { return f.Type == "DIRECTORY" }
