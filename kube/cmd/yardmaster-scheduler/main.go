// Command yardmaster-scheduler is kube-scheduler whose pods of the scheduler yardmaster go by a policy.
package main

import (
	"os"

	"k8s.io/component-base/cli"

	"github.com/yardmaster/yardmaster/kube/sched"
)

func main() { os.Exit(cli.Run(sched.Command())) }
