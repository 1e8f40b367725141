package table

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/unit"
)

// units are those that a mapping may name.
var units = []string{"s", "ms", "us", "ns", "B", "KB", "MB", "GB"}

// timeScale is the units of time in microseconds.
var timeScale = map[string]float64{"s": 1e6, "ms": 1e3, "us": 1, "ns": 1e-3}

// none are the words for a value that is not there.
var none = []string{"", "unknown", "none", "null", "n/a", "na", "nan", "nat", "-", `\n`, "invalid"}

func isNone(text string) bool {
	return text == "" || (text[0] < '0' || text[0] > '9') && len(text) <= 7 && slices.Contains(none, strings.ToLower(text))
}

// number reads a number. A time is none, and saying so at once saves strconv's error, which costs more than all else.
func number(text string) (float64, bool) {
	if strings.ContainsAny(text, ":/") {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}

// layouts of times, with and without a zone.
var layouts = []string{
	"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05Z07",
	"2006-01-02 15:04:05 UTC", "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05 Z0700", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02",
	"2006/01/02 15:04:05", "2006-01-02 15:04:05Z0700", "2006-01-02 15:04:05 Z07:00",
}

// Instants that can be meant: from 1900 to 2200, in microseconds since 1970; epochs at 0 may be the start of a trace.
const (
	firstInstant = -70 * 366 * unit.Day
	lastInstant  = 230 * 366 * unit.Day
)

// parseInstant reads a time: a number since 1970, or since any start, or ISO 8601. hint is the layout that fit last.
func parseInstant(text, in string, hint *int) (t unit.Time, zone bool, err error) {
	us := math.NaN()
	if v, ok := number(text); ok {
		scale := timeScale[in]
		switch a := math.Abs(v); { // seconds until the year 5138
		case scale > 0:
		case a < 1e11:
			scale = 1e6
		case a < 1e14:
			scale = 1e3
		case a < 1e17:
			scale = 1
		default:
			scale = 1e-3
		}
		us, zone = math.Round(v*scale), true
	} else {
		for i := range layouts {
			k := (*hint + i) % len(layouts)
			if at, err := time.Parse(layouts[k], text); err == nil {
				*hint = k
				us, zone = float64(at.UnixMicro()), strings.Contains(layouts[k], "Z07") || strings.HasSuffix(layouts[k], "UTC")
				break
			}
		}
		if math.IsNaN(us) {
			return 0, false, fmt.Errorf("is not a time: write 2026-03-02T08:00:00Z or seconds since 1970")
		}
	}
	if !(us >= float64(firstInstant) && us <= float64(lastInstant)) {
		return 0, false, fmt.Errorf("is not a time from 1900 to 2200")
	}
	return unit.Time(us), zone, nil
}

// parseLength reads a length of time: a number of seconds, [D-]HH:MM:SS, or 1h30m.
func parseLength(text, in string) (unit.Time, error) {
	us := math.NaN()
	if v, ok := number(text); ok {
		us = v * cmp.Or(timeScale[in], 1e6)
	} else if strings.Contains(text, ":") {
		us = clock(text)
	} else if d, err := time.ParseDuration(strings.ReplaceAll(text, " ", "")); err == nil {
		us = float64(d) / 1e3
	} else if t, err := unit.ParseTime(text); err == nil {
		us = float64(t)
	}
	if !(us >= 0 && us <= float64(10*365*unit.Day)) {
		return 0, fmt.Errorf("is not a length of time up to ten years: write seconds, 1-02:03:04 or 1h30m")
	}
	return unit.Time(math.Round(us)), nil
}

// clock reads [D-]HH:MM:SS[.FFF] or MM:SS, in microseconds; NaN: it is neither.
func clock(text string) float64 {
	sum := 0.0
	days, rest, ok := strings.Cut(text, "-")
	if ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return math.NaN()
		}
		sum, text = float64(n)*24, rest
	}
	parts := strings.Split(text, ":")
	if len(parts) > 3 || len(parts) == 2 && ok {
		return math.NaN()
	}
	for i, p := range parts {
		v, err := strconv.ParseFloat(p, 64)
		if err != nil || p[0] == '-' || p[0] == '+' || i > 0 && v >= 60 || math.IsNaN(v) {
			return math.NaN()
		}
		if i > 0 {
			sum *= 60
		}
		sum += v
	}
	return sum * 1e6
}

// parseMemory reads an amount, in MiB, and what it is of: 'n' a node, 'c' a core, 0 neither (Slurm's 4Gn and 4Gc).
func parseMemory(text, in string) (mib int64, per byte, err error) {
	if n := len(text); n > 1 && (text[n-1] == 'n' || text[n-1] == 'c') {
		text, per = text[:n-1], text[n-1]
	}
	if _, ok := number(text); ok {
		text += in
	}
	b, err := unit.ParseBytes(text)
	if err != nil || b > 1<<60 {
		return 0, 0, fmt.Errorf("is not an amount of memory: write 4G, 4000M or bytes")
	}
	return int64((b + unit.MiB - 1) / unit.MiB), per, nil
}

// parseCount reads a number, rounded up: half a core is one.
func parseCount(text string) (int64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0 && v <= 1<<40) {
		return 0, fmt.Errorf("is not a number from 0 to 2^40")
	}
	return int64(math.Ceil(v)), nil
}

// parseGPUs reads a number, or the GPUs of Slurm's list of resources (cpu=4,mem=8G,gres/gpu=2).
func parseGPUs(text string) (sum int64, err error) {
	if !strings.Contains(text, "=") {
		return parseCount(text)
	}
	for part := range strings.SplitSeq(text, ",") {
		name, count, _ := strings.Cut(part, "=")
		if name == "gres/gpu" { // also of those that are listed by type
			return parseCount(count)
		}
		if strings.HasPrefix(name, "gres/gpu:") && err == nil {
			var n int64
			n, err = parseCount(count)
			sum += n
		}
	}
	return min(sum, unit.MaxCount), err
}
