// Command own-policies is yardmaster with a policy, a steering policy and a trace format of its own.
package main

import (
	"example.com/own-policies/batchlog"
	"example.com/own-policies/favour"
	"example.com/own-policies/lightest"

	"github.com/yardmaster/yardmaster/cli"
)

func main() {
	cli.Main(cli.WithPolicy(lightest.Entry), cli.WithSteering(favour.Entry), cli.WithTrace(batchlog.Format))
}
