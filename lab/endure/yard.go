package endure

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/yardmaster/yardmaster/lab/hadoop"
	"github.com/yardmaster/yardmaster/lab/proc"
	"github.com/yardmaster/yardmaster/lab/steerer"
	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// yard is a small real cluster with one queue to steer.
type yard struct {
	*hadoop.Cluster
	queue   string   // full path, or several with commas between
	address string   // of the ResourceManager, or of both, as the command takes it
	login   []string // and who asks
	set     *setting
	rm      *rest.Client
	journal string
}

// look reads the setting as it is found, past everything; file is the FairScheduler's, if it is in one. A yard that does not answer is taken down.
func (y *yard) look(ctx context.Context, auth rest.Auth, file string) (*yard, error) {
	var err error
	if y.rm, err = dial(auth, strings.Split(y.address, ",")...); err == nil {
		first, _, _ := strings.Cut(y.queue, ",")
		y.set, err = newSetting(ctx, y.rm, first, file)
	}
	if err != nil {
		return nil, errors.Join(err, y.Down())
	}
	return y, nil
}

// queue is the one that is steered in it; who is its administrator.
const (
	queue = "root.default"
	who   = "yardmaster"
)

// shares are the originals that are tried: the queue names its share, in a text that no program would write, or leaves it to the default.
const (
	named   = "0.10"
	unnamed = "unset"
)

//go:embed capacity-scheduler.xml
var capacityQueues string

//go:embed fair-scheduler.xml
var fairText string

// fairQueues is written by a person: comments, spaces and a number with a zero too many must all be there in the end.
func fairQueues(original string) string {
	share := ""
	if original != unnamed {
		share = "\n\t\t<maxAMShare>" + original + "</maxAMShare> <!-- asked for by the night shift -->"
	}
	return fmt.Sprintf(fairText, share)
}

// open brings a small cluster up. AMs count 512 MB each, 3 of them fit into the found share.
func (s *Study) open(ctx context.Context, name, queues string, o hadoop.Options) (*yard, error) {
	dir, err := s.folder(name)
	if err != nil {
		return nil, err
	}
	o.Dir, o.Log = filepath.Join(dir, "run"), io.Discard
	o.Nodes, o.NodeMB, o.NodeVcores = 2, 8192, 64
	site := map[string]string{"yarn.scheduler.minimum-allocation-mb": "512", "yarn.resourcemanager.max-completed-applications": "100000"}
	maps.Copy(site, o.Site)
	o.Site = site
	o.SchedulerXML = cmp.Or(o.SchedulerXML, capacityQueues)
	c, err := hadoop.Up(ctx, o)
	if err != nil {
		return nil, err
	}
	file := ""
	if c.Scheduler == "fair" {
		file = filepath.Join(c.Conf(), "fair-scheduler.xml")
	}
	y := &yard{Cluster: c, queue: queues, address: c.RM(), login: []string{"--user", who}, journal: filepath.Join(dir, "journal")}
	return y.look(ctx, rest.User(who), file)
}

// steer runs the command on the yard's queue as an account, seen through some address or else the yard's own. Without a journal it only observes.
func (y *yard) steer(bin, address string, as *syscall.Credential, more ...string) (*steerer.Process, error) {
	args, mode := []string{"yarn", "steer", "--rm", cmp.Or(address, y.address), "--queue", y.queue, "--log-format", "json", "--listen", "off", "--per-hour", "100000"}, []string{"--observe"}
	if y.journal != "" {
		mode = []string{"--act", "--journal", y.journal}
	}
	return steerer.Start(bin, y.Dir, as, slices.Concat(args, mode, y.login, more, y.actuator())...)
}

// lively makes a controller that writes as often as it may: it looks all the time and lets a job in at each look.
func lively(look string) []string {
	return []string{"--policy", "cbt", "--cpu", "allocation", "--set", "interval=" + look, "--set", "after-increase=0s", "--set", "settle=0s", "--set", "warm=0s",
		"--set", "idle-above=1", "--min", "0.05", "--max", "0.9"}
}

// still makes one that writes once.
func still(value float64) []string {
	return []string{"--policy", "static", "--set", fmt.Sprintf("value=%.2f", value), "--min", "0.05", "--max", "0.9"}
}

// actuator says how the yard's setting is changed.
func (y *yard) actuator() []string {
	if y.set.file == "" {
		return []string{"--actuator", "rest"}
	}
	return []string{"--actuator", "fair-file", "--file", y.set.file}
}

// restore puts back as an operator does.
func (y *yard) restore(ctx context.Context, bin string) error {
	_, err := steerer.Run(ctx, bin, y.Dir, slices.Concat([]string{"yarn", "restore", "--rm", y.address, "--journal", y.journal}, y.login, y.actuator())...)
	return err
}

// openJournal says that a journal is open, or cannot be read; empty if it is neither.
func openJournal(dir string) string {
	if _, open, err := live.ReadJournal(dir); err != nil || len(open) > 0 {
		return fmt.Sprintf("the journal is still open (%v)", err)
	}
	return ""
}

// ended waits until the ResourceManager says that all applications have ended, and tells those that have not, or not well.
func ended(ctx context.Context, rm *rest.Client) (n int, other []string, err error) {
	proc.Await(ctx, 30*time.Second, 200*time.Millisecond, func() bool {
		n, other, err = 0, nil, nil
		for a, e := range rm.Apps(ctx, rest.AppFilter{}) {
			if err = e; e != nil {
				return false
			}
			if a.Type == crowdType {
				continue
			}
			n++
			if a.State != "FINISHED" || a.FinalStatus != "SUCCEEDED" {
				other = append(other, a.ID+" "+a.State+"/"+a.FinalStatus+" "+a.Diagnostics)
			}
		}
		return len(other) == 0
	})
	return n, other, err
}

// leave lets the applications end, with room for all their AMs, and tells what became of them.
func (y *yard) leave(ctx context.Context, l *load, sum *Sum, name string) (Fate, error) {
	if err := y.set.set(ctx, y.set.wide()); err != nil {
		return Fate{}, err
	}
	f, err := l.end(ctx)
	if err != nil {
		return f, err
	}
	all, other, err := ended(ctx, y.rm)
	if all != f.Submitted || len(other) > 0 {
		f.Other = append(append(f.Other, fmt.Sprintf("the ResourceManager lists %d", all)), other...)
	}
	if f.lost() {
		sum.miss("%s: %d of %d applications have not ended well: %v", name, f.Submitted-f.Succeeded, f.Submitted, f.Other)
	}
	return f, err
}

// setting is what the daemons are configured with: above all the share for AMs of one queue, but every property of every queue must be as it was found,
// and so must the queue and priority of every application. It is read past the proxy and past the steerer.
type setting struct {
	rm    *rest.Client
	queue string          // full path
	file  string          // of the FairScheduler, in which it is configured; empty: in the ResourceManager, over REST
	homes map[string]home // of the applications that stay; nil: they are not looked at. Others belong to queue, without a priority

	configured string // the share as found: text, or "unset"; of a file all its bytes
	found      string // all of the configuration
	inForce    string
}

// home is where an application belongs.
type home struct {
	queue    string
	priority int64
}

const amPercent = "maximum-am-resource-percent"

func newSetting(ctx context.Context, rm *rest.Client, queue, file string) (*setting, error) {
	s := &setting{rm: rm, queue: queue, file: file}
	var err error
	if s.configured, s.found, err = s.all(ctx); err != nil {
		return nil, err
	}
	s.inForce, err = s.tree(ctx)
	return s, err
}

// dial makes a client that does not wait and does not try again.
func dial(auth rest.Auth, urls ...string) (*rest.Client, error) {
	return rest.New(rest.Options{RM: urls, Auth: auth, RMRate: -1, Retries: -1, Timeout: 10 * time.Second})
}

// all is the share and the whole configuration.
func (s *setting) all(ctx context.Context) (share, all string, err error) {
	if s.file != "" {
		b, err := os.ReadFile(s.file)
		return string(b), string(b), err
	}
	p, err := s.rm.SchedulerConf(ctx)
	if err != nil {
		return "", "", err
	}
	var lines []string
	for _, x := range p.List {
		lines = append(lines, x.Name+"="+x.Value)
	}
	slices.Sort(lines)
	share = "unset"
	if v := p.Get("yarn.scheduler.capacity." + s.queue + "." + amPercent); v != nil {
		share = v.Value
	}
	return share, strings.Join(lines, "\n"), nil
}

// read is how the share is configured.
func (s *setting) read(ctx context.Context) (string, error) {
	share, _, err := s.all(ctx)
	return share, err
}

// tree is what the scheduler goes by.
func (s *setting) tree(ctx context.Context) (string, error) {
	t, err := s.rm.Scheduler(ctx)
	if err != nil {
		return "", err
	}
	q := t.Root.Find(s.queue)
	switch {
	case q == nil:
		return "", fmt.Errorf("there is no queue %s", s.queue)
	case s.homes != nil:
		var b strings.Builder
		for _, q := range t.Root.Children {
			fmt.Fprintln(&b, q.Path, q.Capacity, q.MaxCapacity, q.Weight, q.UserLimitFactor, q.MaxAMPercent, q.SteadyFair.Memory, q.MaxApps)
		}
		return b.String(), nil
	case s.file != "":
		return strconv.FormatInt(q.AMMax.Memory, 10) + " MB", nil
	}
	return strconv.FormatFloat(q.MaxAMPercent, 'g', -1, 32), nil
}

// differs tells what is not configured as it was found; empty: nothing.
func (s *setting) differs(ctx context.Context) string {
	_, now, err := s.all(ctx)
	if err != nil {
		return err.Error()
	}
	var away []string
	if now != s.found {
		was := strings.Split(s.found, "\n")
		away = slices.DeleteFunc(strings.Split(now, "\n"), func(line string) bool { return slices.Contains(was, line) })
		return "the configuration differs: " + strings.Join(away, " ")
	}
	if s.homes == nil {
		return ""
	}
	for a, err := range s.rm.Apps(ctx, rest.AppFilter{}) {
		if err != nil {
			return err.Error()
		}
		h, stays := s.homes[a.ID]
		if !stays {
			h.queue = s.queue
		}
		if now := (home{a.Queue, a.Priority}); !a.Ended() && now != h || a.Ended() && stays {
			away = append(away, fmt.Sprintf("%s (%s) is %v, was %v", a.ID, a.State, now, h))
		}
	}
	return strings.Join(away, "; ")
}

// original says whether all is configured as it was found.
func (s *setting) original(ctx context.Context) bool { return s.differs(ctx) == "" }

// obeyed says whether the scheduler goes by what was found.
func (s *setting) obeyed(ctx context.Context) bool {
	now, err := s.tree(ctx)
	return err == nil && now == s.inForce
}

// set changes it past everything, over REST with "" to unset: to try another original, or to let the rest of the applications end.
func (s *setting) set(ctx context.Context, value string) error {
	if s.file != "" {
		return os.WriteFile(s.file, []byte(value), 0o644)
	}
	_, err := s.rm.ChangeScheduler(ctx, rest.SchedulerChange{Update: []rest.QueueChange{{Queue: s.queue, Settings: []rest.Setting{{Name: amPercent, Value: value}}}}})
	return err
}

// wide is the found file with room for every AM.
func (s *setting) wide() string {
	if s.file == "" {
		return "1"
	}
	text := []byte(s.configured)
	for _, share := range []string{"0.10", "0.1"} {
		text = bytes.ReplaceAll(text, []byte(">"+share+"<"), []byte(">1.0<"))
	}
	return string(text)
}

// load keeps applications coming into a queue while the steerer has its troubles, one wave of unmanaged AMs after another.
type load struct {
	c     *hadoop.Cluster
	queue string
	apps  int  // of a wave
	hold  int  // milliseconds that a container is held, at most twice that
	mb    int  // of each container; 512
	runs  bool // a process runs in each container, which then outlives its ResourceManager

	cancel     context.CancelFunc
	stop, done chan struct{}

	// Once it is done.
	all  []hadoop.AppResult
	err  error
	wave int
}

// begin starts the waves and waits until applications run and others wait.
func (l *load) begin(outer context.Context, rm *rest.Client) error {
	ctx, cancel := context.WithCancel(outer)
	l.cancel, l.stop, l.done = cancel, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(l.done)
		for l.err == nil {
			select {
			case <-l.stop:
				return
			default:
			}
			l.wave++
			res, err := l.c.AMs(ctx, l.workload(), hadoop.AMsOptions{Start: l.runs, Threads: 16, HeapMB: 256})
			l.all = append(l.all, res.Apps...)
			if l.err = err; err == nil && len(res.Apps) != l.apps {
				l.err = fmt.Errorf("of %d applications %d have come back", l.apps, len(res.Apps))
			}
		}
	}()
	if !proc.Await(ctx, 2*time.Minute, 100*time.Millisecond, func() bool { m, err := rm.Metrics(ctx); return err == nil && m.AppsRunning > 0 && m.AppsPending > 0 }) {
		cancel()
		return errors.New("the applications do not come")
	}
	return nil
}

// workload is one wave: all are there at once, so that some always wait for room among the AMs.
func (l *load) workload() []hadoop.Application {
	list := make([]hadoop.Application, l.apps)
	for i := range list {
		hold := hadoop.Millis(l.hold + (i*7919+l.wave*104729)%l.hold)
		list[i] = hadoop.Application{ID: fmt.Sprintf("wave-%d-%03d", l.wave, i), User: "alice", Queue: l.queue, Submit: hadoop.Millis(50 * i),
			Containers: []hadoop.Group{{Count: 1, MB: cmp.Or(l.mb, 512), Hold: hadoop.Holds{hold}}}}
	}
	return list
}

// Fate is what became of the applications.
type Fate struct {
	Submitted int      `json:"submitted"`
	Succeeded int      `json:"succeeded"`
	Other     []string `json:"other,omitempty"` // those that did not, and why
}

// lost says whether an application did not end well, or none was there.
func (f *Fate) lost() bool { return f.Submitted == 0 || f.Succeeded != f.Submitted }

// end lets the wave that runs come to its end and tells what became of all.
func (l *load) end(ctx context.Context) (Fate, error) {
	close(l.stop)
	select {
	case <-l.done:
	case <-ctx.Done():
	}
	l.cancel()
	<-l.done
	f := Fate{Submitted: len(l.all)}
	for _, a := range l.all {
		if a.State == "SUCCEEDED" {
			f.Succeeded++
		} else {
			f.Other = append(f.Other, a.App+" "+a.State+": "+a.Why)
		}
	}
	return f, l.err
}
