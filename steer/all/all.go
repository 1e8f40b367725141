// Package all lists every steering policy: adding a family is one line here.
package all

import (
	"slices"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/aging"
	"github.com/yardmaster/yardmaster/steer/marp"
)

// Policies are the steering policies that can be named.
var Policies = slices.Concat(
	steer.Registry(marp.Entries()),
	steer.Registry{aging.Entry},
)
