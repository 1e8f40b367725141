package attack

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/template"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/proc"
	"github.com/yardmaster/yardmaster/studies/lab/steerer"
)

// run runs the steps of an attack.
func (t *trial) run(x *Attack) {
	each := x.Each
	if each == nil {
		each = []string{""}
	}
	for _, value := range each {
		t.each = t.expand([]string{value})[0]
		for _, words := range x.Steps {
			words = t.expand(words)
			if do := files[words[0]]; do != nil {
				t.must(do(words[1:]))
			} else {
				steps[words[0]](t, words[1:])
			}
		}
	}
}

// forgery is a line that an attacker would like the operator to read as ours.
const forgery = "Would start now with: root.adhoc.maximum-capacity=100"

// expand executes the templates in the words of a step.
func (t *trial) expand(words []string) []string {
	funcs := template.FuncMap{
		"journal": t.journal, "dir": func() string { return t.dir }, "honest": func() string { return t.honest }, "each": func() string { return t.each },
		"forgery": func() string { return forgery }, "property": property, "repeat": func(n int, s string) string { return strings.Repeat(s, n) },
		"list": func(n int, form string) string { // of n like values, numbered
			values := make([]string, n)
			for i := range values {
				values[i] = fmt.Sprintf(form, i)
			}
			return strings.Join(values, ",")
		},
		"number": func() string { return `:\s*-?[0-9][0-9.E+-]*([,}])` }, // in JSON
		"home": func() string { // with the space that follows it
			if home := os.Getenv("HOME"); home != "" {
				return home + " "
			}
			return ""
		},
	}
	all := make([]string, len(words))
	for i, text := range words {
		var b strings.Builder
		t.must(template.Must(template.New("step").Delims("<<", ">>").Funcs(funcs).Parse(text)).Execute(&b, nil))
		all[i] = b.String()
	}
	return all
}

func property(name, value string) string {
	return "<property><name>yarn.scheduler.capacity." + name + "</name><value>" + value + "</value></property>\n"
}

// files are the steps that make a file what the attacker needs.
var files = map[string]func(args []string) error{
	"file":     func(args []string) error { return os.WriteFile(args[0], []byte(args[1]), 0o600) },
	"folder":   func(args []string) error { return errors.Join(os.Mkdir(args[0], 0o700), mode(args)) },
	"mode":     mode,
	"remove":   func(args []string) error { return os.RemoveAll(args[0]) },
	"pipe":     func(args []string) error { return syscall.Mkfifo(args[0], 0o600) },
	"link":     func(args []string) error { return os.Symlink(args[0], args[1]) },
	"hardlink": func(args []string) error { return os.Link(args[0], args[1]) },
	"move":     func(args []string) error { return os.Rename(args[0], args[1]) },
	"truncate": func(args []string) error {
		size, err := strconv.ParseInt(args[1], 10, 64)
		return errors.Join(err, os.Truncate(args[0], size))
	},
	"halve": func(args []string) error {
		info, err := os.Stat(args[0])
		if err != nil {
			return err
		}
		return os.Truncate(args[0], info.Size()/2)
	},
	"edit": func(args []string) error {
		b, err := os.ReadFile(args[0])
		if err != nil {
			return err
		}
		return os.WriteFile(args[0], []byte(strings.ReplaceAll(string(b), args[1], args[2])), 0o600)
	},
}

func mode(args []string) error {
	bits, err := strconv.ParseUint(args[1], 8, 32)
	return errors.Join(err, os.Chmod(args[0], os.FileMode(bits)))
}

// steps are all others.
var steps = map[string]func(t *trial, args []string){
	// Commands, and what the last one wrote.
	"ok":            func(t *trial, args []string) { t.wants(0, t.yarn(args...)) },
	"fails":         func(t *trial, args []string) { t.wants(1, t.yarn(args...)) },
	"fails-offline": func(t *trial, args []string) { t.wants(1, t.command(maxTime, append([]string{"yarn"}, args...)...)) },
	"runs":          func(t *trial, args []string) { t.yarn(args...) },
	"ask":           ask, "shown": shown, "every": every, "samples": samples,
	"says":     func(t *trial, args []string) { t.says(args[0]) },
	"unforged": func(t *trial, args []string) { t.forged(args[0]) },
	"shows": func(t *trial, args []string) {
		if t.last.code == 0 && !strings.Contains(t.last.text, args[0]) {
			t.harm("the change is not shown: %s", tail(t.last.text))
		}
	},
	"hides": func(t *trial, args []string) {
		for _, text := range args {
			if text != "" && strings.Contains(t.last.text, text) {
				t.harm("%.80q: it has read something else: %s", t.each, tail(t.last.text))
			}
		}
	},
	"unsent": func(t *trial, args []string) {
		for _, r := range t.proxy.Asked() {
			if slices.ContainsFunc(args, func(text string) bool { return strings.Contains(r.Body, text) }) {
				t.harm("it sent %s", r.Body)
			}
		}
	},

	// The configuration, and files about it.
	"set": func(t *trial, args []string) { t.set(args[0], args[1]) },
	"reset": func(t *trial, args []string) { // to the value before the last command, if that has succeeded
		if t.last.code == 0 {
			t.set(args[0], args[1])
		}
	},
	"setting": func(t *trial, args []string) {
		if got := t.setting(args[0]); got != args[1] {
			t.harm("%s is %s, want %s: %s", args[0], got, args[1], tail(t.last.text))
			t.set(args[0], strings.TrimPrefix(args[1], unset))
		}
	},
	"tuned": tuned, "untouched": untouched, "undo-with": undoWith, "tamper": tamper, "edited-record": editedRecord,

	// Applications.
	"submit": submit, "request": request, "failures": failures, "submissions": submissions, "web-ams": webAMs,

	// The live page.
	"page": page, "unscripted": unscripted, "requests": requests, "headers": headers, "slow-clients": slowClients,
	"raw": func(t *trial, args []string) {
		if head, _, err := send(t.url, args[0]); err == nil && strings.HasPrefix(head, "200") {
			t.harm("%.40q: %s", args[0], head)
		}
	},

	// Faults of the server.
	"answer": answer, "drip": drip, "endless": endless, "gzip": gzipBomb, "redirect": redirect, "rewrite": rewrite,
	"omit": omit, "shift": shift, "unmade": unmade, "path-ids": pathIDs,
	"honest": func(t *trial, _ []string) { t.proxy.Asked(); t.proxy.Inject(nil) },
}

// ask runs all commands that show applications; each must answer about the honest one.
func ask(t *trial, _ []string) {
	for _, args := range [][]string{{"eta", "--all"}, {"why", t.honest}} {
		t.wants(0, t.yarn(args...))
		t.says(t.honest)
	}
}

// shown runs the commands that show the attacker's last application and reports lines of the attacker's.
func shown(t *trial, _ []string) {
	if len(t.mine) == 0 {
		return // it could not be submitted
	}
	id := t.mine[len(t.mine)-1]
	for _, args := range [][]string{{"why", id}, {"eta", id}, {"eta", "--all"}} {
		t.yarn(args...)
		t.forged(forgery)
	}
}

// every runs each live command; none may do harm or succeed, except to observe.
func every(t *trial, _ []string) {
	for _, args := range [][]string{
		{"eta", "--all"}, {"why", t.honest}, {"change"}, {"levels", "--act"}, {"steer", "--queue", "root.batch", "--policy", "aging", "--listen", "off", "--for", "2s"},
	} {
		o := t.yarn(args...)
		if o.code == 0 && args[0] != "steer" {
			t.harm("%s succeeds: %s", args[0], tail(o.text))
		}
		if o.code == 2 {
			t.harm("%s takes it for a mistake of the operator's: %s", args[0], tail(o.text))
		}
	}
}

// samples runs a steerer of root.batch that only observes until it has made three decisions. A blind one is harm.
func samples(t *trial, args []string) {
	args = append(t.words([]string{"steer", "--queue", "root.batch", "--listen", "off", "--log-format", "json"}), args...)
	p, err := steerer.Start(t.bin, t.lab.Dir, nil, args...)
	if !t.must(err) {
		return
	}
	proc.Await(t.ctx, maxTime, 50*time.Millisecond, func() bool {
		rss, _, err := proc.Usage(p.Pid)
		t.rss = max(t.rss, rss)
		return p.Count("decided") >= 3 || p.Count("blind") > 0 || err != nil || rss > maxRSS
	})
	if p.Count("decided") < 3 || t.rss > maxRSS {
		t.harm("the steerer does not sample on, with %d MB: %s", t.rss>>20, p.Last())
	}
	p.Stop(maxTime)
	var b strings.Builder
	for _, l := range p.Lines() {
		fmt.Fprintln(&b, l.Text)
	}
	t.wrote("the steerer", outcome{text: b.String()})
}
