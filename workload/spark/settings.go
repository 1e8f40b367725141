package spark

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

// settings are the properties of an application that a job is made of. No other property is kept: values may be secrets.
type settings map[string]string

// Known lists the properties that are read, sorted.
var Known = []string{
	"spark.app.id",
	"spark.app.submitTime",
	"spark.driver.cores",
	"spark.driver.memory",
	"spark.driver.memoryOverhead",
	"spark.driver.memoryOverheadFactor",
	"spark.driver.minMemoryOverhead",
	"spark.dynamicAllocation.cachedExecutorIdleTimeout",
	"spark.dynamicAllocation.enabled",
	"spark.dynamicAllocation.executorAllocationRatio",
	"spark.dynamicAllocation.executorIdleTimeout",
	"spark.dynamicAllocation.initialExecutors",
	"spark.dynamicAllocation.maxExecutors",
	"spark.dynamicAllocation.minExecutors",
	"spark.dynamicAllocation.schedulerBacklogTimeout",
	"spark.dynamicAllocation.shuffleTracking.timeout",
	"spark.dynamicAllocation.sustainedSchedulerBacklogTimeout",
	"spark.executor.cores",
	"spark.executor.instances",
	"spark.executor.memory",
	"spark.executor.memoryOverhead",
	"spark.executor.memoryOverheadFactor",
	"spark.executor.minMemoryOverhead",
	"spark.executor.pyspark.memory",
	"spark.kubernetes.allocation.batch.delay",
	"spark.kubernetes.allocation.batch.size",
	"spark.kubernetes.allocation.maxPendingPods",
	"spark.kubernetes.driver.request.cores",
	"spark.kubernetes.executor.request.cores",
	"spark.kubernetes.memoryOverheadFactor",
	"spark.kubernetes.resource.type",
	"spark.locality.wait",
	"spark.locality.wait.process",
	"spark.master",
	"spark.memory.offHeap.enabled",
	"spark.memory.offHeap.size",
	"spark.scheduler.maxRegisteredResourcesWaitingTime",
	"spark.scheduler.minRegisteredResourcesRatio",
	"spark.scheduler.mode",
	"spark.shuffle.service.enabled",
	"spark.submit.deployMode",
	"spark.task.cpus",
	"spark.yarn.am.cores",
	"spark.yarn.am.memory",
	"spark.yarn.am.memoryOverhead",
	"spark.yarn.driver.memoryOverhead",
	"spark.yarn.executor.memoryOverhead",
	"spark.yarn.isPython",
	"spark.yarn.queue",
}

// read takes the known properties of an object.
func (p settings) read(s *scan) {
	for ok := s.enter('{'); ok && s.more('}'); {
		if i, known := slices.BinarySearchFunc(Known, s.key(), func(k string, b []byte) int { return strings.Compare(k, string(b)) }); known {
			p[Known[i]] = s.text(maxText)
		} else {
			s.skip()
		}
	}
}

func (p settings) yes(key string) bool { return strings.EqualFold(p[key], "true") }

// count is a whole number from 0 on.
func (p settings) count(key string, otherwise int64) int64 {
	if n, err := strconv.ParseInt(strings.TrimSpace(p[key]), 10, 64); err == nil && n >= 0 && n <= math.MaxInt32 {
		return n
	}
	return otherwise
}

func (p settings) share(key string, otherwise float64) float64 {
	if f, err := strconv.ParseFloat(strings.TrimSpace(p[key]), 64); err == nil && f >= 0 && f <= 100 {
		return f
	}
	return otherwise
}

// first is the first of some keys that is set; the last one if none is.
func (p settings) first(keys ...string) string {
	for _, k := range keys {
		if p[k] != "" {
			return k
		}
	}
	return keys[len(keys)-1]
}

// united is a value with its unit; one without is of the given unit.
func (p settings) united(key, bare string) string {
	text := strings.ToLower(strings.TrimSpace(p[key]))
	if strings.TrimRight(text, "0123456789") == "" {
		text += bare
	}
	return text
}

// mib is an amount of memory in MiB.
func (p settings) mib(key, bare string, otherwise int64) int64 {
	if v, err := unit.ParseBytes(p.united(key, bare)); err == nil && v < 1<<50 {
		return int64(v / unit.MiB)
	}
	return otherwise
}

// time is a length of time.
func (p settings) time(key, bare string, otherwise unit.Time) unit.Time {
	if v, err := unit.ParseTime(p.united(key, bare)); err == nil && v >= 0 && v <= workload.MaxLength {
		return v
	}
	return otherwise
}

// manager is the kind of cluster that spark.master names.
func (p settings) manager() string {
	m := p["spark.master"]
	for _, kind := range []string{"yarn", "k8s", "local-cluster", "local", "spark", "mesos"} {
		if strings.HasPrefix(m, kind) {
			return kind
		}
	}
	return ""
}

func (p settings) cluster() bool {
	return p["spark.submit.deployMode"] == "cluster" || p["spark.master"] == "yarn-cluster"
}

func (p settings) python() bool {
	return p.yes("spark.yarn.isPython") || p["spark.kubernetes.resource.type"] == "python"
}

// overhead is the memory of a container beyond the heap: as set, or a share of the heap and at least 384 MiB.
func (p settings) overhead(heap int64, set, factor, least string) int64 {
	otherwise := 0.10
	if p.manager() == "k8s" {
		if p.python() && p.cluster() {
			otherwise = 0.40
		}
		otherwise = p.share("spark.kubernetes.memoryOverheadFactor", otherwise)
	}
	const minimum = 384
	derived := max(int64(p.share(factor, otherwise)*float64(heap)), p.mib(least, "m", minimum))
	return p.mib(set, "m", derived)
}

// executor is the container of an executor. cores is what executors had, where the settings do not say.
func (p settings) executor(cores int64) unit.Resources {
	heap := p.mib("spark.executor.memory", "m", 1024)
	mem := heap + p.overhead(heap, p.first("spark.executor.memoryOverhead", "spark.yarn.executor.memoryOverhead"),
		"spark.executor.memoryOverheadFactor", "spark.executor.minMemoryOverhead")
	if p.yes("spark.memory.offHeap.enabled") {
		mem += p.mib("spark.memory.offHeap.size", "b", 0)
	}
	if p.python() {
		mem += p.mib("spark.executor.pyspark.memory", "m", 0)
	}
	return unit.Resources{Mem: mem, Cores: p.request("spark.kubernetes.executor.request.cores", p.cores(cores))}
}

// cores is how many cores an executor takes itself to have.
func (p settings) cores(otherwise int64) int64 {
	return max(p.count("spark.executor.cores", otherwise), 1)
}

// request is how many cores a pod asks for where Kubernetes is told so, rounded up: 1500m is 2.
func (p settings) request(key string, cores int64) int64 {
	if p.manager() != "k8s" {
		return cores
	}
	text, milli := strings.CutSuffix(strings.TrimSpace(p[key]), "m")
	n, err := strconv.ParseFloat(text, 64)
	if milli {
		n /= 1000
	}
	if err != nil || !(n > 0 && n <= math.MaxInt32) {
		return cores
	}
	return int64(math.Ceil(n))
}

// batches sets how executors are requested on Kubernetes, with the defaults of a version of Spark.
func (p settings) batches(k *workload.Keep, version string) {
	if p.manager() != "k8s" {
		return
	}
	var major, minor int
	_, _ = fmt.Sscanf(version, "%d.%d", &major, &minor) // what is not a version is an old one
	before := func(x, y int) bool { return major < x || major == x && minor < y }
	size := int64(20)
	switch {
	case before(4, 0):
		size = 5
	case before(4, 2):
		size = 10
	}
	k.Batch = max(p.count("spark.kubernetes.allocation.batch.size", size), 1)
	k.Every = p.time("spark.kubernetes.allocation.batch.delay", "ms", unit.Second)
	k.Pending = p.count("spark.kubernetes.allocation.maxPendingPods", 0)
	if before(3, 1) {
		k.Pending = k.Batch // a batch waits for the one before it
	}
}

// am is the ApplicationMaster's container: the driver's in cluster mode. Outside of YARN and Kubernetes there is none.
func (p settings) am() unit.Resources {
	kind := p.manager()
	switch {
	case p.cluster() && (kind == "yarn" || kind == "k8s"):
		heap := p.mib("spark.driver.memory", "m", 1024)
		mem := heap + p.overhead(heap, p.first("spark.driver.memoryOverhead", "spark.yarn.driver.memoryOverhead"),
			"spark.driver.memoryOverheadFactor", "spark.driver.minMemoryOverhead")
		return unit.Resources{Mem: mem, Cores: p.request("spark.kubernetes.driver.request.cores", max(p.count("spark.driver.cores", 1), 1))}
	case kind == "yarn":
		heap := p.mib("spark.yarn.am.memory", "m", 512)
		return unit.Resources{Mem: heap + p.overhead(heap, "spark.yarn.am.memoryOverhead", "", ""), Cores: max(p.count("spark.yarn.am.cores", 1), 1)}
	}
	return unit.Resources{}
}

// slots is how many tasks an executor with so many cores runs at a time.
func (p settings) slots(cores int64) int64 {
	return max(cores/max(p.count("spark.task.cpus", 1), 1), 1)
}

// dynamic is dynamic allocation; nil: the number of executors is static.
func (p settings) dynamic() *workload.Dynamic {
	if !p.yes("spark.dynamicAllocation.enabled") || p.manager() == "local" {
		return nil
	}
	key := func(name string) string { return "spark.dynamicAllocation." + name }
	d := &workload.Dynamic{
		Min:         p.count(key("minExecutors"), 0),
		Ratio:       p.share(key("executorAllocationRatio"), 1),
		Backlog:     p.time(key("schedulerBacklogTimeout"), "s", unit.Second),
		Idle:        p.time(key("executorIdleTimeout"), "s", unit.Minute),
		CachedIdle:  p.time(key("cachedExecutorIdleTimeout"), "s", 0),
		ShuffleIdle: p.time(key("shuffleTracking.timeout"), "ms", 0),
	}
	d.Sustained = p.time(key("sustainedSchedulerBacklogTimeout"), "s", d.Backlog)
	d.Initial = max(d.Min, p.count(key("initialExecutors"), 0), p.count("spark.executor.instances", 0))
	return d
}
