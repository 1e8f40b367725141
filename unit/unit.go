// Package unit defines the quantities that all other packages share: virtual time, bytes and resource vectors.
// They are integers, so sums do not depend on the order of addition.
package unit

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Time is an instant (since the start of the run) or a duration of virtual time, in microseconds.
type Time int64

// Durations.
const (
	Microsecond Time = 1
	Millisecond Time = 1000 * Microsecond
	Second      Time = 1000 * Millisecond
	Minute      Time = 60 * Second
	Hour        Time = 60 * Minute
	Day         Time = 24 * Hour

	// Never is later than every instant of a run.
	Never Time = math.MaxInt64
)

// Seconds returns t in seconds.
func (t Time) Seconds() float64 { return float64(t) / float64(Second) }

// CeilSeconds rounds s >= 0 seconds up to a Time; Never if that is too large for a run.
func CeilSeconds(s float64) Time {
	us := math.Ceil(s * float64(Second))
	if !(us < float64(Never/2)) {
		return Never
	}
	t := Time(us)
	if t.Seconds() < s { // rounding
		t++
	}
	return t
}

// FromSeconds rounds s seconds to the nearest Time. It saturates instead of overflowing; NaN becomes 0.
func FromSeconds(s float64) Time {
	us := math.Round(s * float64(Second))
	switch {
	case math.IsNaN(us):
		return 0
	case us >= math.MaxInt64:
		return Never
	case us <= math.MinInt64:
		return math.MinInt64
	}
	return Time(us)
}

// String formats a time for people: 12 s, 3.4 min, 2.1 h.
func (t Time) String() string { return FormatSeconds(t.Seconds()) }

// FormatSeconds formats a number of seconds for people: 0.25 s, 12 s, 3.4 min, 2.1 h, 1.5 d.
func FormatSeconds(s float64) string {
	a := math.Abs(s)
	switch {
	case math.IsNaN(s):
		return "-"
	case a == 0:
		return "0 s"
	case a < 0.0095:
		return trim(s*1000, 2) + " ms"
	case a < 9.95:
		return trim(s, 2) + " s"
	case a < 99.5:
		return trim(s, 1) + " s"
	case a < 100*60:
		return trim(s/60, 1) + " min"
	case a < 72*3600:
		return trim(s/3600, 1) + " h"
	}
	return trim(s/86400, 1) + " d"
}

func trim(v float64, digits int) string {
	s := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// ParseTime parses "90s", "1.5h", "200ms", "2d" or a bare number of seconds.
func ParseTime(s string) (Time, error) {
	text := strings.TrimSpace(s)
	scale := Second
	for _, u := range []struct {
		suffix string
		scale  Time
	}{{"us", Microsecond}, {"ms", Millisecond}, {"min", Minute}, {"s", Second}, {"m", Minute}, {"h", Hour}, {"d", Day}} {
		if rest, ok := strings.CutSuffix(text, u.suffix); ok {
			text, scale = strings.TrimSpace(rest), u.scale
			break
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is not a length of time: write 90s, 1.5h or 200ms", s)
	}
	us := v * float64(scale)
	if math.Abs(us) >= float64(math.MaxInt64) {
		return 0, fmt.Errorf("%q is too long a time", s)
	}
	return Time(math.Round(us)), nil
}

// Bytes is an amount of data.
type Bytes int64

// Amounts of data.
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
	TiB Bytes = 1 << 40
)

// String formats an amount with a binary unit.
func (b Bytes) String() string {
	v, a := float64(b), math.Abs(float64(b))
	switch {
	case a < float64(KiB):
		return strconv.FormatInt(int64(b), 10) + " B"
	case a < float64(MiB):
		return trim(v/float64(KiB), 1) + " KiB"
	case a < float64(GiB):
		return trim(v/float64(MiB), 1) + " MiB"
	case a < float64(TiB):
		return trim(v/float64(GiB), 1) + " GiB"
	}
	return trim(v/float64(TiB), 1) + " TiB"
}

// ParseBytes parses "128MB", "1.5 GiB", "64k" or "77B". Units are binary: in this field a block of 128 MB is 2^27 bytes. A bare number
// is refused: whoever writes 128 rarely means bytes.
func ParseBytes(s string) (Bytes, error) {
	text := strings.ToLower(strings.TrimSpace(s))
	text = strings.TrimSuffix(strings.TrimSuffix(text, "b"), "i")
	scale := Bytes(1)
	for _, u := range []struct {
		suffix string
		scale  Bytes
	}{{"k", KiB}, {"m", MiB}, {"g", GiB}, {"t", TiB}} {
		if rest, ok := strings.CutSuffix(text, u.suffix); ok {
			text, scale = rest, u.scale
			break
		}
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(v) || v < 0 || v*float64(scale) >= float64(math.MaxInt64) {
		return 0, fmt.Errorf("%q is not an amount of data: write 128MB, 1.5GiB or 77B", s)
	}
	if scale == 1 && v != 0 && !strings.ContainsAny(s, "bB") {
		return 0, fmt.Errorf("%q has no unit: write %sMB, or %sB for bytes", s, text, text)
	}
	return Bytes(math.Round(v * float64(scale))), nil
}

// Resources is a container's request or a node's capacity.
type Resources struct {
	Mem   int64 // MiB
	Cores int64 // virtual cores, or the fraction of one that the cluster counts in: thousandths on Kubernetes
	Extra Extra `json:"-"`
}

// Add returns r + o.
func (r Resources) Add(o Resources) Resources {
	if o.Extra != (Extra{}) { // this form can be inlined, and so in Sub and Times
		r = r.merge(o, plus)
	}
	r.Mem += o.Mem
	r.Cores += o.Cores
	return r
}

// Sub returns r - o.
func (r Resources) Sub(o Resources) Resources {
	if o.Extra != (Extra{}) {
		r = r.merge(o, minus)
	}
	r.Mem -= o.Mem
	r.Cores -= o.Cores
	return r
}

// Max returns the componentwise maximum.
func (r Resources) Max(o Resources) Resources {
	if r.Extra != o.Extra {
		r = r.merge(o, greater)
	}
	return Resources{max(r.Mem, o.Mem), max(r.Cores, o.Cores), r.Extra}
}

// Min returns the componentwise minimum.
func (r Resources) Min(o Resources) Resources {
	if r.Extra != o.Extra {
		r = r.merge(o, less)
	}
	return Resources{min(r.Mem, o.Mem), min(r.Cores, o.Cores), r.Extra}
}

// Times returns r * n.
func (r Resources) Times(n int64) Resources {
	if r.Extra != (Extra{}) {
		r = r.multiply(n)
	}
	r.Mem *= n
	r.Cores *= n
	return r
}

// Fits reports whether r fits into room.
func (r Resources) Fits(room Resources) bool {
	return r.Mem <= room.Mem && r.Cores <= room.Cores && (r.Extra == Extra{} || r.Extra.fits(room.Extra))
}

// IsZero reports whether all components are zero.
func (r Resources) IsZero() bool { return r == Resources{} }

// Count returns how many containers of size ask fit into r; 0 for an empty ask.
func (r Resources) Count(ask Resources) int64 {
	n := int64(math.MaxInt64)
	if ask.Mem > 0 {
		n = r.Mem / ask.Mem
	}
	if ask.Cores > 0 {
		n = min(n, r.Cores/ask.Cores)
	}
	for name, k := range ask.Extra.All() {
		if k > 0 {
			n = min(n, r.Extra.Of(name)/k)
		}
	}
	if n == math.MaxInt64 || n < 0 {
		return 0
	}
	return n
}

// DominantShare returns the largest of r's shares of total.
func (r Resources) DominantShare(total Resources) float64 {
	s := 0.0
	if total.Mem > 0 {
		s = max(s, float64(r.Mem)/float64(total.Mem))
	}
	if total.Cores > 0 {
		s = max(s, float64(r.Cores)/float64(total.Cores))
	}
	if r.Extra != (Extra{}) {
		s = max(s, r.Extra.DominantShare(total.Extra))
	}
	return s
}

// CPU formats the cores: "4 vcores", or "0.9 CPU" where pods count, in r or what it is compared with.
func (r Resources) CPU(with Resources) string {
	if r.Extra.Of(Pods)+with.Extra.Of(Pods) > 0 {
		return strconv.FormatFloat(float64(r.Cores)/1000, 'f', -1, 64) + " CPU"
	}
	if r.Cores == 1 {
		return "1 vcore"
	}
	return fmt.Sprintf("%d vcores", r.Cores)
}

// String formats r as "1024 MiB, 1 vcore", followed by named resources: "8192 MiB, 4 vcores, 2 gpu".
func (r Resources) String() string { return r.Like(r) }

// Like formats r as String does, with its cores in the measure of another's.
func (r Resources) Like(o Resources) string {
	text := fmt.Sprintf("%d MiB, %s", r.Mem, r.CPU(o))
	if r.Extra != (Extra{}) {
		text += ", " + r.Extra.String()
	}
	return text
}

// Positive returns v if it is above 0, else otherwise.
func Positive[T cmp.Ordered](v, otherwise T) T {
	if none := *new(T); v > none {
		return v
	}
	return otherwise
}
