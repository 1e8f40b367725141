package conf

import (
	"math"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/unit"
)

// values parses typed settings and keeps the first error.
type values struct {
	props *Properties
	err   error
}

func (v *values) fail(err error) {
	if v.err == nil {
		v.err = err
	}
}

func (v *values) whole(name string, otherwise, lo int) int {
	p := v.props.Get(name)
	if p == nil {
		return otherwise
	}
	n, err := strconv.ParseInt(p.Value, 10, 32)
	switch {
	case err != nil:
		v.fail(p.Pos.Errorf("%s is %q, not a whole number", p.Name, shorten(p.Value)))
	case int(n) < lo:
		v.fail(p.Pos.Errorf("%s is %d: it must be at least %d", p.Name, n, lo))
	}
	return int(n)
}

// float parses a number from lo to hi that Hadoop holds in so many bits; if it is not set, into is unchanged.
func (v *values) float(name string, bits int, into *float64, lo, hi float64) {
	p := v.props.Get(name)
	if p == nil {
		return
	}
	f, err := parseFloat(p.Value, bits)
	switch {
	case err != nil && strings.HasSuffix(p.Value, "%"):
		v.fail(p.Pos.Errorf("%s is %q: write the percentage without the sign", p.Name, shorten(p.Value)))
	case err != nil:
		v.fail(p.Pos.Errorf("%s is %q, not a number", p.Name, shorten(p.Value)))
	case f < lo || f > hi:
		v.fail(p.Pos.Errorf("%s is %s: it must be between %v and %v", p.Name, shorten(p.Value), lo, hi))
	default:
		*into = f
	}
}

func (v *values) double(name string, into *float64, lo, hi float64) {
	v.float(name, 64, into, lo, hi)
}

func (v *values) number(name string, otherwise float32, lo, hi float64) float32 {
	f := float64(otherwise)
	v.float(name, 32, &f, lo, hi)
	return float32(f)
}

func (v *values) truth(name string, otherwise bool) bool {
	p := v.props.Get(name)
	if p == nil {
		return otherwise
	}
	switch strings.ToLower(p.Value) {
	case "true":
		return true
	case "false":
		return false
	}
	v.fail(p.Pos.Errorf("%s is %q: want true or false", p.Name, shorten(p.Value)))
	return otherwise
}

func parseFloat(s string, bits int) (float64, error) {
	f, err := strconv.ParseFloat(s, bits)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, strconv.ErrSyntax
	}
	return f, nil
}

// share parses a capacity: 40, 3w or [memory=20480,vcores=10].
func (b *capacityReader) share(p *Property) (QueueShare, error) {
	if strings.HasPrefix(p.Value, "[") {
		room, err := b.absolute(p)
		return QueueShare{Kind: Absolute, Room: room}, err
	}
	s := QueueShare{Kind: Percent}
	text, isWeight := strings.CutSuffix(p.Value, "w")
	if isWeight {
		s.Kind = Weight
	}
	f, err := parseFloat(strings.TrimSpace(text), 32)
	switch {
	case err != nil && strings.HasSuffix(text, "%"):
		return s, p.Pos.Errorf("%s is %q: write the percentage without the sign", p.Name, shorten(p.Value))
	case err != nil:
		return s, p.Pos.Errorf("%s is %q, not a number: write a percentage (40), a weight (3w) or [memory=MB,vcores=N]",
			p.Name, shorten(p.Value))
	case f < 0:
		return s, p.Pos.Errorf("%s is %s: a capacity cannot be negative", p.Name, p.Value)
	case s.Kind == Percent && f > 100:
		return s, p.Pos.Errorf("%s is %s: a percentage of the parent is at most 100", p.Name, p.Value)
	case s.Kind == Weight && f > 1e9:
		return s, p.Pos.Errorf("%s is %s: a weight is at most 1e9", p.Name, p.Value)
	}
	s.Value = float32(f)
	return s, nil
}

// maximum parses a maximum capacity: 80, -1 (none) or an absolute amount.
func (b *capacityReader) maximum(p *Property) (QueueShare, error) {
	if f, err := parseFloat(p.Value, 32); err == nil && f == -1 {
		return QueueShare{}, nil
	}
	s, err := b.share(p)
	if err == nil && s.Kind == Weight {
		return s, p.Pos.Errorf("%s is %s: a maximum is a percentage (80) or [memory=MB,vcores=N], not a weight", p.Name, p.Value)
	}
	if s.Kind == Absolute && s.Room.IsZero() {
		return QueueShare{}, err // Hadoop takes an empty maximum as none
	}
	return s, err
}

// absolute parses [memory=20480,vcores=10]; memory may have a unit.
func (b *capacityReader) absolute(p *Property) (unit.Resources, error) {
	var r unit.Resources
	inner, ok := strings.CutSuffix(strings.TrimPrefix(p.Value, "["), "]")
	if !ok {
		return r, p.Pos.Errorf("%s is %q: the closing ] is missing", p.Name, shorten(p.Value))
	}
	seen := map[string]bool{}
	for _, part := range strings.Split(inner, ",") {
		k, text, ok := strings.Cut(part, "=")
		k, text = strings.TrimSpace(k), strings.TrimSpace(text)
		if !ok || seen[k] {
			return r, p.Pos.Errorf("%s is %q: write [memory=MB,vcores=N]", p.Name, shorten(p.Value))
		}
		seen[k] = true
		if strings.HasSuffix(text, "%") || strings.HasSuffix(text, "w") {
			return r, p.Pos.Errorf("%s is %q: amounts that mix kinds need legacy-queue-mode.enabled=false, which is not modelled",
				p.Name, shorten(p.Value))
		}
		n, ok := absoluteAmount(text, k == "memory")
		if !ok {
			return r, p.Pos.Errorf("%s: %q is not an amount of %s", p.Name, shorten(text), shorten(k))
		}
		switch k {
		case "memory", "memory-mb":
			r.Mem = n
		case "vcores":
			r.Cores = n
		default:
			b.c.warn(p.Pos, "%s: resource %s is not modelled", p.Name, shorten(k))
		}
	}
	return r, nil
}

func absoluteAmount(text string, memory bool) (int64, bool) {
	scale := 1.0
	if memory {
		for _, u := range []struct {
			suffix string
			mib    float64
		}{{"Ki", 1.0 / 1024}, {"Mi", 1}, {"Gi", 1024}, {"Ti", 1 << 20}, {"k", 1e3 / (1 << 20)}, {"M", 1e6 / (1 << 20)},
			{"G", 1e9 / (1 << 20)}, {"T", 1e12 / (1 << 20)}} {
			if rest, ok := strings.CutSuffix(text, u.suffix); ok {
				text, scale = strings.TrimSpace(rest), u.mib
				break
			}
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	f := float64(n) * scale
	if err != nil || n < 0 || f > 1<<40 {
		return 0, false
	}
	return int64(f), true
}
