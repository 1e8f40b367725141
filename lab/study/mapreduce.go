package study

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/yardmaster/yardmaster/lab/evidence"
	"github.com/yardmaster/yardmaster/lab/hadoop"
	"github.com/yardmaster/yardmaster/lab/host"
	"github.com/yardmaster/yardmaster/lab/steerer"
)

// MapReduce is a study of MapReduce jobs.
type MapReduce struct {
	Small  bool
	Dir    string // of the records and the report
	Work   string // of the daemons; "": temporary folders
	Binary string // the program; "": it is built
	Log    io.Writer
}

// Phase is one time that the jobs ran.
type Phase struct {
	Name   string // "a", "b", "again"
	At     time.Time
	Load   [2]float64
	Busy   float64           // share of all processors that was in use, by anybody
	Hadoop string            // version
	Names  map[string]string // of jobs, by MapReduce's own id
	Kinds  map[string]string // by name
}

// Names of the records: a folder for each time that the study ran, and its files.
const (
	mapreduceSeries = "run"
	measuredFile    = "measured.json.gz"
	queuesFile      = "queues-b.xml"
)

// Record runs the jobs three times: under one set of settings, under another and under the first again. Each time begins with
// new daemons and ends with an import.
func (m *MapReduce) Record(ctx context.Context) error {
	end, _ := host.First(-18) // where it is not allowed all run as others do
	defer end()
	bin, remove, err := host.Program(ctx, m.Binary)
	if err != nil {
		return err
	}
	defer remove()
	began := evidence.Begin(evidence.Program(m.Binary))
	list := []Phase{{Name: "a"}, {Name: "b"}, {Name: "again"}}
	if m.Small {
		list = list[:1]
	}
	dir, clean, err := host.Folder("", "mapreduce")
	if err != nil {
		return err
	}
	defer clean()
	for i := range list {
		if err := m.phase(ctx, bin, dir, &list[i]); err != nil {
			return fmt.Errorf("%s: %w", list[i].Name, err)
		}
	}
	measured, err := evidence.Packed(list)
	if err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, measuredFile), measured, 0o644),
		os.WriteFile(filepath.Join(dir, queuesFile), []byte(mapreduceQueues(true)), 0o644)); err != nil {
		return err
	}
	_, err = began.KeepTree(m.Dir, mapreduceSeries, dir)
	return err
}

// phase runs the jobs once and puts what was imported into a folder of dir.
func (m *MapReduce) phase(ctx context.Context, bin, dir string, p *Phase) error {
	work := m.Work
	if work != "" {
		work = filepath.Join(work, p.Name)
	}
	c, down, err := bring(ctx, work, hadoop.Options{
		SchedulerXML: mapreduceQueues(p.Name == "b"), Nodes: mapreduceNodes, NodeMB: mapreduceMB, NodeVcores: 16, HDFS: true, History: true,
		Site: map[string]string{"yarn.scheduler.minimum-allocation-mb": "256", "yarn.resourcemanager.rm.container-allocation.expiry-interval-ms": "600000"},
		Log:  m.Log,
	})
	if err != nil {
		return err
	}
	defer down()
	jobs := mapreduceJobs(m.Small)
	p.At, p.Hadoop, p.Names, p.Kinds = time.Now().UTC().Truncate(time.Second), c.Version, map[string]string{}, map[string]string{}
	p.Load[0] = host.LoadAverage(host.OneMinute)
	used := processors()
	res, err := c.Jobs(ctx, jobs, true)
	if err != nil {
		return err
	}
	p.Busy, p.Load[1] = used(), host.LoadAverage(host.OneMinute)
	for _, j := range res {
		if j.State != "SUCCEEDED" {
			return fmt.Errorf("job %s: %s %s", j.ID, j.State, j.Why)
		}
		p.Names[j.Job], p.Kinds[j.ID] = j.ID, j.Kind
	}
	if len(res) != len(jobs) {
		return fmt.Errorf("%d of %d jobs ended", len(res), len(jobs))
	}
	// Histories are moved to their place some seconds after the end, and the ResourceManager's sums are whole when the last
	// master's container is gone; an import takes them fifteen seconds after the end.
	settled := 18 * time.Second
	if m.Small {
		settled = 6 * time.Second
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(settled):
	}
	into, clean, err := host.Folder("", "import")
	if err != nil {
		return err
	}
	defer clean()
	out, err := steerer.Run(ctx, bin, "", "import", "yarn", "--rm", c.RM(), "--history", c.History(), "--webhdfs", c.NameNode(), "--user", "yardmaster", "--since", "1d", "-o", into)
	fmt.Fprintf(m.Log, "%s", out)
	if err != nil {
		return err
	}
	return keepImport(into, imported(dir, p.Name))
}

// imported is the folder of a run that holds what was imported after a phase.
func imported(run, phase string) string { return filepath.Join(run, "import-"+phase) }

// keepImport copies what a simulation needs.
func keepImport(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"jobs.parquet", "cluster.yaml", "yarn-site.xml", "capacity-scheduler.xml", "scenario.yaml"} {
		b, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return fmt.Errorf("the import has left out a file: %w", err)
		}
		if err := os.WriteFile(filepath.Join(to, name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// seeds of the simulations: phases of heartbeats are drawn anew with each, and means are reported.
const seeds = 5

// predicted simulates an import under its own settings, or under a scheduler file, and has the mean time of each job and the mean makespan.
func predicted(ctx context.Context, bin, run string, p *Phase, queues string) (*times, error) {
	dir, clean, err := host.Folder("", "simulate")
	if err != nil {
		return nil, err
	}
	defer clean()
	t := newTimes()
	for seed := 1; seed <= seeds; seed++ {
		args := []string{"simulate", imported(run, p.Name), "--seed", strconv.Itoa(seed), "--out", filepath.Join(dir, strconv.Itoa(seed))}
		if queues != "" {
			args = append(args, "--scheduler", queues)
		}
		if _, err := steerer.Run(ctx, bin, "", args...); err != nil {
			return nil, err
		}
		if err := t.addResult(filepath.Join(dir, strconv.Itoa(seed), "jobs.parquet"), p); err != nil {
			return nil, err
		}
	}
	return t, nil
}
