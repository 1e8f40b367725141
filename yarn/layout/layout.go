package layout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/policy/amlimit"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/drive/live"
	"github.com/yardmaster/yardmaster/steer/session"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/queues"
	"github.com/yardmaster/yardmaster/yarn/rest"
	"github.com/yardmaster/yardmaster/yarn/yard"
)

// Setup is what preparing a queue needs to know.
type Setup struct {
	session.Program
	queues.Options
	Client *rest.Client
	Yard   *yard.Yard // of the queue
	Dir    string     // of journals; "": the default
	Locks  *session.Locks
	Force  bool // also use a record without a checksum, as earlier versions wrote them
	// Step runs a step that asks the ResourceManager, with its timeout.
	Step func(context.Context, func(context.Context) error) error
	Tell func(format string, args ...any)
}

// Preparer prepares a queue of a live ResourceManager.
type Preparer struct {
	Setup
	tree    tree // its plan is nil if the queue is not prepared
	queue   string
	dir     string // of the journal
	at      time.Time
	journal *live.DiskJournal // nil: only read
	locks   session.Closers
}

// Open finds out whether the queue can be prepared, and whether it is. To change something, it takes the locks.
func Open(ctx context.Context, s Setup, change bool) (_ *Preparer, err error) {
	p := &Preparer{Setup: s, queue: s.Yard.Queues()[0]}
	switch {
	case s.Yard.Limit() != amlimit.Capacity:
		return nil, errors.New("the ResourceManager runs the FairScheduler: only the CapacityScheduler's queues can be prepared")
	case s.Yard.Actuator() != yard.REST:
		return nil, errors.New("the ResourceManager keeps its scheduler's settings in a file: derive a new one with --file capacity-scheduler.xml --out FILE instead of --rm, and install it")
	case s.Dir == "":
		if s.Dir, err = session.StateDir(); err != nil {
			return nil, err
		}
		s.Dir = filepath.Join(filepath.Dir(s.Dir), "prepare")
	}
	if s.Dir, err = filepath.Abs(s.Dir); err != nil {
		return nil, err
	}
	p.Options.Queue = p.queue
	p.dir = filepath.Join(s.Dir, session.FileName(s.Yard.Identity()))
	p.tree = tree{client: s.Client, cluster: strings.TrimSuffix(s.Yard.Identity(), p.queue), tell: s.Tell, where: p.dir}
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	if change {
		if err := p.exclude(ctx, p.queue); err != nil {
			return nil, err
		}
		if p.journal, err = session.OpenJournal(ctx, p.dir, s.Tell); err != nil {
			return nil, err
		}
		if err := p.journal.Damage(); err != nil {
			return nil, err
		}
	}
	return p, p.load()
}

// Close releases the journal and the locks.
func (p *Preparer) Close() {
	if p.journal != nil {
		_ = p.journal.Close() // its content is on disk
	}
	_ = p.locks.Close() // they end with this process
}

func (p *Preparer) exclude(ctx context.Context, names ...string) error {
	var ids []string
	for _, q := range names {
		ids = append(ids, p.tree.cluster+q)
	}
	held, err := p.Program.Exclude(ctx, ids, p.Locks, p.dir)
	p.locks = append(p.locks, held)
	return err
}

// load reads the plan that the journal has open, or an earlier version's record.
func (p *Preparer) load() error {
	_, open, err := live.ReadJournal(p.dir)
	if err != nil {
		return err
	}
	if len(open) == 0 {
		return p.importRecord()
	}
	plan := &queues.Plan{}
	e := &open[0]
	if err = json.Unmarshal([]byte(e.New.Text), plan); err == nil && (len(open) > 1 || !e.Stands()) {
		err = errors.New("it has other changes open")
	}
	if err == nil {
		err = p.accept(e.Engine, plan)
	}
	if err != nil {
		return fmt.Errorf("the journal %s is not that of this queue: %w", p.dir, err)
	}
	p.at = e.At
	return nil
}

// accept takes a plan that was read.
func (p *Preparer) accept(engine string, plan *queues.Plan) error {
	if engine != p.tree.cluster+p.queue || plan.Queue != p.queue {
		return errors.New("it is not the record of this queue")
	}
	if err := plan.Check(); err != nil {
		return err
	}
	p.tree.plan = plan
	return nil
}

func (p *Preparer) settings(ctx context.Context) (now *conf.Properties, err error) {
	err = p.Step(ctx, func(in context.Context) (err error) { now, err = p.Client.SchedulerConf(in); return err })
	return now, err
}

// Plan derives the change, or finds that it has been made. The properties are those of the new configuration.
func (p *Preparer) Plan(ctx context.Context) (plan *queues.Plan, after []conf.Property, state queues.State, err error) {
	now, err := p.settings(ctx)
	if err != nil {
		return nil, nil, 0, err
	}
	if plan, state, err = p.plan(ctx, now); err != nil {
		return nil, nil, 0, err
	}
	return plan, plan.Apply(now), state, nil
}

func (p *Preparer) plan(ctx context.Context, now *conf.Properties) (*queues.Plan, queues.State, error) {
	if old := p.tree.plan; old != nil {
		state, diffs := old.Compare(now)
		switch present := queues.Present(now, p.queue); {
		case present && state == queues.Prepared && old.Policy == p.Policy && (p.Levels == 0 || p.Levels == len(old.Levels)) && p.Shares == nil:
			p.Tell("%s has been prepared on %s.", p.queue, p.at.Local().Format("2006-01-02 15:04:05"))
			return old, state, nil
		case present && state != queues.Changed:
			return nil, 0, fmt.Errorf("%s is prepared for %s with %d levels: take that back first with --undo", p.queue, old.Policy, len(old.Levels))
		case present, old.Remains(now): // another plan would replace the only record of the old settings
			return nil, 0, p.tree.changedError(diffs)
		}
	}
	o := p.Options
	err := p.Step(ctx, func(in context.Context) error {
		m, err := p.Client.Metrics(in)
		o.Vcores = m.TotalVirtualCores
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	plan, err := queues.Derive(now, o)
	return plan, queues.Original, err
}

// Act makes the queues of a plan.
func (p *Preparer) Act(ctx context.Context, plan *queues.Plan) error {
	if p.tree.plan != nil { // somebody has taken the queues back by hand
		if err := p.recover(ctx); err != nil {
			return err
		}
	}
	p.tree.plan = plan
	v, err := p.tree.value()
	if err != nil {
		return err
	}
	if err := p.run(ctx, drive.NewSet(&p.tree, p.journal.Journal, p.tree.knob(), drive.Value{}, v, "yarn prepare")); err != nil {
		if len(p.journal.Open()) == 0 {
			err = fmt.Errorf("nothing is changed: %w", err)
		}
		return err
	}
	p.Tell("Prepared %s. The old settings are recorded in %s.", p.queue, p.dir)
	return nil
}

func (p *Preparer) run(ctx context.Context, m *drive.Machine) error {
	return (&live.Runner{Engine: &p.tree, Journal: p.journal.Journal}).Run(ctx, m)
}

// evacuateWithin is how long applications may take to leave the new queues, and these to stop.
const evacuateWithin = 2 * time.Minute

// recover takes the queues back.
func (p *Preparer) recover(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, evacuateWithin)
	defer stop()
	p.tree.changed = stop // it does not help to try again
	err := p.run(ctx, drive.NewRecovery(&p.tree, p.journal.Journal, false, 0))
	if open, ok := errors.AsType[*drive.OpenError](err); ok {
		return open.Err
	}
	return err
}

// Undo takes the change back. Whatever state an interrupted one has left, it can be run again.
func (p *Preparer) Undo(ctx context.Context) error {
	if p.tree.plan == nil {
		now, err := p.settings(ctx)
		if err != nil {
			return err
		}
		if !queues.Present(now, p.queue) {
			p.Tell("%s is not prepared: there is nothing to take back.", p.queue)
			return nil
		}
		return fmt.Errorf("there is no record %s of what %s was: run this as the account that prepared it, or name the folder with --journal", p.dir, p.queue)
	}
	if err := p.exclude(ctx, p.tree.plan.Levels...); err != nil {
		return err
	}
	if err := p.recover(ctx); err != nil {
		return err
	}
	if p.tree.removed {
		p.Tell("Moved %d applications back to %s, removed %s and restored the old settings.", p.tree.moved, p.queue, p.tree.plan.Parent)
	} else {
		p.Tell("%s has its old settings: there is nothing to take back.", p.queue)
	}
	return nil
}

// Journal is the folder of the journal.
func (p *Preparer) Journal() string { return p.dir }
