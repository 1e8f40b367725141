// Command turner is yardmaster with the policy turn, for fault injection.
package main

import (
	"github.com/yardmaster/yardmaster/cli"
	"github.com/yardmaster/yardmaster/studies/endure/turn"
)

func main() { cli.Main(cli.WithSteering(turn.Entry)) }
