package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

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
