// Package all makes YARN's own schedulers from their files.
package all

import (
	"bytes"

	"github.com/yardmaster/yardmaster/policy/rm"
	"github.com/yardmaster/yardmaster/policy/rm/capacity"
	"github.com/yardmaster/yardmaster/policy/rm/fair"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Read parses a fair-scheduler.xml or a capacity-scheduler.xml; name is the file's, for errors. Each call of fresh makes a new scheduler for one run.
func Read(name string, text []byte, site conf.Site) (fresh func() (rm.Scheduler, error), err error) {
	if conf.Detect(text) == conf.FairFile {
		c, err := conf.ReadFair(bytes.NewReader(text), name)
		return func() (rm.Scheduler, error) { return fair.New(c, site) }, err
	}
	c, err := conf.ReadCapacity(bytes.NewReader(text), name)
	return func() (rm.Scheduler, error) { return capacity.New(c, site) }, err
}
