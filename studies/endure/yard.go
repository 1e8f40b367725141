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

	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
	"github.com/yardmaster/yardmaster/studies/lab/steerer"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// yard is a small real cluster with one queue to steer.
type yard struct {
	*hadoop.Cluster
	queue   string   // full path, or several separated by commas
	address string   // of the ResourceManager, or of both, in the command's syntax
	login   []string // flags for authentication
	listen  string   // address of the status page; "": none
	set     *setting
	rm      *rest.Client
	journal string
}

// readOriginal reads the original setting directly; file is the FairScheduler's, if it is in one. A yard that does not answer is taken down.
func (y *yard) readOriginal(ctx context.Context, auth rest.Auth, file string) (*yard, error) {
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

// queue is the steered queue; who is its administrator.
const (
	queue = "root.default"
	who   = "yardmaster"
)

// shares are the originals to test: the queue sets its share, in a text that no program would write, or leaves it to the default.
const (
	named   = "0.10"
	unnamed = "unset"
)

//go:embed capacity-scheduler.xml
var capacityQueues string

//go:embed fair-scheduler.xml
var fairText string

// fairQueues is handwritten: comments, spaces and a number with a redundant zero must all survive.
func fairQueues(original string) string {
	share := ""
	if original != unnamed {
		share = "\n\t\t<maxAMShare>" + original + "</maxAMShare> <!-- asked for by the night shift -->"
	}
	return fmt.Sprintf(fairText, share)
}

// open brings a small cluster up. Each AM counts 512 MB; 3 of them fit into the original share.
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
	return y.readOriginal(ctx, rest.User(who), file)
}

// steer runs the command on the yard's queue as an account, through the given address or else the yard's own. Without a journal it only observes.
func (y *yard) steer(bin, address string, as *syscall.Credential, more ...string) (*steerer.Process, error) {
	args, mode := []string{"yarn", "steer", "--rm", cmp.Or(address, y.address), "--queue", y.queue, "--log-format", "json", "--listen", cmp.Or(y.listen, "off"), "--per-hour", "100000"}, []string{"--observe"}
	if y.journal != "" {
		mode = []string{"--act", "--journal", y.journal}
	}
	return steerer.Start(bin, y.Dir, as, slices.Concat(args, mode, y.login, more, y.actuator())...)
}

// lively makes a controller that writes as often as it may: it samples continuously and admits a job at each sample.
func lively(sample string) []string {
	return []string{"--policy", "cbt", "--cpu", "allocation", "--set", "interval=" + sample, "--set", "after-increase=0s", "--set", "settle=0s", "--set", "warm=0s",
		"--set", "idle-above=1", "--min", "0.05", "--max", "0.9"}
}

// still makes a controller that writes once.
func still(value float64) []string {
	return []string{"--policy", "static", "--set", fmt.Sprintf("value=%.2f", value), "--min", "0.05", "--max", "0.9"}
}

// actuator are the flags that select the actuator of the yard's setting.
func (y *yard) actuator() []string {
	if y.set.file == "" {
		return []string{"--actuator", "rest"}
	}
	return []string{"--actuator", "fair-file", "--file", y.set.file}
}

// restore restores as an operator does.
func (y *yard) restore(ctx context.Context, bin string) error {
	_, err := steerer.Run(ctx, bin, y.Dir, slices.Concat([]string{"yarn", "restore", "--rm", y.address, "--journal", y.journal}, y.login, y.actuator())...)
	return err
}

// openJournal reports a journal that is open or unreadable; "" if neither.
func openJournal(dir string) string {
	if _, open, err := live.ReadJournal(dir); err != nil || len(open) > 0 {
		return fmt.Sprintf("the journal is still open (%v)", err)
	}
	return ""
}

// ended waits until the ResourceManager reports all applications as ended, and returns those that have not ended or not succeeded.
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

// leave lets the applications end, with room for all their AMs, and returns their outcome.
func (y *yard) leave(ctx context.Context, l *load, sum *Sum, name string) (AppCounts, error) {
	if err := y.set.set(ctx, y.set.wide()); err != nil {
		return AppCounts{}, err
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

// setting is the daemons' configuration: above all the AM share of one queue, but every property of every queue must be restored,
// and so must the queue and priority of every application. It is read directly, past the proxy and the steerer.
type setting struct {
	rm    *rest.Client
	queue string          // full path
	file  string          // the FairScheduler's file; empty: configured over REST
	homes map[string]home // of the resident applications; nil: not checked. Others belong to queue, without a priority

	configured string // the original share: text, or "unset"; of a file all its bytes
	found      string // the original configuration
	inForce    string
}

// home is an application's queue and priority.
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

// dial makes a client without waits and retries.
func dial(auth rest.Auth, urls ...string) (*rest.Client, error) {
	return rest.New(rest.Options{RM: urls, Auth: auth, RMRate: -1, Retries: -1, Timeout: 10 * time.Second})
}

// all is the share and the whole configuration.
func (s *setting) all(ctx context.Context) (share, all string, err error) {
	if s.file != "" {
		b, err := os.ReadFile(s.file)
		return string(b), string(b), err
	}
	if all, err = Settings(ctx, s.rm); err != nil {
		return "", "", err
	}
	share = "unset"
	if _, after, set := strings.Cut("\n"+all, "\nyarn.scheduler.capacity."+s.queue+"."+amPercent+"="); set {
		share, _, _ = strings.Cut(after, "\n")
	}
	return share, all, nil
}

// Settings is the CapacityScheduler's whole configuration: a line for each property, sorted.
func Settings(ctx context.Context, rm *rest.Client) (string, error) {
	p, err := rm.SchedulerConf(ctx)
	if err != nil {
		return "", err
	}
	var lines []string
	for _, x := range p.List {
		lines = append(lines, x.Name+"="+x.Value)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n"), nil
}

// read is the configured share.
func (s *setting) read(ctx context.Context) (string, error) {
	share, _, err := s.all(ctx)
	return share, err
}

// tree is the setting that the scheduler uses.
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

// differs describes what differs from the original configuration; "": nothing.
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

// original reports whether the configuration is the original one.
func (s *setting) original(ctx context.Context) bool { return s.differs(ctx) == "" }

// obeyed reports whether the scheduler uses the original setting.
func (s *setting) obeyed(ctx context.Context) bool {
	now, err := s.tree(ctx)
	return err == nil && now == s.inForce
}

// set changes it directly, over REST with "" to unset: to test another original, or to let the remaining applications end.
func (s *setting) set(ctx context.Context, value string) error {
	if s.file != "" {
		return os.WriteFile(s.file, []byte(value), 0o644)
	}
	_, err := s.rm.ChangeScheduler(ctx, rest.SchedulerChange{Update: []rest.QueueChange{{Queue: s.queue, Settings: []rest.Setting{{Name: amPercent, Value: value}}}}})
	return err
}

// wide is the original file with room for every AM.
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

// load keeps applications coming into a queue during the faults, in waves of unmanaged AMs.
type load struct {
	c     *hadoop.Cluster
	queue string
	apps  int  // per wave
	hold  int  // min hold time of a container, ms; the max is twice that
	mb    int  // of each container; 512
	runs  bool // run a process in each container, so that it outlives its ResourceManager

	cancel     context.CancelFunc
	stop, done chan struct{}

	// Once it is done.
	all  []hadoop.AppResult
	err  error
	wave int
}

// begin starts the waves and waits until some applications run and others wait.
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
				l.err = fmt.Errorf("%[2]d of %[1]d applications returned", l.apps, len(res.Apps))
			}
		}
	}()
	if !proc.Await(ctx, 2*time.Minute, 100*time.Millisecond, func() bool { m, err := rm.Metrics(ctx); return err == nil && m.AppsRunning > 0 && m.AppsPending > 0 }) {
		cancel()
		return errors.New("the applications did not start")
	}
	return nil
}

// workload is one wave: all are submitted at once, so that some always wait for AM room.
func (l *load) workload() []hadoop.Application {
	list := make([]hadoop.Application, l.apps)
	for i := range list {
		hold := hadoop.Millis(l.hold + (i*7919+l.wave*104729)%l.hold)
		list[i] = hadoop.Application{ID: fmt.Sprintf("wave-%d-%03d", l.wave, i), User: "alice", Queue: l.queue, Submit: hadoop.Millis(50 * i),
			Containers: []hadoop.Group{{Count: 1, MB: cmp.Or(l.mb, 512), Hold: hadoop.Holds{hold}}}}
	}
	return list
}

// AppCounts counts the applications and those that succeeded.
type AppCounts struct {
	Submitted int      `json:"submitted"`
	Succeeded int      `json:"succeeded"`
	Other     []string `json:"other,omitempty"` // those that failed, and why
}

// lost reports whether an application failed, or there was none.
func (f *AppCounts) lost() bool { return f.Submitted == 0 || f.Succeeded != f.Submitted }

// end waits for the current wave and returns the outcome of all applications.
func (l *load) end(ctx context.Context) (AppCounts, error) {
	close(l.stop)
	select {
	case <-l.done:
	case <-ctx.Done():
	}
	l.cancel()
	<-l.done
	f := AppCounts{Submitted: len(l.all)}
	for _, a := range l.all {
		if a.State == "SUCCEEDED" {
			f.Succeeded++
		} else {
			f.Other = append(f.Other, a.App+" "+a.State+": "+a.Why)
		}
	}
	return f, l.err
}
