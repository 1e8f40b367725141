package history

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/cluster/clusterfile"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/jobfile"
	"github.com/yardmaster/yardmaster/workload/spark"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// Names of what is written beside the workload.
const (
	ClusterFile  = "cluster.yaml"
	CapacityFile = "capacity-scheduler.xml"
	FairFile     = "fair-scheduler.xml"
	SiteFile     = "yarn-site.xml"
)

// finish merges the parts and writes what was learned of the cluster. The covered period is recorded last.
func (im *importer) finish() (*Summary, error) {
	s := im.store
	if s.count() == 0 && len(im.unfinished) == 0 {
		return nil, fmt.Errorf("no application that has ended was found%s: nothing was written%s", im.findings(), im.searched())
	}
	im.progress(-1, "putting the jobs in order")
	out := &Summary{New: im.new, Tasks: s.tasks}
	if im.RM {
		if err := im.writeSite(out); err != nil {
			return nil, err
		}
	}
	if err := s.compact(); err != nil {
		return nil, err
	}
	m, err := s.merge(s.parts)
	if err != nil {
		return nil, err
	}
	defer m.close()
	if err := m.read(im.unfinished.Source()); err != nil {
		return nil, err
	}
	for _, j := range im.unfinished {
		out.Tasks += j.Tasks()
	}
	out.Calibration = calibrate(&m.tally.Samples)
	out.Notes = append(m.tally.notes(), im.said...)
	out.Assumptions = assumptions(&out.Calibration)
	if m.tally.FromRM > 0 || len(im.unfinished) > 0 {
		out.Assumptions = append(out.Assumptions, "YARN: an application without history is containers of at most two sizes, all asked for at once, that hold its memory-seconds and vcore-seconds: "+
			"how many it really had, of which sizes and when, is not known")
	}
	if m.tally.FromLogs > 0 {
		alone := func(text string) bool { // of logs without a ResourceManager
			return strings.HasPrefix(text, "spark: submitted when") || strings.HasPrefix(text, "spark: an executor starts")
		}
		out.Assumptions = append(append(out.Assumptions, slices.DeleteFunc(spark.Assumptions(), alone)...),
			"YARN: of a Spark application with a log, the ResourceManager says who submitted it, where and when, and how much it held: what its executors held beyond their registration is how long they take to start")
	}
	if n := len(im.unfinished); n > 0 {
		out.Assumptions = append(out.Assumptions, fmt.Sprintf("YARN: %d applications were running at %s: they are in the workload with what they had held until then, as if they had ended then; "+
			"when they really end is not known, and nothing is compared with it", n, im.Now.UTC().Format("2006-01-02 15:04 MST")))
	}
	path := filepath.Join(im.Dir, im.Jobs)
	base := m.first()
	err = replace(path, 0o644, func(f io.Writer) error {
		source := "yarn: " + im.Source
		if im.names.on() {
			source = "yarn, anonymised"
		}
		meta := jobfile.NewMeta(im.Tool, source, out.Assumptions)
		if im.RM {
			meta[jobfile.MetaSettings] = im.settings().Meta()
		}
		w := jobfile.NewWriter(f, meta)
		err := m.each(func(j *workload.Job) error {
			j.Submit -= base
			if j.Observed != nil {
				j.Observed.Launch = max(j.Observed.Launch-base, 0)
				j.Observed.Finish = max(j.Observed.Finish-base, 0)
			}
			out.Jobs++
			out.Span = max(out.Span, j.Submit)
			return w.Write(j)
		})
		if err != nil {
			return err
		}
		w.SetNotes(out.Notes)
		return w.Close()
	})
	if err != nil {
		return nil, err
	}
	out.Files = append([]string{path}, out.Files...)
	return out, s.writeState()
}

// settings identifies the files that were made from the ResourceManager's data. One that a person has changed since does not count.
func (im *importer) settings() jobfile.Settings {
	sums := im.store.state.Files
	return jobfile.Settings{Scheduler: cmp.Or(sums[CapacityFile], sums[FairFile]), Cluster: sums[ClusterFile], Site: sums[SiteFile]}
}

// searched says which period was searched, and how to search more, if nothing was found.
func (im *importer) searched() string {
	if im.Since.IsZero() && im.Until.IsZero() {
		return ""
	}
	const minute = "2006-01-02 15:04"
	if !im.Until.IsZero() {
		return fmt.Sprintf("; only what finished from %s to %s was looked for: see --since and --until", im.Since.Format(minute), im.Until.Format(minute))
	}
	return fmt.Sprintf("; only what finished from %s on was looked for: --since all takes everything", im.Since.Format(minute))
}

// findings lists this call's notes for an import without jobs.
func (im *importer) findings() string {
	var parts []string
	for _, n := range im.said {
		text := strings.TrimPrefix(n.Text, "YARN: ")
		if n.Count > 0 {
			text = fmt.Sprintf("%d %s", n.Count, text)
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}

// assumptions are those of every YARN import.
func assumptions(c *Calibration) []string {
	list := []string{
		"YARN: a task's length is that of its successful attempt, from the launch of its container to its end: the start of its process is in it",
		"YARN: a reduce's length is what it did after its job's last map had ended, at least what it did after its shuffle; time it waited for maps is not in it",
		"YARN: a reduce that was started early had copied part of its input by then; started later it would take as much longer, which is not in its length",
		"YARN: a task takes as long wherever it runs; what an application asked for is what its counters or its configuration say",
	}
	if c.AMSamples > 0 {
		list = append(list, fmt.Sprintf("YARN: an AM is ready after %v (%s; %d jobs)", c.AMStart, c.AMFrom, c.AMSamples))
	}
	if c.ExitSamples > 0 {
		return append(list, fmt.Sprintf("YARN: containers are held beyond their tasks, by the memory-seconds of %d jobs; half of that beyond an AM's mean time of hearing, %v, is taken to "+
			"lie before the task and half after its end: Hadoop's history does not hold when containers were allocated", c.ExitSamples, c.ContainerExit))
	}
	return append(list, fmt.Sprintf("YARN: an AM's call to start a container takes %v: Hadoop's history does not hold when containers were allocated", c.ContainerStart))
}

// writeSite writes the nodes and the scheduler's settings.
func (im *importer) writeSite(out *Summary) error {
	s := &im.site
	write := func(name string, text func(io.Writer) error) error {
		path := filepath.Join(im.Dir, name)
		sum, err := sumOf(path)
		switch {
		case err != nil:
			return err
		case sum != "" && sum != im.store.state.Files[name]: // edited by a person
			im.tell("%s was changed since it was imported, and is kept as it is: remove it to have it written anew", name)
			out.Kept = append(out.Kept, path)
			return nil
		}
		hash := sha256.New()
		if err := replace(path, 0o644, func(w io.Writer) error { return text(io.MultiWriter(w, hash)) }); err != nil {
			return err
		}
		if im.store.state.Files == nil {
			im.store.state.Files = map[string]string{}
		}
		im.store.state.Files[name] = hex.EncodeToString(hash.Sum(nil))
		out.Files = append(out.Files, path)
		return im.store.writeState()
	}
	if len(s.nodes) == 0 {
		im.tell("the ResourceManager shows no nodes: %s is not written", ClusterFile)
	} else if err := write(ClusterFile, im.writeCluster); err != nil {
		return err
	}
	im.note(s.away, "nodes are lost or taken out: they are not in %s", ClusterFile)
	if s.conf != nil {
		if err := write(SiteFile, func(w io.Writer) error { return conf.WriteProperties(w, siteProperties(s.conf)) }); err != nil {
			return err
		}
	}
	name, text, err := im.schedulerFile()
	if err != nil {
		return err
	}
	if name != "" {
		if err := write(name, text); err != nil {
			return err
		}
	}
	out.Scenario = len(s.nodes) > 0 && name != ""
	return nil
}

// sumOf is the SHA-256 of a file; "" if there is none.
func sumOf(path string) (string, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), err
}

// writeCluster writes the nodes.
func (im *importer) writeCluster(w io.Writer) error {
	c, racks := &cluster.Cluster{}, cluster.RackIndex{}
	seen := map[string]int{}
	for i := range im.site.nodes {
		seen[im.site.nodes[i].HostName]++
	}
	for i := range im.site.nodes {
		n := &im.site.nodes[i]
		t := n.Total()
		if t.Memory <= 0 && t.VCores <= 0 {
			continue
		}
		rack := racks.Of(c, rackName(im.names.rack(n.Rack)))
		c.Nodes = append(c.Nodes, cluster.Node{Name: im.nodeName(n, seen), Rack: rack, Room: unit.Resources{Mem: t.Memory, Cores: t.VCores}})
	}
	return clusterfile.Write(w, "The nodes that the ResourceManager showed, by rack and size. Memory in MiB.", c)
}

// nodeName is a node's host, as the histories name it; with the port if a host has several NodeManagers.
func (im *importer) nodeName(n *rest.Node, seen map[string]int) string {
	name := im.names.host(n.HostName)
	if seen[n.HostName] > 1 {
		if _, port, ok := strings.Cut(n.ID, ":"); ok {
			name += ":" + port
		}
	}
	return name
}

func rackName(path string) string {
	if path = strings.TrimPrefix(path, "/"); path == "" {
		return "default-rack"
	}
	return path
}
