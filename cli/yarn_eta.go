package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/sim/yarn"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/whatif/live"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// liveFlags say which live cluster is asked, and from which history the work of its applications is drawn.
type liveFlags struct {
	login
	known         *scenario.Catalogue
	history, file string
	seed          uint64
	json          bool
	manager       *rest.Client // set by read
	was           bool         // read
}

func (f *liveFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.SortFlags = false
	f.addRM(cmd)
	f.addWho(cmd)
	fs.StringVar(&f.history, "history", "", "`DIR` that \"yardmaster import yarn\" has written: what is not known of an application is drawn from jobs like it")
	fs.StringVar(&f.file, "file", "", "the ResourceManager's capacity-scheduler.xml or fair-scheduler.xml, as `FILE` of this machine, if it does not show its settings")
	fs.Uint64Var(&f.seed, "seed", 1, "`N` from which the draws are made; the same number gives the same draws")
	fs.BoolVar(&f.json, "json", false, "write as JSON")
	f.addTimeout(cmd, liveWithin, "max `TIME` until the answer")
	setGroup(fs, inCluster, "rm", "history", "file", "timeout")
	setGroup(fs, inOutput, "json")
}

// liveWithin is the default time limit of a question.
const liveWithin = 2 * time.Minute

// limit starts the time of a question. Once it is over, late makes an error say what took so long, and what to do.
func (f *liveFlags) limit(cmd *cobra.Command) (ctx context.Context, stop func(), late func(error) error) {
	ctx, stop = context.WithTimeout(cmd.Context(), f.timeout)
	return ctx, stop, func(err error) error {
		switch {
		case err == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded):
			return labelled(cmd.Name(), err)
		case f.was:
			err = fmt.Errorf("the simulations were not done within %v: --timeout gives them more time, and a question about one application takes less", f.timeout)
		default:
			err = tooSlow(f.timeout, err)
		}
		return labelled(cmd.Name(), err)
	}
}

// read reads the cluster and the history.
func (f *liveFlags) read(ctx context.Context, cmd *cobra.Command, first func(*rest.App) bool) (*live.View, *live.History, error) {
	if len(f.rm) == 0 {
		return nil, nil, misuse("See \""+cmd.CommandPath()+" --help\".", "%s: no cluster: give --rm URL", cmd.Name())
	}
	var jobs workload.Slice
	var timing *yarn.Timing
	if f.history != "" {
		s, err := f.known.Load(f.history)
		if err != nil {
			return nil, nil, err
		}
		setup, err := resolve(s)
		if err != nil {
			return nil, nil, err
		}
		if jobs, err = setup.Workload.Read(s.Seed); err != nil {
			return nil, nil, err
		}
		timing = setup.Timing
	}
	var err error
	if f.manager, err = f.client(rest.Options{Timeout: 10 * time.Second, Retries: 2, RMRate: -1}); err != nil {
		return nil, nil, err
	}
	defer f.manager.CloseIdle()
	v, err := live.Read(ctx, f.manager, first)
	if err == nil && f.file != "" {
		var text []byte
		if text, err = os.ReadFile(f.file); err == nil {
			err = v.SetFile(f.file, text)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	if timing != nil {
		v.Timing = *timing
	}
	f.was = true
	past := live.Learn(jobs)
	if past.Empty() {
		past = live.Guess(v)
	}
	return v, past, nil
}

func newYarnEta(known *scenario.Catalogue) *cobra.Command {
	f := liveFlags{known: known}
	var all, last bool
	var queue string
	var draws int
	cmd := &cobra.Command{
		Use:   "eta APPLICATION | --queue NAME | --all",
		Short: "Predict when applications will start and end",
		Args: func(cmd *cobra.Command, args []string) error {
			see := "See \"" + cmd.CommandPath() + " --help\"."
			ways := slices.DeleteFunc([]bool{len(args) > 0, all, queue != ""}, func(given bool) bool { return !given })
			switch {
			case len(args) > 1:
				return misuse(see, "eta: too many arguments: %q", args[1])
			case len(ways) != 1:
				return misuse(see, "eta: say which applications: an id, --queue NAME or --all")
			case draws < 9 || draws > 999:
				return misuse(see, "eta: --draws is from 9 to 999, not %d", draws)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			id := strings.Join(args, "")
			ctx, stop, late := f.limit(cmd)
			defer stop()
			v, past, err := f.read(ctx, cmd, func(a *rest.App) bool { return a.ID == id || queue != "" && conf.QueueNamesMatch(a.Queue, queue) })
			if err != nil {
				return late(err)
			}
			if id != "" && v.Find(id) == nil {
				return fmt.Errorf("eta: the ResourceManager lists no application %s that has not ended: \"yardmaster yarn eta --all\" shows those that have not", id)
			}
			o := live.Options{Draws: draws, Seed: f.seed, NoArrivals: last, Only: func(a *live.App) bool {
				return all || a.ID == id || queue != "" && conf.QueueNamesMatch(a.Queue, queue)
			}}
			if o.Calibration, err = live.Calibrate(ctx, v, past, o); err != nil {
				return late(err)
			}
			list, err := live.Predict(ctx, v, past, o)
			if err != nil {
				return late(err)
			}
			if f.json {
				return writeJSON(cmd.OutOrStdout(), etaJSON(v, past, list, &o))
			}
			showEta(cmd.OutOrStdout(), v, past, list, id != "", &o)
			return nil
		},
	}
	f.add(cmd)
	fs := cmd.Flags()
	fs.StringVar(&queue, "queue", "", "all applications of the queue `NAME`")
	fs.BoolVar(&all, "all", false, "all applications that have not ended")
	fs.BoolVar(&last, "no-arrivals", false, "assume that no job arrives any more, as at the end of a batch")
	fs.IntVar(&draws, "draws", live.Draws, "`N` simulations")
	return cmd
}

// fromNow is an instant as time from now.
func fromNow(v *live.View, t unit.Time, never string) string {
	if t == unit.Never {
		return never
	}
	return max(t-v.Now, 0).String()
}

// within is an interval as time from now.
func within(v *live.View, i live.Interval) string {
	return fromNow(v, i.Low, "later") + " to " + fromNow(v, i.High, "later")
}

// expected is a median as time from now.
func expected(v *live.View, i live.Interval) string { return fromNow(v, i.Median, "not foreseen") }

// foreseen is an interval, of which sure says how sure it is, in words.
func foreseen(v *live.View, i live.Interval, sure string) string {
	return fmt.Sprintf("%s (%s: %s), at about %s.", expected(v, i), sure, within(v, i), clock(v, i.Median))
}

// clock is an instant as time of day, with the day if that is not today's.
func clock(v *live.View, t unit.Time) string {
	at, now := instant(v, t), instant(v, v.Now)
	if at.YearDay() == now.YearDay() && at.Year() == now.Year() {
		return at.Format("15:04:05")
	}
	return at.Format("2006-01-02 15:04")
}

func instant(v *live.View, t unit.Time) time.Time {
	return v.Epoch.Add(time.Duration(t) * time.Microsecond)
}

// moment is an instant for programs; nil: it is not known, or never comes.
func moment(v *live.View, t unit.Time) *time.Time {
	if t == unit.Never || t < 0 {
		return nil
	}
	x := instant(v, t).UTC()
	return &x
}

func showEta(w io.Writer, v *live.View, past *live.History, list []live.Forecast, one bool, o *live.Options) {
	sure := "80 %"
	if !o.Calibration.Ends.Enough() {
		sure = "not measured"
	}
	if warning := o.Calibration.Warning(); warning != "" {
		say(w, "Warning: "+warning+".")
	}
	switch {
	case len(list) == 0:
		say(w, "There is no such application that has not ended.")
		return
	case one:
		showOne(w, v, &list[0], sure)
	default:
		t := term.Table{Left: 4, Head: []string{"application", "user", "queue", "state", "starts in", sure, "ends in", sure}}
		for i := range list {
			f := &list[i]
			id, user, queue := term.Name(f.App.ID), term.Name(f.App.User), term.Name(f.App.Queue)
			switch {
			case f.Refused != "":
				t.Add(id, user, queue, "refused", "", "", "", "")
			case f.Started:
				t.Add(id, user, queue, "running", "", "", expected(v, f.End), within(v, f.End))
			default:
				t.Add(id, user, queue, "waiting", expected(v, f.Start), within(v, f.Start), expected(v, f.End), within(v, f.End))
			}
		}
		fmt.Fprint(w, draw(t))
	}
	fmt.Fprintln(w)
	say(w, fmt.Sprintf("%d simulations from the state at %s: %s on %s. %s", o.Draws, instant(v, v.Now).Format("2006-01-02 15:04:05"),
		unit.Count(int64(len(v.Apps)), "application"), unit.Count(int64(len(v.Cluster.Nodes)), "node"), past.Covers(o)))
	sayNotes(w, v)
}

// who names an application.
func who(a *live.App) string {
	return fmt.Sprintf("%s (%s) of %s in %s", term.Name(a.ID), cmp.Or(term.Name(a.Name), "without a name"), term.Name(a.User), term.Name(a.Queue))
}

// runs says since when an application runs.
func runs(v *live.View, a *live.App) string {
	if since, _ := a.Started(); since >= 0 {
		return who(a) + " runs since " + clock(v, since) + "."
	}
	return who(a) + " runs."
}

// noteTexts are the notes for programs.
func noteTexts(v *live.View) (texts []string) {
	for _, n := range v.Notes {
		texts = append(texts, term.Line(n))
	}
	return texts
}

func sayNotes(w io.Writer, v *live.View) {
	for _, n := range v.Notes {
		say(w, "Note: "+n+".")
	}
}

func showOne(w io.Writer, v *live.View, f *live.Forecast, sure string) {
	switch {
	case f.Refused != "":
		say(w, who(f.App)+" would be refused: "+f.Refused)
		return
	case f.Started:
		say(w, runs(v, f.App))
	case f.Start.Median == unit.Never:
		say(w, who(f.App)+" waits, and no simulation starts it: see \"yardmaster yarn why\".")
	default:
		say(w, who(f.App)+" waits. It starts in "+foreseen(v, f.Start, sure))
	}
	if f.End.Median != unit.Never {
		say(w, "It ends in "+foreseen(v, f.End, sure))
	} else {
		say(w, "Its end is not foreseen: most simulations do not reach it.")
	}
}

// interval is an interval for programs.
type interval struct {
	Low    *time.Time `json:"low"`
	Median *time.Time `json:"median"`
	High   *time.Time `json:"high"`
}

func intervalOf(v *live.View, i live.Interval) *interval {
	return &interval{moment(v, i.Low), moment(v, i.Median), moment(v, i.High)}
}

// etaJSON is the answer for programs. An instant that no simulation reaches is null.
func etaJSON(v *live.View, past *live.History, list []live.Forecast, o *live.Options) any {
	type app struct {
		ID      string    `json:"id"`
		Name    string    `json:"name"`
		User    string    `json:"user"`
		Queue   string    `json:"queue"`
		Started bool      `json:"started"`
		Refused string    `json:"refused,omitempty"`
		Start   *interval `json:"start,omitempty"`
		End     *interval `json:"end,omitempty"`
	}
	out := struct {
		Now          time.Time         `json:"now"`
		Draws        int               `json:"draws"`
		Seed         uint64            `json:"seed"`
		Coverage     float64           `json:"coverage"` // that is aimed at
		Measured     *live.Calibration `json:"measured"` // on the history
		Covers       string            `json:"covers"`
		Warning      string            `json:"warning,omitempty"`
		Notes        []string          `json:"notes,omitempty"`
		Applications []app             `json:"applications"`
	}{instant(v, v.Now).UTC(), o.Draws, o.Seed, live.Coverage, o.Calibration, past.Covers(o), o.Calibration.Warning(), noteTexts(v), []app{}}
	for i := range list {
		f := &list[i]
		x := app{ID: f.App.ID, Name: f.App.Name, User: f.App.User, Queue: f.App.Queue, Started: f.Started, Refused: f.Refused}
		if f.Refused == "" {
			x.Start, x.End = intervalOf(v, f.Start), intervalOf(v, f.End)
		}
		out.Applications = append(out.Applications, x)
	}
	return out
}
