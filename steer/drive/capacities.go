package drive

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/steer"
)

// Capacities makes the value of a steer.Capacities knob: NAME=PERCENT for each queue, keyed by the last component of its name and spelled as in the
// configuration. Its number is the maximum.
func Capacities(texts map[string]string) (Value, error) {
	v, parts := Value{Set: true}, make([]string, 0, len(texts))
	for name, text := range texts {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !(x >= 0 && x <= 100) {
			return Value{}, fmt.Errorf("the capacity of %s is %q, not a percentage: it cannot be changed together with others", name, text)
		}
		parts = append(parts, name+"="+text)
		v.Number = max(v.Number, x)
	}
	slices.Sort(parts)
	v.Text = strings.Join(parts, ",")
	return v, nil
}

// Shares parses a value made by Capacities.
func (v Value) Shares() (list []steer.Share, texts []string, err error) {
	for part := range strings.SplitSeq(v.Text, ",") {
		i := strings.LastIndexByte(part, '=')
		x, err := strconv.ParseFloat(part[i+1:], 64)
		if i <= 0 || err != nil || !(x >= 0 && x <= 100) {
			return nil, nil, fmt.Errorf("%.60q is not the capacity of a queue", part)
		}
		list, texts = append(list, steer.Share{Queue: part[:i], Value: x}), append(texts, part[i+1:])
	}
	return list, texts, nil
}

// withShares changes some of the shares in a value of steer.Capacities. The sum must not change: a scheduler rejects siblings that add up to
// anything else.
func (v Value) withShares(parent string, change []steer.Share) (Value, error) {
	list, texts, err := v.Shares()
	if err != nil {
		return v, err
	}
	sum, set := 0.0, map[string]string{}
	for i, s := range list {
		sum -= s.Value
		set[s.Queue] = texts[i]
	}
	for _, c := range change {
		name := c.Queue[strings.LastIndexByte(c.Queue, '.')+1:]
		i := slices.IndexFunc(list, func(s steer.Share) bool { return s.Queue == name })
		switch {
		case i < 0 || !steer.SamePath(parent+"."+name, c.Queue):
			return v, fmt.Errorf("%s is not a queue of %s", c.Queue, parent)
		case !(c.Value >= 0 && c.Value <= 100):
			return v, fmt.Errorf("a capacity of %v for %s is not a percentage", c.Value, c.Queue)
		}
		list[i].Value = c.Value
		set[name] = strconv.FormatFloat(c.Value, 'f', -1, 64)
	}
	for _, s := range list {
		sum += s.Value
	}
	if math.Abs(sum) > 1e-6 {
		return v, fmt.Errorf("the capacities of the queues of %s would add up to %g more than before: they must stay the same in sum", parent, sum)
	}
	return Capacities(set)
}

// sameShares reports whether two values of steer.Capacities are equal.
func sameShares(a, b Value) bool {
	x, _, err1 := a.Shares()
	y, _, err2 := b.Shares()
	return cmp.Or(err1, err2) == nil && slices.EqualFunc(x, y, func(s, t steer.Share) bool { return s.Queue == t.Queue && near(s.Value, t.Value) })
}
