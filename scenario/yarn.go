package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/all"
	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/policy/rm/adapt"
	capacityrm "github.com/yardmaster/yardmaster/policy/rm/capacity"
	fairrm "github.com/yardmaster/yardmaster/policy/rm/fair"
	"github.com/yardmaster/yardmaster/sim/am"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Clocks: how time passes in a run.
const (
	Ideal  = "ideal"  // a free container is used at once: any policy
	SLS    = "sls"    // as in Hadoop's scheduler load simulator
	Hadoop = "hadoop" // as on a cluster of real daemons
)

// Yarn says that a run plays a YARN cluster with its heartbeats and delays, and how long they are. A length of -1 is that
// of the clock.
type Yarn struct {
	Clock           string
	Site            string // a yarn-site.xml
	NodeHeartbeat   unit.Time
	MasterHeartbeat unit.Time
	MasterStart     unit.Time
	ContainerStart  unit.Time
	ContainerExit   unit.Time
	Commit          unit.Time
	Linger          unit.Time
}

func idealYarn() Yarn {
	return Yarn{
		Clock: Ideal, NodeHeartbeat: -1, MasterHeartbeat: -1, MasterStart: -1, ContainerStart: -1, ContainerExit: -1, Commit: -1, Linger: -1,
	}
}

// yarnSettings are the keys under "yarn:".
func yarnSettings() []Setting {
	override := func(name, help string, at func(*Yarn) *unit.Time) Setting {
		t := duration(name, "yarn", help, func(s *Scenario) *unit.Time { return at(&s.Yarn) })
		t.Get = func(s *Scenario) []string {
			if v := *at(&s.Yarn); v >= 0 {
				return []string{formatTime(v)}
			}
			return nil
		}
		return t
	}
	return []Setting{
		{
			Name: "clock", In: "yarn", Value: "CLOCK",
			Help: "ideal, or play a YARN cluster with its heartbeats and delays: sls (Hadoop's scheduler load simulator) or hadoop (real daemons)",
			Set: func(s *Scenario, v string) error {
				if v != Ideal && v != SLS && v != Hadoop {
					return fmt.Errorf("%q is no clock: want %s, %s or %s", v, Ideal, SLS, Hadoop)
				}
				s.Yarn.Clock = v
				return nil
			},
			Get: func(s *Scenario) []string { return []string{s.Yarn.Clock} },
		},
		{
			Name: "yarn-site", In: "yarn", Value: "FILE", Help: "the cluster's yarn-site.xml: sizes of containers, heartbeat, preemption, settings of the FairScheduler",
			Set: func(s *Scenario, v string) error { s.Yarn.Site = v; return nil },
			Get: func(s *Scenario) []string { return given(s.Yarn.Site) },
		},
		override("node-heartbeat", "interval of a node's reports", func(y *Yarn) *unit.Time { return &y.NodeHeartbeat }),
		override("master-heartbeat", "interval of a master's calls", func(y *Yarn) *unit.Time { return &y.MasterHeartbeat }),
		override("master-start", "from a master's container to its registration", func(y *Yarn) *unit.Time { return &y.MasterStart }),
		override("container-start", "from a master's hearing of a container to its task's first instant", func(y *Yarn) *unit.Time { return &y.ContainerStart }),
		override("container-exit", "from a task's last instant to the exit of its process", func(y *Yarn) *unit.Time { return &y.ContainerExit }),
		override("commit", "from the last task's end to the end of its job", func(y *Yarn) *unit.Time { return &y.Commit }),
		override("linger", "from the end of a job to the exit of its master", func(y *Yarn) *unit.Time { return &y.Linger }),
	}
}

// site reads the scenario's yarn-site.xml. SLS switches the preemption of the CapacityScheduler on, whatever the file says.
func (y *Yarn) site() (conf.Site, error) {
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
	s.Monitor = s.Monitor || y.Clock == SLS
	return s, nil
}

// timing is the clock with what a person has set.
func (y *Yarn) timing(site conf.Site) yarn.Timing {
	t := yarn.Hadoop()
	if y.Clock == SLS {
		t = yarn.SLS()
	} else if site.NodeHeartbeat > 0 {
		t.NodeHeartbeat = site.NodeHeartbeat
	}
	for _, o := range []struct {
		to   *unit.Time
		from unit.Time
	}{
		{&t.NodeHeartbeat, y.NodeHeartbeat}, {&t.MasterHeartbeat, y.MasterHeartbeat}, {&t.MasterStart, y.MasterStart},
		{&t.ContainerStart, y.ContainerStart}, {&t.ContainerExit, y.ContainerExit}, {&t.Commit, y.Commit}, {&t.Linger, y.Linger},
	} {
		if o.from >= 0 {
			*o.to = o.from
		}
	}
	return t
}

// idealOnly are the settings of the model that a YARN clock has no use for.
var idealOnly = []string{"heartbeat", "per-beat", "end-on-beat", "start-up", "replicas", "placement", "stragglers", "speculate", "fail-task", "attempts", "lose-node", "lookahead"}

// resolveYarn opens what a YARN clock needs; without one, it refuses what only such a clock has.
func (s *Scenario) resolveYarn(out *Setup) error {
	if s.Yarn.Clock == Ideal && slices.Contains(s.Given, "clock") { // a person has put a file's clock aside
		s.Yarn = idealYarn()
		out.Scenario.Yarn = s.Yarn
		return nil
	}
	if s.Yarn.Clock == Ideal {
		for i := range Settings {
			if set := &Settings[i]; set.In == "yarn" && set.Name != "clock" && slices.Contains(s.Given, set.Name) {
				return misuse("--%s belongs to a YARN clock: add --clock hadoop (or sls), or leave it out", set.Name)
			}
		}
		return nil
	}
	for _, name := range idealOnly {
		if set, _ := Find(name); set != nil && !slices.Equal(set.Get(s), set.Get(&defaults)) {
			return misuse("--%s acts in ideal time only: leave it out, or leave out --clock %s", name, s.Yarn.Clock)
		}
	}
	if out.Cluster.Slots {
		return misuse("--clock %s: a YARN cluster has no fixed slots; give nodes with memory and cores, as 600x6/30", s.Yarn.Clock)
	}
	site, err := s.Yarn.site()
	if err != nil {
		return err
	}
	timing := s.Yarn.timing(site)
	if s.Model.Application == am.MapsFirst {
		if s.Yarn.Clock == SLS {
			return misuse("--application %s: SLS has an application model of its own; leave it out, or leave out --clock %s", am.MapsFirst, SLS)
		}
		timing.Masters = yarn.PlainMasters
	}
	if err := timing.Validate(); err != nil {
		return &MisuseError{err}
	}
	out.Timing = &timing
	for _, name := range s.Schedulers {
		p, err := loadYarn(name, site)
		if err != nil {
			return err
		}
		out.Policies = append(out.Policies, p)
	}
	return nil
}

// loadYarn finds a scheduler for a YARN clock by what was typed. The file of a YARN scheduler means that scheduler itself; all else
// is the policy that it is in ideal time, presented to the ResourceManager.
func loadYarn(name string, site conf.Site) (NamedPolicy, error) {
	if all.IsFile(name) {
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			return NamedPolicy{}, fmt.Errorf("scheduler file %s does not exist%s", name, beside(name))
		} else if err != nil {
			return NamedPolicy{}, fmt.Errorf("scheduler: %w", err)
		}
		if conf.Detect(text) != conf.Capacity1File {
			fresh, err := exact(name, text, site)
			return NamedPolicy{Name: name, RM: fresh}, err
		}
	}
	p, err := loadPolicy(name)
	if err != nil {
		return p, err
	}
	p.RM = func() (rm.Scheduler, error) {
		made, err := p.New()
		if err != nil {
			return nil, err
		}
		if _, looks := made.Place.(policy.Networked); looks {
			return nil, fmt.Errorf("%s places tasks by the load of the network, which this clock does not play: use --clock ideal", name)
		}
		if _, takes := made.Order.(policy.Preemptor); takes {
			return nil, fmt.Errorf("%s takes containers from running jobs, which this clock does not play: use --clock ideal", name)
		}
		return adapt.New(made), nil
	}
	return p, nil
}

// exact makes YARN's own scheduler of a file.
func exact(name string, text []byte, site conf.Site) (fresh func() (rm.Scheduler, error), err error) {
	if conf.Detect(text) == conf.FairFile {
		c, err := conf.ReadFair(bytes.NewReader(text), name)
		if err != nil {
			return nil, err
		}
		fresh = func() (rm.Scheduler, error) { return fairrm.New(c, site) }
	} else {
		c, err := conf.ReadCapacity(bytes.NewReader(text), name)
		if err != nil {
			return nil, err
		}
		fresh = func() (rm.Scheduler, error) { return capacityrm.New(c, site) }
	}
	if _, err := fresh(); err != nil {
		return nil, fmt.Errorf("scheduler %s: %w", name, err)
	}
	return fresh, nil
}

// assumptions says, for a person, what is taken for granted about the delays of a YARN cluster.
func (y *Yarn) assumptions(t *yarn.Timing) []string {
	out := []string{
		fmt.Sprintf("cluster: nodes report every %v, each with its own phase; a container is given only then", t.NodeHeartbeat),
		fmt.Sprintf("cluster: masters call every %v; a job without a master's container and without reduces is unmanaged: it holds what it is given, and no process starts", t.MasterHeartbeat),
	}
	if y.Clock == SLS {
		return append(out, "cluster: masters and containers are those of Hadoop's scheduler load simulator: they start at once, an answer is acted on one call later, no reduce is asked for before the last map is counted")
	}
	return append(out, applications(t.Masters == yarn.PlainMasters),
		fmt.Sprintf("cluster: a master registers %v after its container is given and stays %v after its job's end", t.MasterStart, t.Linger),
		fmt.Sprintf("cluster: a task begins %v after its master hears of the container; its process exits %v after its end; a job commits in %v", t.ContainerStart, t.ContainerExit, t.Commit),
		"cluster: no task fails of itself, none is run twice to be faster, no job runs inside its master",
		"cluster: where a task's input lies, and the network, do not change how long it takes")
}
