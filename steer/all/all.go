// Package all lists every steering policy: adding a family is one line here.
package all

import (
	"slices"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/aging"
	"github.com/yardmaster/yardmaster/steer/deadline"
	"github.com/yardmaster/yardmaster/steer/marp"
)

// Policies is the registry of steering policies.
var Policies = slices.Concat(
	steer.Registry(marp.Entries()),
	steer.Registry{aging.Entry},
	steer.Registry{deadline.Entry},
)
