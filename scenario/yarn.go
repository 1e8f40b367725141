package scenario

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/internal/setting"
	"github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/sim/kube"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Clocks: how time passes in a run.
const (
	Ideal  = "ideal"  // a free container is used at once: any policy
	SLS    = "sls"    // as in Hadoop's scheduler load simulator
	Hadoop = "hadoop" // as on a cluster of real daemons
	// Kubernetes releases pods as on a Kubernetes cluster, with the core of the live scheduler.
	Kubernetes = "kubernetes"
)

// Yarn says that a run simulates a YARN cluster with its heartbeats and delays, and how long they are. -1 means the clock's
// default.
type Yarn struct {
	Site           string // a yarn-site.xml
	NodeHeartbeat  unit.Time
	AMHeartbeat    unit.Time
	AMStart        unit.Time
	ContainerStart unit.Time
	ContainerExit  unit.Time
	Commit         unit.Time
	Linger         unit.Time
}

func idealYarn() Yarn {
	return Yarn{
		NodeHeartbeat: -1, AMHeartbeat: -1, AMStart: -1, ContainerStart: -1, ContainerExit: -1, Commit: -1, Linger: -1,
	}
}

// clockSetting is how time passes. Files may have it under "yarn:", where it was once.
func clockSetting() Setting {
	clocks := []string{Ideal, SLS, Hadoop, Kubernetes}
	return setting.Text("clock", "", "CLOCK", "ideal, or simulate a cluster with its delays: hadoop (YARN's daemons), sls (Hadoop's scheduler load simulator) or kubernetes",
		func(s *Scenario) *string { return &s.Clock }, func(v string) error {
			if !slices.Contains(clocks, v) {
				return fmt.Errorf("unknown clock %q: want %s or %s", v, strings.Join(clocks[:len(clocks)-1], ", "), Kubernetes)
			}
			return nil
		})
}

// kubernetesSettings are the keys under "kubernetes:".
func kubernetesSettings() []Setting {
	delay := func(name, help string, at func(*kube.Timing) *unit.Time) Setting {
		return setting.Duration(name, "kubernetes", help, func(s *Scenario) *unit.Time { return at(&s.Kubernetes) })
	}
	return []Setting{
		delay("pod-service", "time that the scheduler takes for a pod", func(t *kube.Timing) *unit.Time { return &t.Service }),
		delay("pod-bind", "from the choice of a node until the pod is bound to it", func(t *kube.Timing) *unit.Time { return &t.Bind }),
		delay("pod-start", "from then until its containers work", func(t *kube.Timing) *unit.Time { return &t.StartUp }),
		delay("pod-watch", "from the end of a pod until the scheduler knows of it", func(t *kube.Timing) *unit.Time { return &t.Watch }),
		setting.Number("window", "kubernetes", "pods that may be released before they have a node; 0: 256", 0, 1_000_000, func(s *Scenario) *int { return &s.Kubernetes.Window }),
	}
}

// yarnSettings are the keys under "yarn:".
func yarnSettings() []Setting {
	override := func(name, help string, at func(*Yarn) *unit.Time) Setting {
		return setting.Duration(name, "yarn", help, func(s *Scenario) *unit.Time { return at(&s.Yarn) })
	}
	return []Setting{
		setting.Text("yarn-site", "yarn", "FILE", "the cluster's yarn-site.xml: sizes of containers, heartbeat, preemption, settings of the FairScheduler",
			func(s *Scenario) *string { return &s.Yarn.Site }, nil),
		override("node-heartbeat", "interval of a node's reports", func(y *Yarn) *unit.Time { return &y.NodeHeartbeat }),
		override("am-heartbeat", "interval of an AM's heartbeats", func(y *Yarn) *unit.Time { return &y.AMHeartbeat }),
		override("am-start", "from the launch of an AM's container to its registration", func(y *Yarn) *unit.Time { return &y.AMStart }),
		override("container-start", "from an AM's notification of a container to its task's start", func(y *Yarn) *unit.Time { return &y.ContainerStart }),
		override("container-exit", "from a task's end to the exit of its process", func(y *Yarn) *unit.Time { return &y.ContainerExit }),
		override("commit", "from the last task's end to the end of its job", func(y *Yarn) *unit.Time { return &y.Commit }),
		override("linger", "from the end of a job to the exit of its AM", func(y *Yarn) *unit.Time { return &y.Linger }),
	}
}

// site reads the scenario's yarn-site.xml. SLS enables the preemption of the CapacityScheduler, whatever the file says.
func (y *Yarn) site(clock string) (conf.Site, error) {
	s := conf.DefaultSite()
	if y.Site != "" {
		f, err := os.Open(y.Site)
		if errors.Is(err, fs.ErrNotExist) {
			return s, fmt.Errorf("yarn-site: %s does not exist", y.Site)
		}
		if err != nil {
			return s, fmt.Errorf("yarn-site: %w", err)
		}
		defer f.Close()
		if s, err = conf.ReadSite(f, y.Site); err != nil {
			return s, err
		}
	}
	s.Monitor = s.Monitor || clock == SLS
	return s, nil
}

// timing is the clock with the given overrides.
func (y *Yarn) timing(clock string, site conf.Site) yarn.Timing {
	t := yarn.Hadoop()
	if clock == SLS {
		t = yarn.SLS()
	} else if site.NodeHeartbeat > 0 {
		t.NodeHeartbeat = site.NodeHeartbeat
	}
	for _, o := range []struct {
		target *unit.Time
		value  unit.Time
	}{
		{&t.NodeHeartbeat, y.NodeHeartbeat}, {&t.AMHeartbeat, y.AMHeartbeat}, {&t.AMStart, y.AMStart},
		{&t.ContainerStart, y.ContainerStart}, {&t.ContainerExit, y.ContainerExit}, {&t.Commit, y.Commit}, {&t.Linger, y.Linger},
	} {
		if o.value >= 0 {
			*o.target = o.value
		}
	}
	return t
}

// idealOnly are the model settings that other clocks do not use.
var idealOnly = []string{"heartbeat", "per-beat", "end-on-beat", "start-up", "lookahead"}

// resolveClock opens what the clock needs, and rejects what only others have. Only a YARN clock has a site.
func (s *Scenario) resolveClock(out *Setup) (*conf.Site, error) {
	onYARN := s.Clock == Hadoop || s.Clock == SLS
	if slices.Contains(s.Given, "clock") { // the flag overrides a file's clock
		if !onYARN {
			s.Yarn = idealYarn()
		}
		if s.Clock != Kubernetes {
			s.Kubernetes = kube.Measured()
		}
		out.Scenario.Yarn, out.Scenario.Kubernetes = s.Yarn, s.Kubernetes
	} else if !onYARN {
		if err := s.without("yarn", "", "a YARN clock: add --clock hadoop (or sls)"); err != nil {
			return nil, err
		}
	}
	if s.Clock != Kubernetes {
		if err := s.without("kubernetes", "", "the Kubernetes clock: add --clock kubernetes"); err != nil {
			return nil, err
		}
	}
	if s.Clock == Ideal {
		return nil, nil
	}
	for _, name := range idealOnly {
		if set, _ := Find(name); set != nil && !slices.Equal(set.Get(s), set.Get(&defaults)) {
			return nil, misuse("--%s acts in ideal time only: leave it out, or leave out --clock %s", name, s.Clock)
		}
	}
	if out.Cluster.Slots {
		kind := "YARN"
		if s.Clock == Kubernetes {
			kind = "Kubernetes"
		}
		return nil, misuse("--clock %s: a %s cluster has no fixed slots; give nodes with memory and cores, as 600x6/30", s.Clock, kind)
	}
	if s.Model.Application == am.Overlap {
		return nil, misuse("--application %s acts in ideal time only: leave it out, or leave out --clock %s", am.Overlap, s.Clock)
	}
	if s.Clock == Kubernetes {
		if err := s.Kubernetes.Validate(); err != nil {
			return nil, &MisuseError{err}
		}
		out.Kubernetes = &s.Kubernetes
		return nil, nil
	}
	if s.Model.Speculate != "" {
		return nil, &MisuseError{run.ErrCopies}
	}
	site, err := s.Yarn.site(s.Clock)
	if err != nil {
		return nil, err
	}
	timing := s.Yarn.timing(s.Clock, site)
	if s.Model.Application == am.MapsFirst {
		if s.Clock == SLS {
			return nil, misuse("--application %s: SLS has an application model of its own; leave it out, or leave out --clock %s", am.MapsFirst, SLS)
		}
		timing.AMs = yarn.PlainAMs
	}
	if err := timing.Validate(); err != nil {
		return nil, &MisuseError{err}
	}
	out.Timing = &timing
	return &site, nil
}

// assumptions lists, for a person, the assumptions about the delays of a YARN cluster.
func (s *Scenario) yarnAssumptions(t *yarn.Timing, fails bool) []string {
	out := []string{
		fmt.Sprintf("cluster: nodes report every %v, each with its own phase; a container is given only then", t.NodeHeartbeat),
		fmt.Sprintf("cluster: AMs call every %v; a job without an AM's container and without reduces is unmanaged: it holds what it is given, and no process starts", t.AMHeartbeat),
	}
	if s.Clock == SLS {
		return append(out, "cluster: AMs and containers are those of Hadoop's scheduler load simulator: they start at once, an answer is acted on one call later, no reduce is asked for before the last map is counted")
	}
	fixed := "tasks do not fail, there is no speculative execution, and no job runs inside its AM"
	if fails {
		_, fixed, _ = strings.Cut(fixed, ", ")
	}
	model := am.Hadoop
	if t.AMs == yarn.PlainAMs {
		model = am.MapsFirst
	}
	return append(out, applications(model),
		fmt.Sprintf("cluster: an AM registers %v after its container is given and stays %v after its job's end", t.AMStart, t.Linger),
		fmt.Sprintf("cluster: a task begins %v after its AM is notified of the container; its process exits %v after its end; a job commits in %v", t.ContainerStart, t.ContainerExit, t.Commit),
		"cluster: "+fixed)
}

// kubernetesAssumptions lists, for a person, what the Kubernetes clock assumes.
func (s *Scenario) kubernetesAssumptions() []string {
	t := &s.Kubernetes
	return []string{
		fmt.Sprintf("cluster: pods are released in the policy's order as far as there is room; the scheduler takes %v for each and binds it in %v", t.Service, t.Bind),
		fmt.Sprintf("cluster: containers work %v after their pod has its node; the scheduler knows of an end after %v", t.StartUp, t.Watch),
		"cluster: a pod goes to the node with the largest free share that has room for it; no pod is preempted or fails",
		"cluster: a job's AM is a pod that the others wait for; the pods of a stage are created when the stages that it reads from are done",
	}
}
