// Package all registers every dispatch policy: adding one is one line here. It also loads a scheduler as a user names it,
// by name and parameters or by the file of a Hadoop scheduler.
package all

import (
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/capacity"
	"github.com/yardmaster/yardmaster/policy/capacity1"
	"github.com/yardmaster/yardmaster/policy/deadline"
	"github.com/yardmaster/yardmaster/policy/delay"
	"github.com/yardmaster/yardmaster/policy/fair"
	"github.com/yardmaster/yardmaster/policy/feedback"
	"github.com/yardmaster/yardmaster/policy/fifo"
	"github.com/yardmaster/yardmaster/policy/hybrid"
	"github.com/yardmaster/yardmaster/policy/nas"
	"github.com/yardmaster/yardmaster/policy/shufflewatcher"
	"github.com/yardmaster/yardmaster/policy/sizeinterval"
)

// Policies are those of this repository.
var Policies = policy.Registry{
	fifo.Entry,
	fair.Entry,
	capacity.Entry,
	capacity1.Entry,
	delay.Entry,
	shufflewatcher.Entry,
	nas.Entry,
	deadline.Entry,
	feedback.FBQ,
	feedback.TAGS,
	sizeinterval.SITA,
	sizeinterval.COMP,
	hybrid.Entry,
}
