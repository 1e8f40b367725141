package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/whatif/live"
	"github.com/yardmaster/yardmaster/yarn/edit"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

func newYarnWhy(known *scenario.Catalogue) *cobra.Command {
	f := liveFlags{known: known}
	cmd := &cobra.Command{
		Use:   "why APPLICATION",
		Short: "Say why an application waits, and what would start it",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return misuse("See \""+cmd.CommandPath()+" --help\".", "why: give the id of one application")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			id := args[0]
			ctx, stop, late := f.limit(cmd)
			defer stop()
			v, past, err := f.read(ctx, cmd, func(a *rest.App) bool { return a.ID == id })
			if err != nil {
				return late(err)
			}
			a := v.Find(id)
			var ended *rest.App
			if a == nil {
				x, err := f.manager.App(ctx, id)
				if err != nil {
					return late(err)
				}
				ended, a = &x, &live.App{ID: id, Name: x.Name, User: x.User, Queue: x.Queue, Unmanaged: x.Unmanaged, Diagnostics: x.Diagnostics}
			}
			x := &live.Explanation{App: a}
			if ended == nil || refused(ended) {
				if x, err = live.Explain(ctx, v, past, a, live.Options{Seed: f.seed}); err != nil {
					return late(err)
				}
			}
			if f.json {
				return writeJSON(cmd.OutOrStdout(), whyJSON(v, x, ended))
			}
			showWhy(cmd.OutOrStdout(), v, x, ended)
			return nil
		},
	}
	f.add(cmd)
	return cmd
}

// refused says whether a queue had no place for the application.
func refused(a *rest.App) bool { return strings.Contains(a.Diagnostics, "cannot accept submission") }

func showWhy(w io.Writer, v *live.View, x *live.Explanation, ended *rest.App) {
	a := x.App
	_, started := a.Started()
	wants := int64(0)
	for _, ask := range a.Asks {
		wants += ask.Count
	}
	wants += a.Capped
	switch {
	case ended != nil && refused(ended):
		say(w, who(a)+" was refused.")
	case ended != nil:
		say(w, fmt.Sprintf("%s does not wait: it is %s.", who(a), cmp.Or(term.Name(ended.State), "gone")))
	case started:
		say(w, runs(v, a))
	default:
		say(w, fmt.Sprintf("%s waits since %s (%v).", who(a), clock(v, a.Submitted), v.Now-a.Submitted))
	}
	if (ended == nil || refused(ended)) && (!started || wants > 0) {
		if started {
			say(w, fmt.Sprintf("It waits for %s more.", unit.Count(wants, "container")))
		}
		explain(w, v, x)
	}
	if d := strings.Join(strings.Fields(a.Diagnostics), " "); d != "" {
		says(w, "The ResourceManager says:", strconv.Quote(short(d, 300)))
		if other := contradicts(d, x.Reasons); other != "" {
			say(w, "Note: that is another limit ("+other+"): the state may have changed while it was read.")
		} else if note := differs(short(d, 300), x.Reasons); note != "" {
			say(w, note)
		}
	}
	sayNotes(w, v)
}

// says prints the words of others after a lead. On a terminal they are indented, so that no line of them looks like one of ours.
func says(w io.Writer, lead, words string) {
	if columns, known := term.Columns(os.Stdout); known {
		fmt.Fprint(w, lead+"\n"+term.Wrap(words, "  ", columns))
		return
	}
	fmt.Fprintln(w, lead+" "+words)
}

func short(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "..."
	}
	return s
}

// explain writes the reasons, who is ahead, what ends the wait and when, and which settings would.
func explain(w io.Writer, v *live.View, x *live.Explanation) {
	release := "nodes report that they have room"
	if len(x.Reasons) == 0 {
		say(w, "No limit holds it back.")
	}
	for i := range x.Reasons {
		r := &x.Reasons[i]
		if what, until := sentence(r); i == 0 {
			release = until
			say(w, what)
		} else if r.Limit != "" || !r.Max.IsZero() { // else who is ahead says it
			say(w, "Besides: "+what)
		}
	}
	if i := slices.IndexFunc(x.Reasons, func(r policy.Reason) bool { return r.Ahead > 0 }); i >= 0 {
		ahead := strings.Join(names(first(&x.Reasons[i])), ", ")
		if more := x.Reasons[i].Ahead - int64(len(x.Reasons[i].Next)); more > 0 {
			ahead += fmt.Sprintf(" and %d more", more)
		}
		say(w, "Ahead of it: "+ahead+".")
	}
	if x.Next.Median == unit.Never {
		say(w, fmt.Sprintf("It gets a container when %s. The simulation does not foresee when.", release))
	} else {
		sure := "80 %"
		if x.Draws < 9 {
			sure = unit.Count(int64(x.Draws), "simulation")
		}
		say(w, "It gets a container when "+release+": expected in "+foreseen(v, x.Next, sure))
	}
	if len(x.Tried) == 0 && !v.Soon(x.Next.Median) {
		say(w, "No setting that was tried would start it now.")
	}
	for _, t := range x.Tried {
		now := "now"
		if !v.Soon(t.Next) {
			now = "in " + (t.Next - v.Now).String()
		}
		fmt.Fprintf(w, "Would start %s with: %s\n", now, term.Line(edit.Words(t.Changes)))
	}
}

// first are the first of the applications ahead.
func first(r *policy.Reason) []string { return r.Next[:min(r.Ahead, int64(len(r.Next)))] }

// names makes names fit for a sentence.
func names(list []string) (out []string) {
	for _, n := range list {
		out = append(out, term.Name(n))
	}
	return out
}

// sentence says what holds an application back, and until when.
func sentence(r *policy.Reason) (what, until string) {
	queue, user, node := term.Name(r.Queue), term.Name(r.User), term.Name(r.Node)
	held := fmt.Sprintf("%s of %s", amount(r.Held, r.Max), amount(r.Max, r.Max))
	next := ""
	if !r.Size.IsZero() {
		next = fmt.Sprintf(", and its next container has %s", amount(r.Size, r.Max))
	}
	switch r.Limit {
	case "maximum-capacity", "maxResources":
		return fmt.Sprintf("Queue %s is at its maximum (%s): it holds %s%s.", queue, r.Limit, held, next), "a container in " + queue + " ends"
	case "user-limit-factor", "minimum-user-limit-percent":
		return fmt.Sprintf("User %s is at the limit of a user in %s (%s): it holds %s%s.", user, queue, r.Limit, held, next),
			fmt.Sprintf("a container of %s in %s ends", user, queue)
	case "maximum-am-resource-percent", "maxAMShare":
		if user != "" {
			return fmt.Sprintf("The AMs of user %s are at a user's limit in %s (%s): they hold %s, and this one has %s.", user, queue, r.Limit, held, amount(r.Size, r.Max)),
				fmt.Sprintf("an application of %s in %s ends", user, queue)
		}
		return fmt.Sprintf("The AMs in %s are at their limit (%s): they hold %s, and this one has %s.", queue, r.Limit, held, amount(r.Size, r.Max)),
			"an application in " + queue + " ends"
	case "maximum-applications", "maxRunningApps":
		whose := cmp.Or(queue, "the cluster")
		if user != "" {
			whose = "user " + user + " in " + whose
		}
		return fmt.Sprintf("There are as many applications of %s as there may be (%s): %d of %d.", whose, r.Limit, r.Count, r.MaxCount), "one of them ends"
	case "node-locality-delay", "rack-locality-additional-delay", "locality.threshold.node", "locality.threshold.rack":
		return fmt.Sprintf("It waits for a node that holds its data (%s): it has skipped %d of at most %d opportunities on others.", r.Limit, r.Count, r.MaxCount),
			"such a node has room, or it has skipped enough others"
	case policy.NodeSize:
		return fmt.Sprintf("No node is large enough: its next container has %s, and the largest node %s.", amount(r.Size, r.Max), amount(r.Max, r.Max)), "a larger node joins"
	case policy.NodeRoom:
		return fmt.Sprintf("No node has room: its next container has %s, and at most %s are free on one.", amount(r.Size, r.Size), amount(r.Max, r.Size)), "a container ends"
	case policy.Reserved:
		if r.Ahead > 0 {
			return fmt.Sprintf("Node %s has %s free, but is reserved for another application.", node, amount(r.Held, r.Max)), "that one has got its container"
		}
		return fmt.Sprintf("Node %s is reserved for it: %s of the %s that it needs are free there.", node, amount(r.Held, r.Max), amount(r.Max, r.Max)),
			"enough containers end on " + node
	}
	if r.Max.IsZero() {
		return fmt.Sprintf("Others in %s come first.", queue), "those ahead have their containers"
	}
	return fmt.Sprintf("Queue %s comes first: it holds %s of its share.", queue, held), "those ahead have their containers"
}

// amount is a size, with vcores only where the limit has some.
func amount(r, limit unit.Resources) string {
	if limit.Cores == 0 {
		return fmt.Sprintf("%d MiB", r.Mem)
	}
	return r.String()
}

// contradicts names the limit that the ResourceManager's own words are about, if no reason is.
func contradicts(said string, why []policy.Reason) string {
	for i, phrase := range []string{"Queue's AM resource limit exceeded", "User's AM resource limit exceeded"} {
		about := func(r policy.Reason) bool {
			return r.Limit == "maximum-am-resource-percent" && (r.User != "") == (i == 1)
		}
		if strings.Contains(said, phrase) && !slices.ContainsFunc(why, about) {
			return phrase
		}
	}
	return ""
}

// limitsSaid finds the AM limits in the ResourceManager's words: of the queue, and of a user.
var limitsSaid = [2]*regexp.Regexp{
	regexp.MustCompile(`Queue Resource Limit for AM = <memory:(\d+)`),
	regexp.MustCompile(`User AM Resource Limit of the queue = <memory:(\d+)`),
}

// differs says so where the ResourceManager names another figure for a limit than the reasons do.
func differs(said string, why []policy.Reason) string {
	for _, r := range why {
		of := 0
		if r.User != "" {
			of = 1
		}
		m := limitsSaid[of].FindStringSubmatch(said)
		if r.Limit == "maximum-am-resource-percent" && m != nil && m[1] != strconv.FormatInt(r.Max.Mem, 10) {
			return fmt.Sprintf("Note: it names a limit of %s MiB, and %d MiB are computed above. Its text dates from its last attempt to start the application; the figure above is of now.", m[1], r.Max.Mem)
		}
	}
	return ""
}

// whyJSON is the answer for programs. An instant that no simulation reaches is null.
func whyJSON(v *live.View, x *live.Explanation, ended *rest.App) any {
	type reason struct {
		Text  string   `json:"text"`
		Until string   `json:"until"`
		Limit string   `json:"limit"`
		Queue string   `json:"queue,omitempty"`
		User  string   `json:"user,omitempty"`
		Node  string   `json:"node,omitempty"`
		Ahead int64    `json:"ahead"`
		First []string `json:"first,omitempty"`
	}
	type trial struct {
		Changes string     `json:"changes"`
		Next    *time.Time `json:"next"`
	}
	out := struct {
		ID      string     `json:"id"`
		State   string     `json:"state"`
		Now     *time.Time `json:"now"`
		Since   *time.Time `json:"since"`
		Reasons []reason   `json:"reasons"`
		*interval
		Draws       int      `json:"draws"`
		Settings    []trial  `json:"settings"`
		Diagnostics string   `json:"diagnostics,omitempty"`
		Notes       []string `json:"notes,omitempty"`
	}{
		x.App.ID, "waiting", moment(v, v.Now), moment(v, x.App.Submitted), []reason{}, intervalOf(v, x.Next), x.Draws, []trial{}, x.App.Diagnostics, noteTexts(v),
	}
	if since, runs := x.App.Started(); runs {
		out.State, out.Since = "running", moment(v, since)
	}
	if ended != nil {
		out.State, out.Since = ended.State, nil
	}
	for i := range x.Reasons {
		r := &x.Reasons[i]
		y := reason{Limit: r.Limit, Queue: r.Queue, User: r.User, Node: r.Node, Ahead: r.Ahead, First: first(r)}
		what, until := sentence(r)
		y.Text, y.Until = term.Line(what), term.Line(until)
		out.Reasons = append(out.Reasons, y)
	}
	for _, t := range x.Tried {
		out.Settings = append(out.Settings, trial{edit.Words(t.Changes), moment(v, t.Next)})
	}
	return out
}
