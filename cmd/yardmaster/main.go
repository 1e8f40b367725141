// Command yardmaster rehearses a scheduling change of a shared data cluster on the cluster's own history.
package main

import "github.com/yardmaster/yardmaster/cli"

func main() { cli.Main() }
