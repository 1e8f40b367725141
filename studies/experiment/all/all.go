// Package all lists the studies that yardmaster reproduces.
package all

import (
	"github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/studies/experiment/capacity"
	"github.com/yardmaster/yardmaster/studies/experiment/deadline"
	"github.com/yardmaster/yardmaster/studies/experiment/defaults"
	"github.com/yardmaster/yardmaster/studies/experiment/hybrid"
	"github.com/yardmaster/yardmaster/studies/experiment/jobpacker"
	"github.com/yardmaster/yardmaster/studies/experiment/marp"
	"github.com/yardmaster/yardmaster/studies/experiment/nas"
	"github.com/yardmaster/yardmaster/studies/experiment/slowdown"
)

// Studies are all studies, in the order in which they are listed.
func Studies() []*experiment.Study {
	return []*experiment.Study{capacity.Study(), marp.Study(), slowdown.Study(), deadline.Study(), nas.Study(), jobpacker.Study(), hybrid.Study(), defaults.Study()}
}
