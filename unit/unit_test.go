package unit

import (
	"math"
	"testing"
)

func TestFormat(t *testing.T) {
	for want, s := range map[string]float64{
		"0 s": 0, "5 ms": 0.005, "0.25 s": 0.25, "9.9 s": 9.9, "12.3 s": 12.34, "3.4 min": 204, "99 min": 5940, "2.1 h": 7560, "3.5 d": 302400, "-12 s": -12,
	} {
		if got := FormatSeconds(s); got != want {
			t.Errorf("%v s is written %q, want %q", s, got, want)
		}
	}
	for want, b := range map[string]Bytes{"0 B": 0, "512 B": 512, "1.5 KiB": 1536, "128 MiB": 128 * MiB, "2 GiB": 2 * GiB, "11.7 TiB": 12863952185754} {
		if got := b.String(); got != want {
			t.Errorf("%d bytes are written %q, want %q", int64(b), got, want)
		}
	}
}

func TestParse(t *testing.T) {
	for s, want := range map[string]Time{"90s": 90 * Second, "1.5h": 90 * Minute, "200ms": 200 * Millisecond, "2d": 2 * Day, "15": 15 * Second, "3m": 3 * Minute, "3min": 3 * Minute, "7us": 7, " 1 s ": Second} {
		if got, err := ParseTime(s); err != nil || got != want {
			t.Errorf("%q is %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "x", "NaN", "1e300s", "5 parsecs", "Inf"} {
		if v, err := ParseTime(s); err == nil {
			t.Errorf("%q is taken for %v", s, v)
		}
	}
	for s, want := range map[string]Bytes{"128MB": 128 * MiB, "1.5GiB": 3 * GiB / 2, "64k": 64 * KiB, "77B": 77, "78 b": 78, "1t": TiB, "0": 0} {
		if got, err := ParseBytes(s); err != nil || got != want {
			t.Errorf("%q is %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "-1", "x", "1e300", "MB", "128", "128i"} {
		if v, err := ParseBytes(s); err == nil {
			t.Errorf("%q is taken for %v", s, v)
		}
	}
}

func TestResources(t *testing.T) {
	r := Resources{Mem: 10240, Cores: 8}
	if n := r.Count(Resources{Mem: 1024, Cores: 1}); n != 8 {
		t.Errorf("%d containers", n)
	}
	if n := r.Count(Resources{Mem: 2048, Cores: 0}); n != 5 {
		t.Errorf("%d containers without cores", n)
	}
	if n := r.Count(Resources{}); n != 0 {
		t.Errorf("%d containers of nothing", n)
	}
	if s := (Resources{Mem: 1024, Cores: 4}).DominantShare(r); s != 0.5 {
		t.Errorf("dominant share %v", s)
	}
}

func TestCeilSeconds(t *testing.T) {
	for _, x := range []struct {
		s    float64
		want Time
	}{{0, 0}, {1, Second}, {1e-7, 1}, {1.0000001, Second + 1}, {0.30000000000000004, 300_001}, {1e13, Never}, {math.Inf(1), Never}, {math.NaN(), Never}} {
		if got := CeilSeconds(x.s); got != x.want {
			t.Errorf("%v s: %d, want %d", x.s, got, x.want)
		}
		if got := CeilSeconds(x.s); got != Never && got.Seconds() < x.s {
			t.Errorf("%v s: %d is before it", x.s, got)
		}
	}
}
