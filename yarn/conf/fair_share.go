package conf

import (
	"math"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/unit"
)

// Share is an amount of memory and vcores, or a part of the cluster's.
type Share struct {
	Percent bool
	Mem     float64 // MiB, or percent of the cluster's memory
	Cores   float64 // vcores, or percent of the cluster's vcores
}

// maxAmount is the max amount; far below overflow when shares are summed.
const maxAmount = 1 << 50

// WholeShare means no limit: the max amount.
func WholeShare() Share { return Share{Mem: maxAmount, Cores: maxAmount} }

// Of is the share of a cluster. 29 % of 100 is 28: Hadoop multiplies by 29/100, which is slightly less than 0.29.
func (s Share) Of(total unit.Resources) unit.Resources {
	if !s.Percent {
		return unit.Resources{Mem: int64(s.Mem), Cores: int64(s.Cores)}
	}
	return unit.Resources{Mem: cut(float64(total.Mem) * (s.Mem / 100)), Cores: cut(float64(total.Cores) * (s.Cores / 100))}
}

func cut(v float64) int64 { return int64(min(v, maxAmount)) }

// share parses the three notations of resources: "1024 mb, 1 vcores"; "50%" or "50% memory, 20% cpu"; and
// "memory-mb=1024, vcores=1" or "memory-mb=50%, vcores=20%". In the last, an omitted resource is 0 for a minimum and
// unlimited for a maximum.
func (f *fairReader) share(e *Element, maximum bool) (Share, error) {
	text := strings.ToLower(e.Value())
	bad := func(why string) (Share, error) {
		return Share{}, e.Pos().Errorf("<%s> is %q: %s; "+
			"write \"1024 mb, 1 vcores\", \"50%% memory, 20%% cpu\" or \"memory-mb=1024, vcores=1\"",
			e.Name, shorten(e.Value()), why)
	}
	if text == "" {
		return bad("nothing is said")
	}
	if strings.Contains(text, "=") {
		return f.newShare(e, text, maximum, bad)
	}
	parts := strings.Split(text, ",")
	s := Share{Percent: strings.Contains(text, "%")}
	if rest, ok := strings.CutSuffix(text, "%"); ok && len(parts) == 1 {
		v, ok := amount(rest)
		if !ok {
			return bad("it is not a percentage")
		}
		return Share{Percent: true, Mem: v, Cores: v}, nil
	}
	units := [2]string{"mb", "vcores"}
	if s.Percent {
		units = [2]string{"% memory", "% cpu"}
	}
	seen := [2]bool{}
	for _, p := range parts {
		p = strings.TrimSpace(p)
		for i, u := range units {
			rest, ok := cutUnit(p, u)
			if !ok {
				continue
			}
			v, ok := amount(rest)
			if !ok || seen[i] {
				return bad("\"" + shorten(p) + "\" is not an amount")
			}
			seen[i] = true
			if i == 0 {
				s.Mem = v
			} else {
				s.Cores = v
			}
		}
	}
	for i, u := range units {
		if !seen[i] {
			return bad("there is no " + strings.TrimPrefix(u, "% "))
		}
	}
	if len(parts) != 2 {
		return bad("there are more than two amounts")
	}
	return s, nil
}

// cutUnit cuts off a trailing unit, with any space inside it ("50 % memory").
func cutUnit(s, u string) (string, bool) {
	for _, word := range []string{u[strings.IndexByte(u, ' ')+1:], "%"} {
		if word == "%" && u[0] != '%' {
			return s, true
		}
		rest, ok := strings.CutSuffix(s, word)
		if !ok {
			return s, false
		}
		s = strings.TrimSpace(rest)
	}
	return s, true
}

func (f *fairReader) newShare(e *Element, text string, maximum bool, bad func(string) (Share, error)) (Share, error) {
	s := Share{Percent: strings.Contains(text, "%")}
	switch {
	case s.Percent:
		s.Mem, s.Cores = 100, 100
	case maximum:
		s = WholeShare()
	}
	seen := map[string]bool{}
	for _, p := range strings.Split(text, ",") {
		key, value, ok := strings.Cut(p, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok || seen[key] {
			return bad("\"" + shorten(strings.TrimSpace(p)) + "\" is not resource=amount, or comes twice")
		}
		seen[key] = true
		rest, percent := strings.CutSuffix(value, "%")
		v, ok := amount(rest)
		if !ok || percent != s.Percent {
			return bad("\"" + shorten(value) + "\" is not an amount (percentages and amounts cannot be mixed)")
		}
		switch key {
		case "memory-mb", "memory":
			s.Mem = v
		case "vcores":
			s.Cores = v
		default:
			f.warn(e, "resource "+shorten(key)+" in <"+e.Name+"> has no effect: only memory-mb and vcores are modelled")
		}
	}
	return s, nil
}

// amount parses a non-negative number. Fractions of a MiB or of a vcore are cut off, as in Hadoop, by Share.Of.
func amount(s string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 0) {
		return 0, false
	}
	return min(v, maxAmount), true
}
