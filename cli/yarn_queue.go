package cli

import (
	"context"
	"strings"
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
	return append(k.login.args(), flagArgs("queue", strings.Join(k.queues, ","), "actuator", k.actuator, "file", absolute(k.file),
		"refresh-command", found(k.refresh), "zookeeper", strings.Join(k.zk, ","))...)
}

// open connects to the ResourceManager and identifies it. The options are those without flags; without queues, the flags' are used.
func (k *knobFlags) open(ctx context.Context, o yard.Options) (*yard.Yard, *rest.Client, *rest.Counted, error) {
	auth, err := k.auth()
	if err != nil {
		return nil, nil, nil, err
	}
	count := &rest.Counted{Auth: auth}
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
