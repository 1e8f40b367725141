package cluster

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Limits on a link's rate, in bytes per second: from one bit per second to 8 Pbit.
const (
	MinRate = 0.125
	MaxRate = 1e15
)

// rateUnits are the units of a rate: bytes per second of one, and the step between prefixes. Networks count in powers of ten,
// in bits and in bytes; KiB/s and the like are for figures printed by disk tools. A lone b is a bit, a B a byte.
var rateUnits = []struct {
	suffix string
	bytes  float64
	step   float64
}{
	{"bit/s", 1.0 / 8, 1000}, {"bit", 1.0 / 8, 1000}, {"b/s", 1.0 / 8, 1000}, {"bps", 1.0 / 8, 1000}, {"iB/s", 1, 1024}, {"B/s", 1, 1000},
}

// ParseRate parses 1Gbit, 250Mbit, 2.5Gb/s, 10Gbps or 100MB/s and returns bytes per second.
func ParseRate(s string) (float64, error) {
	bad := func() error {
		return fmt.Errorf("%q is not a rate: write 1Gbit, 250Mbit or 100MB/s", s)
	}
	text := strings.TrimSpace(s)
	for _, u := range rateUnits {
		rest, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		power := 0
		if rest != "" {
			power = 1 + strings.IndexByte("kmgt", rest[len(rest)-1]|0x20)
		}
		if power > 0 {
			rest = rest[:len(rest)-1]
		} else if u.step == 1024 {
			return 0, bad()
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
		if err != nil || math.IsNaN(v) || strings.ContainsAny(rest, "xX_pP") {
			return 0, bad()
		}
		// Multiplied in this order, so that 250Mbit is exactly 31,250,000 bytes.
		for range power {
			v *= u.step
		}
		if v *= u.bytes; v < MinRate || v > MaxRate {
			return 0, fmt.Errorf("%q is not a rate that a link can have; write 1Gbit, 250Mbit or 100MB/s", s)
		}
		return v, nil
	}
	if v, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(v) {
		return 0, fmt.Errorf("%q has no unit: write 1Gbit, 250Mbit or 100MB/s", s)
	}
	return 0, bad()
}

// FormatRate formats bytes per second so that ParseRate returns the same number: 1Gbit, 250Mbit.
func FormatRate(bytesPerSecond float64) string {
	bits := bytesPerSecond * 8
	for _, u := range []struct {
		scale  float64
		suffix string
	}{{1e12, "Tbit"}, {1e9, "Gbit"}, {1e6, "Mbit"}, {1e3, "kbit"}} {
		if bits < u.scale {
			continue
		}
		text := strconv.FormatFloat(bits/u.scale, 'f', -1, 64) + u.suffix
		if back, err := ParseRate(text); err == nil && back == bytesPerSecond && len(text) <= 12 {
			return text
		}
	}
	return strconv.FormatFloat(bits, 'f', -1, 64) + "bit"
}
