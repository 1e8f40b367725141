package layout

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/edit"
	"github.com/yardmaster/yardmaster/yarn/queues"
)

// EditFile prepares a queue in the content of a capacity-scheduler.xml.
func EditFile(name string, content *[]byte, o queues.Options) (*queues.Plan, error) {
	p, err := conf.ReadProperties(bytes.NewReader(*content), name)
	if err != nil {
		return nil, err
	}
	plan, err := queues.Derive(p, o)
	if err != nil {
		return nil, err
	}
	if *content, err = edit.Properties(*content, plan.Values()); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return plan, nil
}

// Commands is what the next commands depend on.
type Commands struct {
	State         queues.State
	File, Out, RM string // as given; "": not
	Journal       string
	Width         int // of the console
}

// Print prints a plan, and what to run next.
func Print(w io.Writer, plan *queues.Plan, c Commands, draw func(term.Table) string) {
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
		"they stay: they may use as much as before, but are guaranteed only the capacity shown.", plan.Queue), c.Width))
	for _, n := range plan.Notes {
		fmt.Fprintf(w, "Note: %s.\n", term.Line(n))
	}
	names, set := strings.Join(plan.Queues(), ","), ""
	if n := len(plan.Levels); n > 2 && plan.Policy != "comp" && plan.Policy != "deadline" {
		set = "limits=" + strings.Join(slices.Repeat([]string{"SECONDS"}, n-1), ",")
	}
	fmt.Fprintf(w, "\nNext:\n")
	next := func(command, setFlag string, words ...string) {
		if set != "" {
			words = append(words, setFlag, set)
		}
		fmt.Fprint(w, term.Command("yardmaster "+command+" "+strings.Join(words, " "), "  ", c.Width))
	}
	if c.Out != "" {
		next("simulate", "--steer-set", "--workload", "JOBS", "--cluster", "NODES", "--scheduler", c.Out, "--steer", plan.Policy, "--steer-queue", names)
	}
	rm := cmp.Or(c.RM, "URL")
	switch {
	case c.State == queues.Prepared:
		next("yarn steer", "--set", "--rm", rm, "--policy", plan.Policy, "--queue", names)
		set = ""
		words := []string{"--rm", rm, "--queue", plan.Queue, "--undo"}
		if c.Journal != "" {
			words = append(words, "--journal", c.Journal)
		}
		next("yarn prepare", "", words...)
	case c.File == "":
		fmt.Fprintln(w, "  The same command with --act makes this change.")
	default:
		fmt.Fprint(w, term.Wrap("Install "+cmp.Or(c.Out, "the file that --out writes")+" and refresh the queues (yarn rmadmin -refreshQueues); keep the old file to go back.", "  ", c.Width))
		next("yarn steer", "--set", "--rm", rm, "--policy", plan.Policy, "--queue", names)
	}
}
