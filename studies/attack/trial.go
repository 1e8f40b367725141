package attack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/yardmaster/yardmaster/studies/endure"
	"github.com/yardmaster/yardmaster/studies/lab/proc"
	"github.com/yardmaster/yardmaster/studies/lab/steerer"
)

// trial is one attack in progress.
type trial struct {
	*arena
	ctx   context.Context
	dir   string // its own
	harms []string
	seen  string
	last  outcome // of the last command
	url   string  // of the live page, while there is one
	each  string  // the value for which the steps run
	rss   int64
	mine  []string // applications of the attacker
	undo  []func()
	// replies answer requests in the ResourceManager's place, by path.
	replies map[string]http.HandlerFunc
	err     error // the attack itself failed
}

// Limits of a command. The processor time does not depend on what else the machine does; only a hang reaches the wall clock's.
const (
	maxTime = 5 * time.Minute
	maxCPU  = 20 * time.Second
	maxRSS  = 512 << 20
)

// try runs one attack and compares the ResourceManager before and after.
func (a *arena) try(ctx context.Context, x *Attack) (Result, error) {
	a.n++
	t := &trial{arena: a, ctx: ctx, dir: filepath.Join(a.work, fmt.Sprintf("trial-%02d", a.n)), replies: map[string]http.HandlerFunc{}}
	if err := errors.Join(os.RemoveAll(t.dir), os.Mkdir(t.dir, 0o700)); err != nil { // of an earlier run
		return Result{}, err
	}
	before, err := a.state(ctx)
	if err != nil {
		return Result{}, err
	}
	began := time.Now()
	t.run(x)
	took := time.Since(began)
	a.proxy.Inject(nil)
	for _, f := range slices.Backward(t.undo) {
		f()
	}
	after, err := a.state(ctx)
	if err != nil || ctx.Err() != nil {
		return Result{}, errors.Join(err, ctx.Err())
	}
	if t.err != nil {
		t.harm("the attack could not be made: %v", t.err)
	}
	if after.settings != before.settings {
		t.harm("the configuration is not as it was:\n%s", difference(before.settings, after.settings))
		if now := t.repair(); now != before.settings {
			return Result{}, fmt.Errorf("the configuration stays changed, so that the rest of the list cannot run: %s", strings.Join(t.harms, "; "))
		}
	}
	for id, was := range before.apps {
		if now := after.apps[id]; now != was && !slices.Contains(t.mine, id) {
			t.harm("%s of another user is in %q, was in %q", id, now, was)
		}
	}
	if err := t.killMine(); err != nil {
		return Result{}, err
	}
	return Result{Name: x.Name, Harms: t.harms, Seen: t.seen, Took: took.Round(time.Millisecond), RSS: t.rss}, nil
}

// repair restores what an attack has left changed, as far as our own commands can.
func (t *trial) repair() string {
	common := []string{"--journal", t.journal(), "--rm", t.proxy.URL, "--user", operator}
	for _, args := range [][]string{{"yarn", "restore", "--force"}, {"yarn", "prepare", "--queue", "root.batch", "--undo"}} {
		_, _ = steerer.Run(t.ctx, t.bin, t.lab.Dir, append(args, common...)...) // only one of them has something to do
	}
	now, _ := endure.Settings(t.ctx, t.admin) // "" is not the old one either
	return now
}

// killMine ends the attacker's applications.
func (t *trial) killMine() error {
	for _, id := range t.mine {
		if _, err := t.admin.KillApp(t.ctx, id); err != nil && t.ctx.Err() != nil {
			return err
		}
	}
	if !proc.Await(t.ctx, maxTime, 50*time.Millisecond, func() bool {
		s, err := t.state(t.ctx)
		return err == nil && !slices.ContainsFunc(t.mine, func(id string) bool { return s.apps[id] != "" })
	}) {
		return errors.New("the attacker's applications do not end")
	}
	return nil
}

// difference are the lines of only one of two texts.
func difference(before, after string) string {
	var out []string
	for i, mark := range []string{"- ", "+ "} {
		texts := [][]string{strings.Split(before, "\n"), strings.Split(after, "\n")}
		for _, line := range texts[i] {
			if !slices.Contains(texts[1-i], line) {
				out = append(out, mark+line)
			}
		}
	}
	return strings.Join(out, "\n")
}

func (t *trial) harm(format string, args ...any) {
	t.harms = append(t.harms, fmt.Sprintf(format, args...))
}

// must stops an attack that cannot be made.
func (t *trial) must(err error) bool {
	t.err = errors.Join(t.err, err)
	return t.err == nil
}

func (t *trial) journal() string { return filepath.Join(t.dir, "journal") }

// outcome is what a command did.
type outcome struct {
	code int // -1: it was killed
	text string
}

// yarn runs a live command, or one of the list's own, through the proxy, which injects a fault or none.
func (t *trial) yarn(args ...string) outcome { return t.command(maxTime, t.words(args)...) }

// words is the command line of a live command.
func (t *trial) words(args []string) []string {
	if common := list.Commands[args[0]]; common != nil {
		args = append(t.expand(common), args[1:]...)
	}
	return append([]string{"yarn", args[0], "--rm", t.proxy.URL, "--user", operator}, args[1:]...)
}

// command runs the program. To take longer or more memory is harm, and so is a crash or a control character on the terminal.
func (t *trial) command(limit time.Duration, args ...string) outcome {
	var out bytes.Buffer
	ctx, stop := context.WithTimeout(t.ctx, limit)
	defer stop()
	cmd := exec.CommandContext(ctx, t.bin, args...)
	cmd.Env = append(os.Environ(), proc.Variable+"="+t.lab.Dir, "XDG_STATE_HOME="+filepath.Join(t.dir, "state"))
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Dir = t.dir
	if !t.must(cmd.Start()) {
		return outcome{}
	}
	watched := make(chan struct{})
	over := false
	go func() { // RLIMIT_AS does not fit a Go program, which reserves more than it uses, and the kernel's own max includes ours before exec
		defer close(watched)
		for ; ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
			rss, cpu, err := proc.Usage(cmd.Process.Pid)
			if err != nil {
				return
			}
			t.rss = max(t.rss, rss)
			if over = rss > maxRSS || cpu > maxCPU; over {
				stop()
			}
		}
	}()
	err := cmd.Wait()
	o := outcome{code: cmd.ProcessState.ExitCode(), text: out.String()}
	late, cpu := ctx.Err() != nil, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	stop()
	<-watched
	name := strings.Join(args[:min(2, len(args))], " ")
	switch {
	case t.ctx.Err() != nil:
		t.must(t.ctx.Err())
	case over || cpu > maxCPU:
		t.harm("%s took %d MB and %.0f s of processor time", name, t.rss>>20, cpu.Seconds())
	case late:
		t.harm("%s did not end within %v:\n%s", name, limit, tail(o.text))
	case o.code < 0 || strings.Contains(o.text, "\ngoroutine ") || strings.Contains(o.text, "panic:"):
		t.harm("%s crashed: %v\n%s", name, err, tail(o.text))
	}
	t.wrote(name, o)
	fmt.Fprintf(t.log, "$ yardmaster %s\n%.6000s(exit %d)\n", strings.Join(args, " "), o.text, o.code)
	return o
}

// wrote notes what a command wrote. A control character is harm.
func (t *trial) wrote(name string, o outcome) {
	if i := strings.IndexFunc(o.text, harmful); i >= 0 {
		t.harm("%s wrote a control character to the terminal: %q", name, o.text[max(0, i-20):min(len(o.text), i+20)])
	}
	t.last, t.seen = o, lastLine(o.text)
}

// harmful says whether a terminal does more with a character than print it.
func harmful(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	r := []rune(lines[len(lines)-1])
	return string(r[:min(len(r), 160)])
}

func tail(s string) string { return s[max(0, len(s)-600):] }

// wants reports harm unless the command ended with a code.
func (t *trial) wants(code int, o outcome) {
	if t.err == nil && o.code >= 0 && o.code != code { // else it is reported already
		t.harm("exit code %d, want %d: %s", o.code, code, tail(o.text))
	}
}

// says reports harm unless the last command wrote all parts.
func (t *trial) says(parts ...string) {
	if t.err != nil || t.last.code < 0 { // reported already
		return
	}
	for _, p := range parts {
		if !strings.Contains(flat(t.last.text), flat(p)) {
			t.harm("it does not say %q:\n%s", p, tail(t.last.text))
		}
	}
}

// flat is a text without its line breaks: sentences are wrapped.
func flat(s string) string { return strings.Join(strings.Fields(s), " ") }

// forged reports harm if a line of the last command begins with a text of the attacker's.
func (t *trial) forged(text string) {
	for line := range strings.Lines(t.last.text) {
		if strings.HasPrefix(strings.TrimSpace(line), text) {
			t.harm("a line of the output is the attacker's: %q", line)
		}
	}
}
