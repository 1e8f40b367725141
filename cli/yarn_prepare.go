package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/securefile"
	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/edit"
	"github.com/yardmaster/yardmaster/yarn/queues"
	"github.com/yardmaster/yardmaster/yarn/rest"
	"github.com/yardmaster/yardmaster/yarn/yard"
)

// prepareFlags are the flags of yarn prepare.
type prepareFlags struct {
	login
	queues.Options
	shares    []string
	file, out string
	act, undo bool
	force     bool
	journal   string
	zk        []string
}

func newYarnPrepare() *cobra.Command {
	var f prepareFlags
	cmd := &cobra.Command{
		Use:   "prepare --policy POLICY --queue QUEUE {--rm URL [--act] | --file FILE} [--levels N | --shares SHARE,...] [--out FILE]",
		Short: "Make the queues that a policy needs, or take them back",
		Args:  func(cmd *cobra.Command, args []string) error { return f.check(cmd, args) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			return labelled("prepare", f.run(cmd))
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	f.addRM(cmd)
	fs.StringVar(&f.Queue, "queue", "", "full `NAME` of the leaf queue that users submit to: root.batch")
	fs.StringVar(&f.file, "file", "", "read this capacity-scheduler.xml as `FILE` instead of a live configuration")
	fs.StringSliceVar(&f.zk, "zookeeper", nil, "`HOST:PORT` of ZooKeeper, to exclude steerers on other machines; several separated by commas")
	fs.StringVar(&f.journal, "journal", "", "folder `DIR` of the record of the old settings; else yardmaster/prepare in $XDG_STATE_HOME or ~/.local/state")
	fs.StringVar(&f.Policy, "policy", "", "`NAME` of the policy: "+strings.Join(queues.Policies(), ", "))
	fs.IntVar(&f.Levels, "levels", 0, "`N` levels; for deadline: one more than jobs with deadlines at a time (default 2; for deadline 5)")
	fs.StringSliceVar(&f.shares, "shares", nil, "`SHARE` of each level but the last, separated by commas: 0.5,0.3 (default for tags 0.5, for sita 0.3)")
	fs.BoolVar(&f.act, "act", false, "change the ResourceManager's configuration; without it the change is only shown")
	fs.BoolVar(&f.undo, "undo", false, "move jobs back to the queue, remove the new queues and restore the old settings")
	fs.BoolVar(&f.force, "force", false, "also use a record without a checksum, as earlier versions wrote them")
	fs.StringVarP(&f.out, "out", "o", "", "write the whole new configuration to `FILE`")
	f.addTimeout(cmd, startWithin, stepHelp)
	setGroup(fs, inCluster, "rm", "queue", "file", "journal", "zookeeper", "timeout")
	setGroup(fs, inPolicy, "policy", "levels", "shares")
	setGroup(fs, inOutput, "out")
	f.addWho(cmd)
	complete(cmd, "policy", queues.Policies, cobra.ShellCompDirectiveNoFileComp)
	return cmd
}

// check finds conflicting options before any server is contacted.
func (f *prepareFlags) check(cmd *cobra.Command, args []string) error {
	see := "See \"" + cmd.CommandPath() + " --help\"."
	changed := cmd.Flags().Changed
	switch {
	case len(args) > 0:
		return misuse(see, "yarn prepare: %q is not a flag", args[0])
	case f.Queue == "":
		return misuse(see, "yarn prepare: no queue: give --queue root.batch")
	case f.undo && (f.act || changed("policy") || changed("levels") || changed("shares") || changed("file") || changed("out")):
		return misuse("", "yarn prepare: --undo takes back what the record says: leave out --act, --policy, --levels, --shares, --file and --out")
	case f.file != "" && (len(f.rm) > 0 || f.act):
		return misuse("", "yarn prepare: --file is for a configuration without a ResourceManager: leave out --rm and --act, or --file")
	case f.file != "" && absolute(f.file) == absolute(f.out):
		return misuse("", "yarn prepare: --out is the file that is read: name another one, and keep the old one to go back")
	case f.file == "" && len(f.rm) == 0:
		return misuse(see, "yarn prepare: no cluster: give --rm URL, or --file capacity-scheduler.xml")
	case f.undo:
		return nil
	case f.Policy == "":
		return misuse(see, "yarn prepare: no policy: give --policy, one of %s", strings.Join(queues.Policies(), ", "))
	case !slices.Contains(queues.Policies(), f.Policy):
		return misuse("Those that do are "+strings.Join(queues.Policies(), ", ")+".", "yarn prepare: policy %q needs no queues of its own%s", f.Policy, suggest.Hint(f.Policy, queues.Policies()))
	}
	for _, s := range f.shares {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return misuse("", "yarn prepare: --shares: %q is not a number", s)
		}
		f.Shares = append(f.Shares, x)
	}
	return nil
}

func (f *prepareFlags) run(cmd *cobra.Command) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	to, err := prepare(ctx, f.out)
	if err != nil {
		return err
	}
	defer to.discard()
	if f.file != "" {
		data, err := readFile(f.file)
		if err != nil {
			return err
		}
		p, err := conf.ReadProperties(bytes.NewReader(data), f.file)
		if err != nil {
			return err
		}
		plan, err := queues.Derive(p, f.Options)
		if err != nil {
			return err
		}
		if data, err = edit.Properties(data, plan.Values()); err != nil {
			return fmt.Errorf("%s: %w", f.file, err)
		}
		if err := to.write(func(w io.Writer) error { _, err := w.Write(data); return err }); err != nil {
			return err
		}
		f.show(out, plan, queues.Original)
		return nil
	}
	p, err := f.connect(ctx, noticesTo(out))
	if err != nil {
		return err
	}
	defer p.client.CloseIdle()
	if f.act || f.undo {
		if err := p.lock(ctx, p.queue); err != nil {
			return err
		}
		defer func() { _ = p.locks.Close() }() // they end with this process
	}
	if f.undo {
		return p.undo(ctx)
	}
	before, err := p.settings(ctx)
	if err != nil {
		return err
	}
	plan, state, err := p.plan(ctx, before)
	if err != nil {
		return err
	}
	if err := to.write(func(w io.Writer) error { return conf.WriteProperties(w, plan.Apply(before)) }); err != nil {
		return err
	}
	if f.act && state == queues.Original {
		if err := p.act(ctx, plan); err != nil {
			return err
		}
		state = queues.Prepared
	}
	f.show(out, plan, state)
	return nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read-only
	return io.ReadAll(io.LimitReader(f, conf.MaxFile+1))
}

// show prints the change, and what to run next.
func (f *prepareFlags) show(w io.Writer, plan *queues.Plan, state queues.State) {
	t := term.Table{Head: []string{"queue", "setting", "before", "after"}, Left: 4}
	queue := ""
	for _, s := range plan.Settings {
		name := s.Queue
		if name == queue {
			name = ""
		}
		queue = s.Queue
		t.Add(name, s.Name, cmp.Or(s.Old, "-"), s.New)
	}
	fmt.Fprintf(w, "%s\n%s", draw(t), term.Flow(fmt.Sprintf("Jobs are submitted to %s as before, and a steerer moves them on from there. While none runs "+
		"they stay: they may use as much as before, but are guaranteed only the capacity shown.", plan.Queue), helpWidth()))
	for _, n := range plan.Notes {
		fmt.Fprintf(w, "Note: %s.\n", term.Line(n))
	}
	names, set := strings.Join(plan.Queues(), ","), ""
	if n := len(plan.Levels); n > 2 && f.Policy != "comp" && f.Policy != "deadline" {
		set = "limits=" + strings.Join(slices.Repeat([]string{"SECONDS"}, n-1), ",")
	}
	fmt.Fprintf(w, "\nNext:\n")
	next := func(command, setFlag string, words ...string) {
		if set != "" {
			words = append(words, setFlag, set)
		}
		fmt.Fprint(w, term.Command("yardmaster "+command+" "+strings.Join(words, " "), "  ", helpWidth()))
	}
	if f.out != "" {
		next("simulate", "--steer-set", "--workload", "JOBS", "--cluster", "NODES", "--scheduler", f.out, "--steer", plan.Policy, "--steer-queue", names)
	}
	rm := cmp.Or(strings.Join(f.rm, ","), "URL")
	switch {
	case state == queues.Prepared:
		next("yarn steer", "--set", "--rm", rm, "--policy", plan.Policy, "--queue", names)
		set = ""
		words := []string{"--rm", rm, "--queue", plan.Queue, "--undo"}
		if f.journal != "" {
			words = append(words, "--journal", f.journal)
		}
		next("yarn prepare", "", words...)
	case f.file == "":
		fmt.Fprintln(w, "  The same command with --act makes this change.")
	default:
		fmt.Fprint(w, term.Wrap("Install "+cmp.Or(f.out, "the file that --out writes")+" and refresh the queues (yarn rmadmin -refreshQueues); keep the old file to go back.", "  ", helpWidth()))
		next("yarn steer", "--set", "--rm", rm, "--policy", plan.Policy, "--queue", names)
	}
}

// preparer changes a live configuration.
type preparer struct {
	f       *prepareFlags
	client  *rest.Client
	cluster string // prefix of its queues' identities
	queue   string
	tell    func(format string, args ...any)
	path    string // of the record
	locks   closers
	cuts    int // applications whose texts were cut, as said so far
}

// connect identifies the ResourceManager and finds out whether its configuration can be changed.
func (f *prepareFlags) connect(ctx context.Context, tell func(format string, args ...any)) (*preparer, error) {
	k := knobFlags{login: f.login, queues: []string{f.Queue}}
	y, client, _, err := k.open(ctx, yard.Options{CPU: "none"})
	if err != nil {
		return nil, err
	}
	p := &preparer{f: f, client: client, queue: y.Queues()[0], tell: tell}
	p.cluster = strings.TrimSuffix(y.Identity(), p.queue)
	dir := f.journal
	if dir == "" {
		dir, err = live.StateDir()
		dir = filepath.Join(filepath.Dir(dir), "prepare")
	}
	p.path = filepath.Join(absolute(dir), live.FileName(y.Identity())+".json")
	switch {
	case err != nil:
	case y.Limit() != steer.CapacityAM:
		err = errors.New("the ResourceManager runs the FairScheduler: only the CapacityScheduler's queues can be prepared")
	case y.Actuator() != yard.REST:
		err = errors.New("the ResourceManager keeps its scheduler's settings in a file: derive a new one with --file capacity-scheduler.xml --out FILE instead of --rm, and install it")
	}
	if err != nil {
		client.CloseIdle()
	}
	return p, err
}

// lock excludes steerers of some queues, and fails if one has left something to restore.
func (p *preparer) lock(ctx context.Context, names ...string) error {
	var ids []string
	for _, q := range names {
		ids = append(ids, p.cluster+q)
	}
	slices.Sort(ids)
	locks, err := hostLock(ctx, ids, holderLeaves)
	if p.locks = append(p.locks, locks); err != nil {
		return err
	}
	if len(p.f.zk) > 0 {
		l, err := newLock(p.f.zk, ids, func() {})
		if err == nil {
			err = l.Acquire(ctx)
		}
		if err != nil {
			return err
		}
		p.locks = append(p.locks, closer(l.Release))
	}
	return leftElsewhere(p.path, ids)
}

type closer func() error

func (c closer) Close() error { return c() }

func (p *preparer) settings(ctx context.Context) (now *conf.Properties, err error) {
	err = p.f.inTime(ctx, func(in context.Context) (err error) { now, err = p.client.SchedulerConf(in); return err })
	return now, err
}

// record is what prepare found and did, written before it is done.
type record struct {
	Queue string       `json:"queue"` // with its cluster
	At    time.Time    `json:"at"`
	Plan  *queues.Plan `json:"plan"`
}

// recorded reads the record; nil if there is none. It says what is written to the ResourceManager, so nobody else may have written it.
func (p *preparer) recorded() (*record, error) {
	if _, err := os.Stat(p.path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var data []byte
	err := securefile.CheckDir(filepath.Dir(p.path))
	if err == nil {
		data, err = securefile.ReadFile(p.path, 4<<20)
	}
	if err == nil {
		data, err = p.unseal(data)
	}
	r := &record{}
	if err == nil {
		err = json.Unmarshal(data, r)
	}
	switch {
	case err != nil:
	case r.Plan == nil || r.Queue != p.cluster+p.queue || r.Plan.Queue != p.queue:
		err = errors.New("it is not the record of this queue")
	default:
		err = r.Plan.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("the record %s: %w", p.path, err)
	}
	return r, nil
}

// unseal checks the checksum of a record. Earlier versions wrote none.
func (p *preparer) unseal(data []byte) ([]byte, error) {
	object, err := drive.Unseal(bytes.TrimSpace(data))
	switch {
	case err == nil:
		return object, nil
	case !errors.Is(err, drive.ErrUnsealed):
		return nil, fmt.Errorf("%w: it was edited or damaged, so nothing is written from it. Find out what the old settings were, and set them by hand", err)
	case !p.f.force:
		return nil, errors.New("it has no checksum: it was edited, or an earlier version wrote it. Nothing is written from it. If the old settings in it are right, run the same command with --force")
	}
	return data, nil
}

// plan derives the change, or finds that it has been made.
func (p *preparer) plan(ctx context.Context, now *conf.Properties) (*queues.Plan, queues.State, error) {
	r, err := p.recorded()
	if err != nil {
		return nil, 0, err
	}
	if r != nil && queues.Present(now, p.queue) {
		switch state, diffs := r.Plan.Compare(now); {
		case state == queues.Prepared && r.Plan.Policy == p.f.Policy && (p.f.Levels == 0 || p.f.Levels == len(r.Plan.Levels)) && p.f.Shares == nil:
			p.tell("%s has been prepared on %s.", p.queue, r.At.Local().Format("2006-01-02 15:04:05"))
			return r.Plan, state, nil
		case state == queues.Changed:
			return nil, 0, p.changed(diffs)
		default:
			return nil, 0, fmt.Errorf("%s is prepared for %s with %d levels: take that back first with --undo", p.queue, r.Plan.Policy, len(r.Plan.Levels))
		}
	}
	if r != nil && r.Plan.Remains(now) { // a new record would replace the only one of the old settings
		_, diffs := r.Plan.Compare(now)
		return nil, 0, p.changed(diffs)
	}
	o := p.f.Options
	o.Queue = p.queue
	err = p.f.inTime(ctx, func(in context.Context) error {
		m, err := p.client.Metrics(in)
		o.Vcores = m.TotalVirtualCores
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	plan, err := queues.Derive(now, o)
	return plan, queues.Original, err
}

func (p *preparer) changed(diffs []string) error {
	if len(diffs) == 0 {
		diffs = []string{"the state of the new queues"}
	}
	return fmt.Errorf("somebody else has changed these settings since, so they are left as they are: %s. The old values are in %s", strings.Join(diffs, "; "), p.path)
}

// act writes the record, makes the change and reads it back.
func (p *preparer) act(ctx context.Context, plan *queues.Plan) error {
	data, err := json.Marshal(record{Queue: p.cluster + p.queue, At: time.Now().UTC(), Plan: plan})
	if err == nil {
		err = os.MkdirAll(filepath.Dir(p.path), 0o700)
	}
	if err == nil {
		err = securefile.CheckDir(filepath.Dir(p.path))
	}
	if err == nil {
		err = securefile.WriteFile(p.path, drive.Seal(data), 0o600)
	}
	if err != nil {
		return fmt.Errorf("%w, because the old settings cannot be recorded: %w", errNotMade, err)
	}
	if err := p.send(ctx, plan, plan.Change(), queues.Prepared); errors.Is(err, errNotMade) {
		return errors.Join(err, os.Remove(p.path))
	} else if err != nil {
		return err
	}
	p.tell("Prepared %s. The old settings are recorded in %s.", p.queue, p.path)
	return nil
}

var errNotMade = errors.New("nothing is changed")

// send makes a change, and verifies that it leads to a state. One with an unknown outcome counts if it does.
func (p *preparer) send(ctx context.Context, plan *queues.Plan, c rest.SchedulerChange, want queues.State) error {
	sent := p.f.inTime(ctx, func(in context.Context) error { _, err := p.client.ChangeScheduler(in, c); return err })
	var unknown *rest.OutcomeUnknownError
	if sent != nil && !errors.As(sent, &unknown) && !errors.Is(sent, rest.ErrFormat) {
		return fmt.Errorf("%w: %w", errNotMade, sent)
	}
	now, err := p.settings(ctx)
	if err != nil {
		return errors.Join(sent, err)
	}
	switch state, diffs := plan.Compare(now); {
	case state == want:
		return nil
	case sent != nil:
		return sent
	default:
		return fmt.Errorf("the ResourceManager has accepted the change, and its configuration shows another: %s", strings.Join(diffs, "; "))
	}
}

// evacuateWithin is how long applications may take to leave the new queues, and these to stop.
var evacuateWithin = 2 * time.Minute // tests change it

// undo takes the change back. Whatever state an interrupted one has left, it can be run again.
func (p *preparer) undo(ctx context.Context) error {
	r, err := p.recorded()
	if err != nil {
		return err
	}
	if r == nil {
		now, err := p.settings(ctx)
		if err == nil && !queues.Present(now, p.queue) {
			p.tell("%s is not prepared: there is nothing to take back.", p.queue)
			return nil
		}
		if err != nil {
			return err
		}
		return fmt.Errorf("there is no record %s of what %s was: run this as the account that prepared it, or name the folder with --journal", p.path, p.queue)
	}
	if err := p.lock(ctx, r.Plan.Levels...); err != nil {
		return err
	}
	now, err := p.settings(ctx)
	if err != nil {
		return err
	}
	r.Plan = r.Plan.AdoptACLs(now)
	state, diffs := r.Plan.Compare(now)
	if state == queues.Changed {
		return p.changed(diffs)
	}
	if state != queues.Original {
		moved, err := p.evacuate(ctx, r.Plan, state == queues.Stopped)
		if err != nil {
			return err
		}
		if now, err = p.settings(ctx); err != nil {
			return err
		}
		if state, diffs := r.Plan.Compare(now); state != queues.Stopped { // in the meantime
			return p.changed(diffs)
		}
		if err := p.send(ctx, r.Plan, r.Plan.Remove(now), queues.Original); err != nil {
			return err
		}
		p.tell("Moved %d applications back to %s, removed %s and restored the old settings.", moved, p.queue, r.Plan.Parent)
	} else {
		p.tell("%s has its old settings: there is nothing to take back.", p.queue)
	}
	return os.Remove(p.path)
}

// evacuate moves applications from the new queues back and stops the queues.
func (p *preparer) evacuate(ctx context.Context, plan *queues.Plan, stopped bool) (moved int, err error) {
	ctx, stop := context.WithTimeout(ctx, evacuateWithin)
	defer stop()
	for {
		n, left, failed := p.moveBack(ctx, plan)
		moved += n
		if left == 0 && failed == nil && !stopped {
			if failed = p.send(ctx, plan, plan.Stop(), queues.Stopped); failed != nil {
				return moved, failed
			}
			stopped = true
			continue // one may have come in the meantime
		}
		states := ""
		if left == 0 && failed == nil {
			if states, failed = p.running(ctx, plan); states == "" && failed == nil {
				return moved, nil
			}
		}
		if wait(ctx, 500*time.Millisecond) != nil {
			return moved, errors.Join(fmt.Errorf("%d applications are still in the new queues%s: run this again later", left, states), failed)
		}
	}
}

// moveBack moves the applications of the new queues, and counts those that remain.
func (p *preparer) moveBack(ctx context.Context, plan *queues.Plan) (moved, left int, failed error) {
	defer func() { sayCuts(p.client, &p.cuts, p.tell) }()
	for a, err := range p.client.Apps(ctx, rest.AppFilter{States: []string{"NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING"}}) {
		if err != nil {
			return moved, left, err
		}
		// Before 3.3 an application has only the last part of the name, which no other queue has.
		if !slices.ContainsFunc(plan.Levels, func(l string) bool { return a.Queue == l || a.Queue == l[strings.LastIndexByte(l, '.')+1:] }) {
			continue
		}
		if _, err := p.client.MoveApp(ctx, a.ID, p.queue); err != nil {
			left++
			failed = err
			continue
		}
		p.tell("%s: %s -> %s", term.Name(a.ID), term.Name(a.Queue), p.queue)
		moved++
	}
	return moved, left, failed
}

// running names the new queues that have not stopped yet.
func (p *preparer) running(ctx context.Context, plan *queues.Plan) (states string, err error) {
	s, err := p.client.Scheduler(ctx)
	if err != nil {
		return "", err
	}
	for _, name := range append([]string{plan.Parent}, plan.Levels...) {
		if q := s.Root.Find(name); q != nil && q.State != "STOPPED" {
			states += fmt.Sprintf(", %s is %s", name, q.State)
		}
	}
	return states, nil
}
