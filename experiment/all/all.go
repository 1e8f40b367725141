// Package all lists the studies that yardmaster reproduces.
package all

import (
	"github.com/yardmaster/yardmaster/experiment"
	"github.com/yardmaster/yardmaster/experiment/capacity"
	"github.com/yardmaster/yardmaster/experiment/deadline"
	"github.com/yardmaster/yardmaster/experiment/defaults"
	"github.com/yardmaster/yardmaster/experiment/hybrid"
	"github.com/yardmaster/yardmaster/experiment/jobpacker"
	"github.com/yardmaster/yardmaster/experiment/marp"
	"github.com/yardmaster/yardmaster/experiment/nas"
	"github.com/yardmaster/yardmaster/experiment/slowdown"
)

// Studies are all studies, in the order in which they are listed.
func Studies() []*experiment.Study {
	return []*experiment.Study{capacity.Study(), marp.Study(), slowdown.Study(), deadline.Study(), nas.Study(), jobpacker.Study(), hybrid.Study(), defaults.Study()}
}
