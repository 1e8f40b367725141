package edit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Difference is what a new capacity-scheduler.xml changes, marks of a steerer aside; name is the new one's. It must have the same queues. Properties of the new one
// that are no settings of the scheduler are ignored.
func Difference(name string, now, then []byte) (changes []Change, ignored []string, err error) {
	if conf.Detect(then) != conf.CapacityFile || conf.Detect(now) != conf.CapacityFile {
		return nil, nil, fmt.Errorf("%s: a whole file can be compared only with a CapacityScheduler's configuration: give the changes as root.adhoc.weight=2", name)
	}
	if _, err := conf.ReadCapacity(bytes.NewReader(then), name); err != nil {
		return nil, nil, err
	}
	var p [2]*conf.Properties
	for i, file := range [][]byte{now, then} {
		if p[i], err = conf.ReadProperties(bytes.NewReader(file), name); err != nil {
			return nil, nil, err
		}
	}
	seen := map[string]bool{}
	for _, x := range slices.Concat(p[1].List, p[0].List) {
		word, ours := strings.CutPrefix(x.Name, conf.Prefix)
		c, err := Parse(word + "=?")
		if !ours || err != nil || strings.Contains(word, ".yardmaster.journal") || seen[word] {
			if (!ours || err != nil) && p[1].Get(x.Name) != nil && !slices.Contains(ignored, x.Name) {
				ignored = append(ignored, x.Name)
			}
			continue
		}
		seen[word] = true
		var values [2]string
		for i := range p {
			if v := p[i].Get(x.Name); v != nil {
				values[i] = v.Value
			}
		}
		switch {
		case values[0] == values[1]:
		case c.Property == "queues":
			return nil, nil, fmt.Errorf("%s has other queues below %s than the ResourceManager: apply changes settings of queues, and makes or removes none", name, c.Queue)
		default:
			changes = append(changes, Change{c.Queue, c.Property, values[1]})
		}
	}
	return changes, ignored, nil
}
