package history

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/yardmaster/yardmaster/internal/securefile"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// siteSettings are the prefixes of the names that mean something to the simulated schedulers: see conf.SiteOf.
var siteSettings = []string{
	"yarn.scheduler.minimum-allocation-", "yarn.scheduler.maximum-allocation-", "yarn.scheduler.increment-allocation-", "yarn.resource-types.",
	"yarn.cluster.max-application-priority", "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms", "yarn.resourcemanager.scheduler.class",
	"yarn.resourcemanager.scheduler.monitor.", "yarn.resourcemanager.monitor.capacity.", "yarn.scheduler.reservation-threshold.",
	"yarn.scheduler.fair.", "yarn.nodemanager.sleep-delay-before-sigkill.ms",
}

func siteProperties(p *conf.Properties) []conf.Property {
	var out []conf.Property
	for _, x := range p.List {
		if x.Name == fairFileSetting || strings.Contains(x.Value, "${") {
			continue
		}
		for _, prefix := range siteSettings {
			if strings.HasPrefix(x.Name, prefix) {
				out = append(out, *x)
				break
			}
		}
	}
	return out
}

// schedulerFile is the scheduler's own file: as in force, or reconstructed from what the ResourceManager shows.
func (im *importer) schedulerFile() (name string, text func(io.Writer) error, err error) {
	s := &im.site
	switch s.scheduler.Type {
	case "capacityScheduler":
		list := capacitySettings(s.queues)
		if list == nil {
			list = capacitySettings(s.conf)
		}
		if list == nil {
			list = capacityOf(s.scheduler.Root)
			im.tell("the CapacityScheduler's settings cannot be read%s: %s is put together from the queues that the ResourceManager shows; the resource calculator, "+
				"the locality delay and the containers a heartbeat are Hadoop's defaults: put your own capacity-scheduler.xml in its place", im.because(s.queuesWhy), CapacityFile)
		}
		if im.names.on() {
			var dropped []string
			list, dropped = im.names.capacity(list)
			im.note(len(dropped), "settings of the CapacityScheduler that name people, labels or rules are left out of the anonymised copy: %s", strings.Join(dropped, ", "))
		}
		return CapacityFile, func(w io.Writer) error { return conf.WriteProperties(w, list) }, nil
	case "fairScheduler":
		return im.fairFile()
	}
	im.tell("the scheduler is %q: its settings are not copied", s.scheduler.Type)
	return "", nil, nil
}

func capacitySettings(p *conf.Properties) []conf.Property {
	if p == nil || p.Get(conf.Prefix+"root.queues") == nil {
		return nil
	}
	var out []conf.Property
	for _, x := range p.List {
		if strings.HasPrefix(x.Name, conf.Prefix) {
			out = append(out, *x)
		}
	}
	return out
}

// percent removes the noise of the ResourceManager's float arithmetic: 30.000002 was written as 30.
func percent(v float64) float64 { return math.Round(v*1000) / 1000 }

// capacityOf reconstructs settings from queues.
func capacityOf(root *rest.Queue) []conf.Property {
	var out []conf.Property
	var down func(q *rest.Queue)
	down = func(q *rest.Queue) {
		set := func(given bool, key string, v any) {
			if given {
				out = append(out, conf.Property{Name: conf.Prefix + q.Path + "." + key, Value: fmt.Sprint(v)})
			}
		}
		var names []string
		for _, c := range q.Children {
			names = append(names, c.Path[strings.LastIndexByte(c.Path, '.')+1:])
		}
		capacity := fmt.Sprint(percent(q.Capacity))
		switch {
		case q.Mode == "weight" || q.Mode == "" && q.Weight > 0:
			capacity = fmt.Sprintf("%vw", q.Weight)
		case q.Mode == "absolute":
			capacity = fmt.Sprintf("[memory=%d,vcores=%d]", q.MinEffective.Memory, q.MinEffective.VCores)
		}
		below := q.Path != "root"
		leaf := below && len(names) == 0
		set(len(names) > 0, "queues", strings.Join(names, ","))
		set(below, "capacity", capacity)
		set(below && q.MaxCapacity > 0 && q.MaxCapacity < 100, "maximum-capacity", percent(q.MaxCapacity))
		set(below && q.State != "", "state", q.State)
		set(leaf && q.UserLimit > 0, "minimum-user-limit-percent", percent(q.UserLimit))
		set(leaf && q.UserLimitFactor != 0, "user-limit-factor", percent(q.UserLimitFactor))
		set(leaf && q.MaxAMPercent > 0, "maximum-am-resource-percent", percent(q.MaxAMPercent))
		set(leaf && (q.OrderingPolicy == "fifo" || q.OrderingPolicy == "fair"), "ordering-policy", q.OrderingPolicy)
		set(leaf && q.MaxApplications > 0, "maximum-applications", q.MaxApplications)
		set(leaf && q.DefaultPriority > 0, "default-application-priority", q.DefaultPriority)
		set(q.Priority > 0, "priority", q.Priority)
		set(q.PreemptionDisabled, "disable_preemption", true)
		for _, c := range q.Children {
			down(c)
		}
	}
	if root != nil {
		down(root)
	}
	return out
}

const fairFileSetting = "yarn.scheduler.fair.allocation.file"

// fairFile copies the FairScheduler's allocation file if it is readable on this machine. The ResourceManager
// names it but does not serve it.
func (im *importer) fairFile() (string, func(io.Writer) error, error) {
	s := &im.site
	path := ""
	if s.conf != nil {
		if p := s.conf.Get(fairFileSetting); p != nil {
			path = strings.TrimPrefix(p.Value, "file://")
		}
	}
	var root *conf.Element
	var why error
	if path != "" {
		root, why = readNamed(path)
	}
	if root == nil {
		im.tell("the FairScheduler's allocation file cannot be read here%s: %s is put together from the queues that the ResourceManager shows, with weights "+
			"taken from their steady fair shares: put your own file in its place", im.because(why), FairFile)
		root = fairOf(s.scheduler.Root)
	}
	if root == nil {
		return "", nil, nil
	}
	if im.names.on() {
		if n := im.names.fair(root); n > 0 {
			im.note(n, "access lists are left out of the anonymised copy of the allocation file")
		}
	}
	return FairFile, func(w io.Writer) error { return root.Write(w) }, nil
}

// readNamed reads an XML file that a server has named: that may be a device or a pipe, which never ends.
func readNamed(path string) (*conf.Element, error) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	f, err := securefile.OpenRegular(target, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return conf.ReadXML(f, path)
}

// fairOf reconstructs an allocation file from queues.
func fairOf(root *rest.Queue) *conf.Element {
	if root == nil {
		return nil
	}
	amount := func(r rest.Resource) string { return fmt.Sprintf("%d mb, %d vcores", r.Memory, r.VCores) }
	var element func(q *rest.Queue, smallest int64) *conf.Element
	element = func(q *rest.Queue, smallest int64) *conf.Element {
		name := q.Path[strings.LastIndexByte(q.Path, '.')+1:]
		e := &conf.Element{Name: "queue", Attrs: []xml.Attr{{Name: xml.Name{Local: "name"}, Value: name}}}
		set := func(given bool, name, text string) {
			if given {
				e.Children = append(e.Children, &conf.Element{Name: name, Text: text})
			}
		}
		policy := strings.ToLower(q.Policy)
		set(q.MinResources.Memory > 0 || q.MinResources.VCores > 0, "minResources", amount(q.MinResources))
		set(q.MaxResources.Memory > 0 && q.Path != "root", "maxResources", amount(q.MaxResources))
		set(q.MaxApps > 0 && q.MaxApps < conf.Unlimited, "maxRunningApps", fmt.Sprint(q.MaxApps))
		set(smallest > 0 && q.SteadyFair.Memory > 0, "weight", fmt.Sprintf("%.3g", float64(q.SteadyFair.Memory)/float64(smallest)))
		set(policy == "fair" || policy == "drf" || policy == "fifo", "schedulingPolicy", policy)
		var below int64
		for _, c := range q.Children {
			if m := c.SteadyFair.Memory; m > 0 && (below == 0 || m < below) {
				below = m
			}
		}
		for _, c := range q.Children {
			e.Children = append(e.Children, element(c, below))
		}
		return e
	}
	return &conf.Element{Name: "allocations", Children: []*conf.Element{element(root, 0)}}
}
