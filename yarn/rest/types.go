package rest

import "strings"

// Info is what a ResourceManager says of itself; a standby answers it too.
type Info struct {
	ID                     int64  `json:"id"`
	StartedOn              int64  `json:"startedOn"` // ms since the epoch
	State                  string `json:"state"`
	HAState                string `json:"haState"` // ACTIVE, STANDBY
	HAZooKeeper            string `json:"haZooKeeperConnectionState"`
	StateStore             string `json:"rmStateStoreName"`
	ResourceManagerVersion string `json:"resourceManagerVersion"`
	HadoopVersion          string `json:"hadoopVersion"`
}

// Metrics are the cluster's counts. Sizes are in MB as YARN writes them.
type Metrics struct {
	AppsSubmitted         int64 `json:"appsSubmitted"`
	AppsCompleted         int64 `json:"appsCompleted"`
	AppsPending           int64 `json:"appsPending"`
	AppsRunning           int64 `json:"appsRunning"`
	AppsFailed            int64 `json:"appsFailed"`
	AppsKilled            int64 `json:"appsKilled"`
	ReservedMB            int64 `json:"reservedMB"`
	AvailableMB           int64 `json:"availableMB"`
	AllocatedMB           int64 `json:"allocatedMB"`
	PendingMB             int64 `json:"pendingMB"`
	TotalMB               int64 `json:"totalMB"`
	ReservedVirtualCores  int64 `json:"reservedVirtualCores"`
	AvailableVirtualCores int64 `json:"availableVirtualCores"`
	AllocatedVirtualCores int64 `json:"allocatedVirtualCores"`
	PendingVirtualCores   int64 `json:"pendingVirtualCores"`
	TotalVirtualCores     int64 `json:"totalVirtualCores"`
	ContainersAllocated   int64 `json:"containersAllocated"`
	ContainersReserved    int64 `json:"containersReserved"`
	ContainersPending     int64 `json:"containersPending"`
	TotalNodes            int64 `json:"totalNodes"`
	ActiveNodes           int64 `json:"activeNodes"`
	LostNodes             int64 `json:"lostNodes"`
	UnhealthyNodes        int64 `json:"unhealthyNodes"`
	DecommissioningNodes  int64 `json:"decommissioningNodes"`
	DecommissionedNodes   int64 `json:"decommissionedNodes"`
	RebootedNodes         int64 `json:"rebootedNodes"`
	ShutdownNodes         int64 `json:"shutdownNodes"`

	// Physical use as the nodes report it, in percent; negative before Hadoop 3.3.1, which does not tell.
	UtilizedMBPercent    float64 `json:"utilizedMBPercent" nan:"keep"`
	UtilizedCoresPercent float64 `json:"utilizedVirtualCoresPercent" nan:"keep"`
}

// Resource is an amount of memory (MB), cores and, since Hadoop 3, anything else a site counts.
type Resource struct {
	Memory       int64 `json:"memory"`
	VCores       int64 `json:"vCores"`
	Informations struct {
		List []ResourceInformation `json:"resourceInformation"`
	} `json:"resourceInformations"`
}

// ResourceInformation is one kind of resource with its value.
type ResourceInformation struct {
	Name  string `json:"name"`
	Units string `json:"units"`
	Value int64  `json:"value"`
}

// Node is a NodeManager as the ResourceManager sees it.
type Node struct {
	ID                    string   `json:"id"`
	Rack                  string   `json:"rack"`
	State                 string   `json:"state"`
	HostName              string   `json:"nodeHostName"`
	HTTPAddress           string   `json:"nodeHTTPAddress"`
	Version               string   `json:"version"`
	LastHealthUpdate      int64    `json:"lastHealthUpdate"`
	HealthReport          string   `json:"healthReport"`
	NumContainers         int64    `json:"numContainers"`
	UsedMemoryMB          int64    `json:"usedMemoryMB"`
	AvailMemoryMB         int64    `json:"availMemoryMB"`
	UsedVirtualCores      int64    `json:"usedVirtualCores"`
	AvailableVirtualCores int64    `json:"availableVirtualCores"`
	NodeLabels            []string `json:"nodeLabels"`
	TotalResource         Resource `json:"totalResource"` // since Hadoop 3.1: see Total

	Utilization Utilization `json:"resourceUtilization"` // since 2.8
}

// Utilization is what really runs on a node's machine, whoever started it.
type Utilization struct {
	PhysicalMB int64   `json:"nodePhysicalMemoryMB"`    // in use; 0: the node does not report
	Cores      float64 `json:"nodeCPUUsage" nan:"keep"` // in use; time spent waiting for a disk does not count
}

// Total is the node's size. Hadoop 2 does not say it; it is then what is used and what is left.
func (n *Node) Total() Resource {
	if n.TotalResource.Memory != 0 || n.TotalResource.VCores != 0 {
		return n.TotalResource
	}
	return Resource{Memory: n.UsedMemoryMB + n.AvailMemoryMB, VCores: n.UsedVirtualCores + n.AvailableVirtualCores}
}

// App is an application. Times are ms since the epoch, 0 where it has not happened yet; with ACLs on, a caller who may not
// see the application gets its times as 0 as well, so callers should authenticate.
type App struct {
	ID                         string  `json:"id"`
	User                       string  `json:"user"`
	Name                       string  `json:"name"`
	Queue                      string  `json:"queue"` // a full path since 3.3, before that the last part of it for the CapacityScheduler
	State                      string  `json:"state"`
	FinalStatus                string  `json:"finalStatus"`
	Progress                   float64 `json:"progress" nan:"keep"`
	TrackingUI                 string  `json:"trackingUI"`
	TrackingURL                string  `json:"trackingUrl"`
	Diagnostics                string  `json:"diagnostics"`
	ClusterID                  int64   `json:"clusterId"`
	Type                       string  `json:"applicationType"`
	Tags                       string  `json:"applicationTags"` // separated by commas
	Priority                   int64   `json:"priority"`
	StartedTime                int64   `json:"startedTime"`
	LaunchTime                 int64   `json:"launchTime"` // of the first attempt; since 3.1
	FinishedTime               int64   `json:"finishedTime"`
	ElapsedTime                int64   `json:"elapsedTime"`
	AMContainerLogs            string  `json:"amContainerLogs"`
	AMHostHTTPAddress          string  `json:"amHostHttpAddress"`
	MasterNodeID               string  `json:"masterNodeId"`
	AllocatedMB                int64   `json:"allocatedMB"` // -1: the application has ended
	AllocatedVCores            int64   `json:"allocatedVCores"`
	ReservedMB                 int64   `json:"reservedMB"`
	ReservedVCores             int64   `json:"reservedVCores"`
	RunningContainers          int64   `json:"runningContainers"`
	MemorySeconds              int64   `json:"memorySeconds"`
	VCoreSeconds               int64   `json:"vcoreSeconds"`
	PreemptedResourceMB        int64   `json:"preemptedResourceMB"`
	PreemptedResourceVCores    int64   `json:"preemptedResourceVCores"`
	NumNonAMContainerPreempted int64   `json:"numNonAMContainerPreempted"`
	NumAMContainerPreempted    int64   `json:"numAMContainerPreempted"`
	PreemptedMemorySeconds     int64   `json:"preemptedMemorySeconds"`
	PreemptedVCoreSeconds      int64   `json:"preemptedVcoreSeconds"`
	Unmanaged                  bool    `json:"unmanagedApplication"`
	AppNodeLabel               string  `json:"appNodeLabelExpression"`
	AMNodeLabel                string  `json:"amNodeLabelExpression"`
	Requests                   []Ask   `json:"resourceRequests"` // what it waits for; a list leaves them out unless AppFilter.Requests is set
}

// Ask is a number of like containers that an application waits for.
type Ask struct {
	Where      string   `json:"resourceName"` // a node, a rack, or "*"
	Size       Resource `json:"capability"`
	Containers int64    `json:"numContainers"`
}

// Asked is the number of containers that the application waits for. Those that it would rather have on certain nodes are among those for
// anywhere.
func (a *App) Asked() (n int64) {
	for _, r := range a.Requests {
		if r.Where == "*" {
			n += min(max(r.Containers, 0), 1<<31)
		}
	}
	return n
}

// Ended reports whether the application has come to its end, whichever.
func (a *App) Ended() bool {
	return a.State == "FINISHED" || a.State == "FAILED" || a.State == "KILLED"
}

// JobID is the id under which MapReduce and its history server know the application.
func (a *App) JobID() string { return "job_" + strings.TrimPrefix(a.ID, "application_") }

// AppAttempt is one run of an application's master.
type AppAttempt struct {
	ID           int64  `json:"id"`
	StartTime    int64  `json:"startTime"`
	FinishedTime int64  `json:"finishedTime"`
	ContainerID  string `json:"containerId"`
	NodeHTTP     string `json:"nodeHttpAddress"`
	NodeID       string `json:"nodeId"`
	LogsLink     string `json:"logsLink"`
	AttemptID    string `json:"appAttemptId"`
	State        string `json:"appAttemptState"` // since 3.0
}

// Container is a container of a running attempt; the ResourceManager forgets it when it has ended.
type Container struct {
	ID              string `json:"containerId"`
	AllocatedMB     int64  `json:"allocatedMB"`
	AllocatedVCores int64  `json:"allocatedVCores"`
	NodeID          string `json:"assignedNodeId"`
	Priority        int64  `json:"priority"`
	StartedTime     int64  `json:"startedTime"`
	FinishedTime    int64  `json:"finishedTime"`
	ElapsedTime     int64  `json:"elapsedTime"`
	State           string `json:"containerState"`
}
