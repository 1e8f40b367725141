package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/internal/securefile"
	"github.com/yardmaster/yardmaster/yarn/rest"
	"github.com/yardmaster/yardmaster/yarn/yard"
)

// knobFlags say which queues of which cluster are changed, and how.
type knobFlags struct {
	login
	queues   []string
	actuator string
	file     string
	refresh  string
	journal  string
	zk       []string
}

func (k *knobFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.SortFlags = false
	k.addRM(cmd)
	fs.StringSliceVar(&k.queues, "queue", nil, "full `NAME` of the queue, root.default; several separated by commas; all: all queues")
	fs.StringVar(&k.actuator, "actuator", yard.Auto, "`HOW` to change the setting: "+strings.Join(yard.Actuators(), ", "))
	fs.StringVar(&k.file, "file", "", "the ResourceManager's fair-scheduler.xml or capacity-scheduler.xml, as `FILE` of this machine")
	fs.StringVar(&k.refresh, "refresh-command", "", "`COMMAND` after a change of capacity-scheduler.xml: yarn rmadmin -refreshQueues")
	fs.StringSliceVar(&k.zk, "zookeeper", nil, "`HOST:PORT` of ZooKeeper, to exclude steerers on other machines; several separated by commas")
	fs.StringVar(&k.journal, "journal", "", "folder `DIR` of what was changed; else yardmaster/steer/CLUSTER_QUEUE in $XDG_STATE_HOME or ~/.local/state")
	k.addTimeout(cmd, startWithin, stepHelp)
	setGroup(fs, inCluster, "rm", "queue", "actuator", "file", "refresh-command", "journal", "zookeeper", "timeout")
	complete(cmd, "actuator", yard.Actuators, cobra.ShellCompDirectiveNoFileComp)
}

// args are the flags with which another process restores what this one changes.
func (k *knobFlags) args() []string {
	a := k.login.args()
	for _, f := range []struct{ name, value string }{
		{"queue", strings.Join(k.queues, ",")}, {"actuator", k.actuator}, {"file", absolute(k.file)}, {"refresh-command", found(k.refresh)}, {"zookeeper", strings.Join(k.zk, ",")},
	} {
		if f.value != "" {
			a = append(a, "--"+f.name+"="+f.value)
		}
	}
	return a
}

// absolute makes a path absolute, so that it works from any folder.
func absolute(path string) string {
	if path == "" {
		return ""
	}
	if a, err := filepath.Abs(path); err == nil {
		return a
	}
	return path
}

// found makes a command work from any folder and with any PATH. A path with blanks, which this command line cannot hold, stays as it is.
func found(command string) string {
	words := strings.Fields(command)
	if len(words) == 0 {
		return ""
	}
	path, err := exec.LookPath(words[0])
	if path = absolute(path); err != nil || len(strings.Fields(path)) != 1 {
		return command
	}
	words[0] = path
	return strings.Join(words, " ")
}

// counted is an Auth that counts requests, including those of the login.
type counted struct {
	auth rest.Auth // may be nil
	sent atomic.Int64
}

// Wrap implements rest.Auth.
func (c *counted) Wrap(next http.RoundTripper) http.RoundTripper {
	inner := tripper(func(r *http.Request) (*http.Response, error) {
		c.sent.Add(1)
		return next.RoundTrip(r)
	})
	if c.auth == nil {
		return inner
	}
	return c.auth.Wrap(inner)
}

type tripper func(*http.Request) (*http.Response, error)

func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// open connects to the ResourceManager and identifies it. The options are those without flags; without queues, the flags' are used.
func (k *knobFlags) open(ctx context.Context, o yard.Options) (*yard.Yard, *rest.Client, *counted, error) {
	auth, err := k.auth()
	if err != nil {
		return nil, nil, nil, err
	}
	count := &counted{auth: auth}
	// A silent server must not block a sample, and the driver retries by itself.
	c, err := k.clientAs(count, rest.Options{Timeout: 10 * time.Second, Retries: 2, RMRate: -1})
	if err != nil {
		return nil, nil, nil, err
	}
	o.Client, o.Actuator, o.File, o.Refresh = c, k.actuator, k.file, strings.Fields(k.refresh)
	if o.Queues == nil {
		o.Queues = k.queues
	}
	var y *yard.Yard
	err = k.inTime(ctx, func(in context.Context) error {
		var err error
		y, err = yard.New(in, o)
		return err
	})
	if err != nil {
		c.CloseIdle()
		return nil, nil, nil, err
	}
	return y, c, count, nil
}

// startWithin is the default timeout for each step of the start that queries the ResourceManager: what it is, whether it can be
// changed, what it shows.
const startWithin = time.Minute

// stepHelp describes --timeout of commands with several such steps.
const stepHelp = "max `TIME` for a step that asks the ResourceManager"

// inTime runs a step that asks the ResourceManager.
func (l *login) inTime(ctx context.Context, step func(context.Context) error) error {
	limit := cmp.Or(l.timeout, startWithin)
	in, stop := context.WithTimeout(ctx, limit)
	defer stop()
	err := step(in)
	if err != nil && in.Err() != nil && ctx.Err() == nil {
		return tooSlow(limit, err)
	}
	return err
}

func tooSlow(limit time.Duration, err error) error {
	return fmt.Errorf("the ResourceManager has not given a complete response within %v: is it overloaded, or is a gateway in between? --timeout gives it more time (%w)", limit, err)
}

func stateDir() (string, error) {
	base := os.Getenv("XDG_STATE_HOME")
	if base == "" || !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil || home == "" {
			return "", errors.New("there is no home folder to keep the journal in: name one with --journal DIR")
		}
		base = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(base, "yardmaster", "steer"), nil
}

// journalDir is the folder of the journal for a scheduler.
func (k *knobFlags) journalDir(identity string) (string, error) {
	if k.journal != "" {
		return filepath.Abs(k.journal)
	}
	base, err := stateDir()
	return filepath.Join(base, fileSafe(identity)), err
}

// fileSafe makes a name valid on any file system; different names stay different. A long one ends in a hash.
func fileSafe(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.' && b.Len() > 0, c == '-':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	if b.Len() > longestName {
		return fmt.Sprintf("%s-%x", b.String()[:longestName/2], sha256.Sum256([]byte(name)))
	}
	return b.String()
}

const longestName = 200

// howFile holds, beside the journal, the flags for restoring from it.
const howFile = "restore.json"

type how struct {
	Args []string `json:"args"`
}

func noteHow(dir string, args []string) error {
	text, err := json.Marshal(how{args})
	if err == nil {
		err = securefile.WriteFile(filepath.Join(dir, howFile), append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("cannot write into the journal's folder %s: %w", dir, reason(err))
	}
	return nil
}

// readHow reads howFile; nothing if it does not exist. It may name a command, so nobody else may have written it.
func readHow(dir string) ([]string, error) {
	path := filepath.Join(dir, howFile)
	err := securefile.CheckDir(dir)
	var text []byte
	if err == nil {
		text, err = securefile.ReadFile(path, 1<<20)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var h how
	if err == nil {
		err = json.Unmarshal(text, &h)
	}
	if err != nil {
		return nil, fmt.Errorf("how to restore is not known from %s: %w", path, err)
	}
	return h.Args, nil
}
