package scenario

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/unit"
)

// The kinds of settings: each reads a value as typed and writes it so that it reads back as the same.

func texts(name, in, value, help string, at func(*Scenario) *[]string) Setting {
	return Setting{
		Name: name, In: in, Value: value, Help: help, Many: true,
		Set: func(s *Scenario, v string) error {
			p := at(s)
			if v == "" {
				*p = nil
				return nil
			}
			*p = append((*p)[:len(*p):len(*p)], v)
			return nil
		},
		Get: func(s *Scenario) []string { return *at(s) },
	}
}

func number(name, in, value, help string, lo, hi int64, at func(*Scenario) *int) Setting {
	return Setting{
		Name: name, In: in, Value: value, Help: help,
		Set: func(s *Scenario, v string) error {
			n, err := whole(v, lo, hi)
			if err == nil {
				*at(s) = int(n)
			}
			return err
		},
		Get: func(s *Scenario) []string { return []string{strconv.Itoa(*at(s))} },
	}
}

func factor(name, help string, at func(*Scenario) *float64) Setting {
	return Setting{
		Name: name, Value: "FACTOR", Help: help,
		Set: func(s *Scenario, v string) error {
			f, err := strconv.ParseFloat(v, 64)
			if err != nil || !(f > 0 && f <= 1e6) {
				return fmt.Errorf("%q is not a factor above 0 and up to a million", v)
			}
			*at(s) = f
			return nil
		},
		Get: func(s *Scenario) []string { return []string{strconv.FormatFloat(*at(s), 'g', -1, 64)} },
	}
}

func whole(v string, lo, hi int64) (int64, error) {
	n, err := strconv.ParseInt(strings.ReplaceAll(v, "_", ""), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", v)
	}
	if n < lo || n > hi {
		return 0, fmt.Errorf("%d is not between %d and %d", n, lo, hi)
	}
	return n, nil
}

// list is like texts, and several values may stand together with commas between.
func list(name, in, value, help string, at func(*Scenario) *[]string) Setting {
	t := texts(name, in, value, help, at)
	one := t.Set
	t.Set = func(s *Scenario, v string) error {
		for _, part := range strings.Split(v, ",") {
			if err := one(s, part); err != nil {
				return err
			}
		}
		return nil
	}
	return t
}

func yes(name, in, help string, at func(*Scenario) *bool) Setting {
	return Setting{
		Name: name, In: in, Value: "", Help: help,
		Set: func(s *Scenario, v string) error {
			switch v {
			case "true", "yes", "on":
				*at(s) = true
			case "false", "no", "off":
				*at(s) = false
			default:
				return fmt.Errorf("%q is neither true nor false", v)
			}
			return nil
		},
		Get: func(s *Scenario) []string { return []string{strconv.FormatBool(*at(s))} },
	}
}

// longestTime keeps sums of times far from overflow.
const longestTime = 100 * 365 * unit.Day

func duration(name, in, help string, at func(*Scenario) *unit.Time) Setting {
	return Setting{
		Name: name, In: in, Value: "TIME", Help: help,
		Set: func(s *Scenario, v string) error {
			t, err := unit.ParseTime(v)
			if err == nil && (t < 0 || t > longestTime) {
				err = fmt.Errorf("%q is not between 0 and 100 years", v)
			}
			if err == nil {
				*at(s) = t
			}
			return err
		},
		Get: func(s *Scenario) []string { return []string{formatTime(*at(s))} },
	}
}

// formatTime is exact, unlike Time.String.
func formatTime(t unit.Time) string {
	switch {
	case t%unit.Second == 0:
		return strconv.FormatInt(int64(t/unit.Second), 10) + "s"
	case t%unit.Millisecond == 0:
		return strconv.FormatInt(int64(t/unit.Millisecond), 10) + "ms"
	}
	return strconv.FormatInt(int64(t), 10) + "us"
}

func share(name, in, help string, belowOne bool, at func(*Scenario) *float64) Setting {
	return Setting{
		Name: name, In: in, Value: "SHARE", Help: help,
		Set: func(s *Scenario, v string) error {
			number, percent := strings.CutSuffix(v, "%")
			f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
			if percent {
				f /= 100
			}
			if err != nil || !(f >= 0 && f <= 1) || (belowOne && f == 1) {
				most := "1"
				if belowOne {
					most = "less than 1"
				}
				return fmt.Errorf("%q is not a share from 0 to %s; write 0.05 or 5%%", v, most)
			}
			*at(s) = f
			return nil
		},
		Get: func(s *Scenario) []string { return []string{strconv.FormatFloat(*at(s), 'g', -1, 64)} },
	}
}

func amount(name, in, help string, at func(*Scenario) *unit.Bytes) Setting {
	return Setting{
		Name: name, In: in, Value: "BYTES", Help: help,
		Set: func(s *Scenario, v string) error {
			b, err := unit.ParseBytes(v)
			if err == nil && b < 1 {
				err = fmt.Errorf("%q is not a positive amount of data", v)
			}
			if err == nil {
				*at(s) = b
			}
			return err
		},
		Get: func(s *Scenario) []string { return []string{formatBytes(*at(s))} },
	}
}

// formatBytes is exact, unlike Bytes.String.
func formatBytes(b unit.Bytes) string {
	switch {
	case b > 0 && b%unit.GiB == 0:
		return strconv.FormatInt(int64(b/unit.GiB), 10) + "GB"
	case b > 0 && b%unit.MiB == 0:
		return strconv.FormatInt(int64(b/unit.MiB), 10) + "MB"
	}
	return strconv.FormatInt(int64(b), 10)
}

func rate(name, in, help string, at func(*Scenario) *float64) Setting {
	return Setting{
		Name: name, In: in, Value: "BYTES", Help: help,
		Set: func(s *Scenario, v string) error {
			b, err := unit.ParseBytes(strings.TrimSuffix(v, "/s"))
			if err == nil && b < 1 {
				err = fmt.Errorf("%q is not a positive amount of data a second", v)
			}
			if err == nil {
				*at(s) = float64(b)
			}
			return err
		},
		Get: func(s *Scenario) []string { return []string{formatBytes(unit.Bytes(math.Round(*at(s))))} },
	}
}

func container(name, in, help string, at func(*Scenario) *unit.Resources) Setting {
	return Setting{
		Name: name, In: in, Value: "MEMORY,CORES", Help: help,
		Set: func(s *Scenario, v string) error {
			m, c, ok := strings.Cut(v, ",")
			mem, err := unit.ParseBytes(m)
			if err != nil || !ok {
				return fmt.Errorf("%q is not memory,cores; write 2GB,1", v)
			}
			cores, err := whole(strings.TrimSpace(c), 0, 1<<20)
			if err != nil {
				return fmt.Errorf("cores: %w", err)
			}
			r := unit.Resources{Mem: int64(mem / unit.MiB), Cores: cores}
			if mem > 0 && r.Mem == 0 {
				return fmt.Errorf("%q is less than 1 MiB of memory", m)
			}
			*at(s) = r
			return nil
		},
		Get: func(s *Scenario) []string {
			r := *at(s)
			return []string{formatBytes(unit.Bytes(r.Mem)*unit.MiB) + "," + strconv.FormatInt(r.Cores, 10)}
		},
	}
}
