package live

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/whatif/reason"
	"github.com/yardmaster/yardmaster/yarn/edit"
)

// why answers why an application waits, and what would start it.
type why struct {
	*View
	*Explanation
	ended bool
	state string // of one that has ended
}

// refused says whether a queue had no place for the application.
func (y *why) refused() bool {
	return y.ended && strings.Contains(y.App.Diagnostics, "cannot accept submission")
}

// Text implements Answer.
func (y *why) Text(w io.Writer, columns int) {
	p, a := &page{w, columns}, y.App
	_, started := a.Started()
	wants := a.Capped
	for _, ask := range a.Asks {
		wants += ask.Count
	}
	switch {
	case y.refused():
		p.say(a.title() + " was refused.")
	case y.ended:
		p.say(fmt.Sprintf("%s does not wait: it is %s.", a.title(), cmp.Or(term.Name(y.state), "gone")))
	case started:
		p.say(y.running(a))
	default:
		p.say(fmt.Sprintf("%s waits since %s (%v).", a.title(), y.clock(a.Submitted), y.Now-a.Submitted))
	}
	if (!y.ended || y.refused()) && (!started || wants > 0) {
		if started {
			p.say(fmt.Sprintf("It waits for %s more.", unit.Count(wants, "container")))
		}
		y.explain(p)
	}
	if d := strings.Join(strings.Fields(a.Diagnostics), " "); d != "" {
		cut := d
		if r := []rune(d); len(r) > maxDiagnostics {
			cut = string(r[:maxDiagnostics]) + "..."
		}
		p.quote("The ResourceManager says:", cut)
		if other := contradicts(d, y.Reasons); other != "" {
			p.say("Note: that is another limit (" + other + "): the state may have changed while it was read.")
		} else if note := differs(cut, y.Reasons); note != "" {
			p.say(note)
		}
	}
	p.notes(y.View)
}

// maxDiagnostics is how many characters of the ResourceManager's own words are shown.
const maxDiagnostics = 300

// quote prints the words of others after a lead. On a terminal they are indented, so that no line of them looks like one of ours.
func (p *page) quote(lead, words string) {
	if words = strconv.Quote(words); p.columns > 0 {
		fmt.Fprint(p, lead+"\n"+term.Wrap(words, "  ", p.columns))
		return
	}
	fmt.Fprintln(p, lead+" "+words)
}

// explain writes the reasons, who is ahead, what ends the wait and when, and which settings would.
func (y *why) explain(p *page) {
	release := reason.Say(p.say, y.Reasons)
	if y.Next.Median == unit.Never {
		p.say(fmt.Sprintf("It gets a container when %s. The simulation does not foresee when.", release))
	} else {
		confidence := "80 %"
		if y.Draws < whyDraws {
			confidence = unit.Count(int64(y.Draws), "simulation")
		}
		p.say("It gets a container when " + release + ": expected in " + y.expected(y.Next, confidence))
	}
	if len(y.Tried) == 0 && !y.Soon(y.Next.Median) {
		p.say("No setting that was tried would start it now.")
	}
	for _, t := range y.Tried {
		now := "now"
		if !y.Soon(t.Next) {
			now = "in " + (t.Next - y.Now).String()
		}
		fmt.Fprintf(p, "Would start %s with: %s\n", now, term.Line(edit.Words(t.Changes)))
	}
}

// contradicts names the limit that the ResourceManager's own words are about, if no reason is.
func contradicts(said string, reasons []policy.Reason) string {
	for i, phrase := range []string{"Queue's AM resource limit exceeded", "User's AM resource limit exceeded"} {
		about := func(r policy.Reason) bool {
			return r.Limit == "maximum-am-resource-percent" && (r.User != "") == (i == 1)
		}
		if strings.Contains(said, phrase) && !slices.ContainsFunc(reasons, about) {
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
func differs(said string, reasons []policy.Reason) string {
	for _, r := range reasons {
		limit := limitsSaid[0]
		if r.User != "" {
			limit = limitsSaid[1]
		}
		m := limit.FindStringSubmatch(said)
		if r.Limit == "maximum-am-resource-percent" && m != nil && m[1] != strconv.FormatInt(r.Max.Mem, 10) {
			return fmt.Sprintf("Note: it names a limit of %s MiB, and %d MiB are computed above. Its text dates from its last attempt to start the application; the figure above is of now.", m[1], r.Max.Mem)
		}
	}
	return ""
}

// JSON implements Answer. An instant that no simulation reaches is null.
func (y *why) JSON() any {
	type because struct {
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
		Reasons []because  `json:"reasons"`
		*jsonInterval
		Draws       int      `json:"draws"`
		Settings    []trial  `json:"settings"`
		Diagnostics string   `json:"diagnostics,omitempty"`
		Notes       []string `json:"notes,omitempty"`
	}{
		y.App.ID, "waiting", y.utc(y.Now), y.utc(y.App.Submitted), []because{}, y.jsonInterval(y.Next), y.Draws, []trial{}, y.App.Diagnostics, y.noteLines(),
	}
	if since, runs := y.App.Started(); runs {
		out.State, out.Since = "running", y.utc(since)
	}
	if y.ended {
		out.State, out.Since = y.state, nil
	}
	for i := range y.Reasons {
		r := &y.Reasons[i]
		text, until := reason.Sentence(r)
		out.Reasons = append(out.Reasons, because{
			Text: term.Line(text), Until: term.Line(until), Limit: r.Limit, Queue: r.Queue, User: r.User, Node: r.Node, Ahead: r.Ahead, First: reason.First(r),
		})
	}
	for _, t := range y.Tried {
		out.Settings = append(out.Settings, trial{edit.Words(t.Changes), y.utc(t.Next)})
	}
	return out
}
