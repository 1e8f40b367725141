package rest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Info is the self-description of a ResourceManager; a standby serves it too.
type Info struct {
	State         string `json:"state"`
	HAState       string `json:"haState"` // ACTIVE, STANDBY
	HadoopVersion string `json:"hadoopVersion"`
}

// Metrics are the cluster's counts. Sizes are in MB as YARN writes them.
type Metrics struct {
	AppsSubmitted         int64 `json:"appsSubmitted"`
	AppsPending           int64 `json:"appsPending"`
	AppsRunning           int64 `json:"appsRunning"`
	AppsCompleted         int64 `json:"appsCompleted"`
	AppsFailed            int64 `json:"appsFailed"`
	AppsKilled            int64 `json:"appsKilled"`
	AllocatedMB           int64 `json:"allocatedMB"`
	TotalMB               int64 `json:"totalMB"`
	AllocatedVirtualCores int64 `json:"allocatedVirtualCores"`
	TotalVirtualCores     int64 `json:"totalVirtualCores"`
	ContainersAllocated   int64 `json:"containersAllocated"`
	ActiveNodes           int64 `json:"activeNodes"`
	LostNodes             int64 `json:"lostNodes"`
	UnhealthyNodes        int64 `json:"unhealthyNodes"`
	DecommissioningNodes  int64 `json:"decommissioningNodes"`
	DecommissionedNodes   int64 `json:"decommissionedNodes"`
	RebootedNodes         int64 `json:"rebootedNodes"`
	ShutdownNodes         int64 `json:"shutdownNodes"`

	// Physical use as the nodes report it, in percent; negative before Hadoop 3.3.1, which does not report it.
	UtilizedMBPercent    float64 `json:"utilizedMBPercent" nan:"keep"`
	UtilizedCoresPercent float64 `json:"utilizedVirtualCoresPercent" nan:"keep"`
}

// Resource is an amount of memory (MB) and cores.
type Resource struct {
	Memory int64 `json:"memory"`
	VCores int64 `json:"vCores"`
}

// Node is a NodeManager as the ResourceManager sees it.
type Node struct {
	ID                    string   `json:"id"`
	Rack                  string   `json:"rack"`
	State                 string   `json:"state"`
	HostName              string   `json:"nodeHostName"`
	UsedMemoryMB          int64    `json:"usedMemoryMB"`
	AvailMemoryMB         int64    `json:"availMemoryMB"`
	UsedVirtualCores      int64    `json:"usedVirtualCores"`
	AvailableVirtualCores int64    `json:"availableVirtualCores"`
	TotalResource         Resource `json:"totalResource"` // since Hadoop 3.1: see Total

	Utilization Utilization `json:"resourceUtilization"` // since 2.8
}

// Utilization is the actual load of a node's machine, whoever caused it.
type Utilization struct {
	PhysicalMB int64   `json:"nodePhysicalMemoryMB"`    // in use; 0: the node does not report
	Cores      float64 `json:"nodeCPUUsage" nan:"keep"` // in use; time spent waiting for a disk does not count
}

// Total is the node's size. Hadoop 2 does not report it; it is then the sum of used and available.
func (n *Node) Total() Resource {
	if n.TotalResource.Memory != 0 || n.TotalResource.VCores != 0 {
		return n.TotalResource
	}
	return Resource{Memory: n.UsedMemoryMB + n.AvailMemoryMB, VCores: n.UsedVirtualCores + n.AvailableVirtualCores}
}

// App is an application. Times are ms since the epoch, 0 where it has not happened yet; with ACLs on, a caller who may not
// see the application gets its times as 0 as well, so callers should authenticate.
type App struct {
	ID                string  `json:"id"`
	User              string  `json:"user"`
	Name              string  `json:"name"`
	Queue             string  `json:"queue"` // a full path since 3.3, before that the last part of it for the CapacityScheduler
	State             string  `json:"state"`
	FinalStatus       string  `json:"finalStatus"`
	Progress          float64 `json:"progress" nan:"keep"`
	Diagnostics       string  `json:"diagnostics"`
	Type              string  `json:"applicationType"`
	Tags              string  `json:"applicationTags"` // separated by commas
	Priority          int64   `json:"priority"`
	StartedTime       int64   `json:"startedTime"`
	LaunchTime        int64   `json:"launchTime"` // of the first attempt; since 3.1
	FinishedTime      int64   `json:"finishedTime"`
	ElapsedTime       int64   `json:"elapsedTime"`
	AllocatedMB       int64   `json:"allocatedMB"` // -1: the application has ended
	AllocatedVCores   int64   `json:"allocatedVCores"`
	ReservedMB        int64   `json:"reservedMB"` // on nodes that are reserved for it; since 2.9
	RunningContainers int64   `json:"runningContainers"`
	MemorySeconds     int64   `json:"memorySeconds"`
	VCoreSeconds      int64   `json:"vcoreSeconds"`
	Unmanaged         bool    `json:"unmanagedApplication"`
	AMLogs            string  `json:"amContainerLogs"`  // an address that ends with the AM's container
	Requests          []Ask   `json:"resourceRequests"` // outstanding; absent in lists unless AppFilter.Requests is set
}

// Ask is a number of identical containers that an application waits for.
type Ask struct {
	Where      string   `json:"resourceName"` // a node, a rack, or "*"
	Size       Resource `json:"capability"`
	Containers int64    `json:"numContainers"`
	Priority   int64    `json:"priority"`
}

// Container is one that an application holds.
type Container struct {
	ID          string `json:"containerId"`
	Node        string `json:"assignedNodeId"` // the node's ID
	MB          int64  `json:"allocatedMB"`
	VCores      int64  `json:"allocatedVCores"`
	Priority    int64  `json:"priority"`
	StartedTime int64  `json:"startedTime"` // allocated
	State       string `json:"containerState"`
}

// Asked is the number of containers that the application waits for. Requests for certain nodes are included in those for
// anywhere.
func (a *App) Asked() (n int64) {
	for _, r := range a.Requests {
		if r.Where == "*" {
			n += min(max(r.Containers, 0), 1<<31)
		}
	}
	return n
}

var amContainer = regexp.MustCompile(`container_(?:e[0-9]+_)?[0-9]+_[0-9]+_([0-9]+)_[0-9]+`)

// Attempt is the id of its current attempt: of the first one, if that is not known.
func (a *App) Attempt() string {
	number, _ := strconv.Atoi(append(amContainer.FindStringSubmatch(a.AMLogs), "", "")[1])
	return fmt.Sprintf("appattempt_%s_%06d", strings.TrimPrefix(a.ID, "application_"), max(number, 1))
}

// Ended reports whether the application has ended, in whatever way.
func (a *App) Ended() bool {
	return a.State == "FINISHED" || a.State == "FAILED" || a.State == "KILLED"
}

// JobID is the id under which MapReduce and its history server know the application.
func (a *App) JobID() string { return "job_" + strings.TrimPrefix(a.ID, "application_") }
