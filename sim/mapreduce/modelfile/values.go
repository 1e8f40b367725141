package modelfile

import (
	"math"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/internal/yamlfile"
	"github.com/yardmaster/yardmaster/sim/mapreduce"
	"github.com/yardmaster/yardmaster/sim/node"
	"github.com/yardmaster/yardmaster/unit"
)

// reader adapts a parser of text to a reader of a scalar node.
func reader(read func(n *yamlfile.Node, text string) error) func(*yamlfile.Node) error {
	return yamlfile.Value(func(n *yamlfile.Node, text string) error { return read(n, strings.TrimSpace(text)) })
}

func float(n *yamlfile.Node, text string, lo, hi float64) (float64, error) {
	v, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	if err != nil || math.IsNaN(v) {
		return 0, n.Errorf("%q is not a number", text)
	}
	if v < lo || v > hi {
		return 0, n.Errorf("%v is not between %v and %v", v, lo, hi)
	}
	return v, nil
}

func number(p *float64, lo, hi float64) func(*yamlfile.Node) error {
	return reader(func(n *yamlfile.Node, text string) (err error) {
		*p, err = float(n, text, lo, hi)
		return err
	})
}

func bytes(p *unit.Bytes, low unit.Bytes) func(*yamlfile.Node) error {
	return reader(func(n *yamlfile.Node, text string) error {
		b, err := unit.ParseBytes(text)
		if err != nil {
			return n.Errorf("%v", err)
		}
		if b < low || b > mapreduce.MaxBuffer {
			return n.Errorf("%v is not between %v and %v", b, low, unit.Bytes(mapreduce.MaxBuffer))
		}
		*p = b
		return nil
	})
}

// rate reads 280MB/s.
func rate(p *float64) func(*yamlfile.Node) error {
	return reader(func(n *yamlfile.Node, text string) error {
		amount, ok := strings.CutSuffix(text, "/s")
		if !ok {
			return n.Errorf("%q is not a rate: write 280MB/s", text)
		}
		b, err := unit.ParseBytes(amount)
		if err != nil {
			return n.Errorf("%v", err)
		}
		if b < 1 {
			return n.Errorf("a disk that moves nothing would never be done")
		}
		*p = float64(b)
		return nil
	})
}

// hertz reads 2.5GHz, or a number of cycles a second.
func hertz(p *float64) func(*yamlfile.Node) error {
	return reader(func(n *yamlfile.Node, text string) error {
		body, scale := text, 0.0 // a unit is required
		for _, u := range []struct {
			suffix string
			scale  float64
		}{{"ghz", 1e9}, {"mhz", 1e6}, {"khz", 1e3}, {"hz", 1}} {
			if rest, ok := strings.CutSuffix(strings.ToLower(text), u.suffix); ok {
				body, scale = strings.TrimSpace(rest), u.scale
				break
			}
		}
		v, err := strconv.ParseFloat(body, 64)
		if err != nil || !(v*scale >= 1 && v*scale <= 1e15) {
			return n.Errorf("%q is not the clock of a processor: write 2.5GHz", text)
		}
		*p = v * scale
		return nil
	})
}

func seconds(p *float64) func(*yamlfile.Node) error {
	return reader(func(n *yamlfile.Node, text string) error {
		t, err := unit.ParseTime(text)
		if err != nil {
			return n.Errorf("%v", err)
		}
		if t < 0 || t > unit.Hour {
			return n.Errorf("a seek of %v", t)
		}
		*p = t.Seconds()
		return nil
	})
}

// or accepts a word for 0, or what read accepts.
func or[T int64 | float64 | unit.Bytes](word string, p *T, read func(*yamlfile.Node) error) func(*yamlfile.Node) error {
	return reader(func(n *yamlfile.Node, text string) error {
		if text == word {
			*p = 0
			return nil
		}
		return read(n)
	})
}

// amount reads bytes as a number.
func amount(p *float64, low unit.Bytes) func(*yamlfile.Node) error {
	return func(n *yamlfile.Node) error {
		var b unit.Bytes
		err := bytes(&b, low)(n)
		if err == nil {
			*p = float64(b)
		}
		return err
	}
}

// intOr reads an integer, or a word for 0.
func intOr(word string, p *int64, lo, hi int64) func(*yamlfile.Node) error {
	return or(word, p, reader(func(n *yamlfile.Node, text string) error {
		if _, err := strconv.ParseInt(text, 10, 64); err != nil {
			return n.Errorf("%q is neither a whole number nor %q", text, word)
		}
		return yamlfile.Int(p, lo, hi)(n)
	}))
}

func fetch(p *mapreduce.Fetch) func(*yamlfile.Node) error {
	return reader(func(n *yamlfile.Node, text string) error {
		for _, f := range []mapreduce.Fetch{mapreduce.ByHost, mapreduce.ByMap} {
			if text == f.String() {
				*p = f
				return nil
			}
		}
		return n.Errorf("unknown way to fetch %q: want host or map", text)
	})
}

// percent reads 10% as of(10); the max is hi.
func percent(p *float64, hi float64, convert func(v float64) float64) func(*yamlfile.Node) error {
	return reader(func(n *yamlfile.Node, text string) error {
		body, ok := strings.CutSuffix(text, "%")
		if !ok && text != "0" {
			return n.Errorf("%q is not a percentage: write 10%%", text)
		}
		v, err := float(n, strings.TrimSpace(body), 0, hi)
		if err == nil {
			*p = convert(v)
		}
		return err
	})
}

// noise reads 10% as the logarithm of 1.10.
func noise(p *float64) func(*yamlfile.Node) error {
	return percent(p, 600, func(v float64) float64 { return math.Log((100 + v) / 100) })
}

// share reads 10% as 0.1.
func share(p *float64) func(*yamlfile.Node) error {
	return percent(p, 100, func(v float64) float64 { return v / 100 })
}

// perMachine reads how many nodes share a machine, or all.
func perMachine(p *int) func(*yamlfile.Node) error {
	return func(n *yamlfile.Node) error {
		k := int64(0)
		if err := intOr("all", &k, 1, mapreduce.MaxPerMachine)(n); err != nil {
			return err
		}
		if *p = int(k); k == 0 {
			*p = mapreduce.MaxPerMachine
		}
		return nil
	}
}

// space reads the space on a machine's disks, or unlimited.
func space(s *node.Space) func(*yamlfile.Node) error {
	return func(n *yamlfile.Node) error {
		if n.Shape != yamlfile.Mapping {
			return reader(func(n *yamlfile.Node, text string) error {
				if text != "unlimited" {
					return n.Errorf("invalid disk space %q: write unlimited, or a mapping with a capacity", text)
				}
				*s = node.Space{}
				return nil
			})(n)
		}
		return n.Read("space", []string{"capacity", "filled", "healthy"}, yamlfile.Keys{
			"capacity": amount(&s.Capacity, 0), "filled": amount(&s.Filled, 0), "healthy": share(&s.Healthy),
		})
	}
}

// efficiency reads 1 (nothing is lost), a list by the number of tasks, {falls: a} for 1/(1+a*(n-1)) or {switches: a} for 1/(1+a*(n-1)/n).
func efficiency(p *node.Efficiency) func(*yamlfile.Node) error {
	return func(n *yamlfile.Node) error {
		if n.Shape == yamlfile.Mapping {
			falls, switches := 0.0, 0.0
			if err := n.Read("efficiency", []string{"falls", "switches"}, yamlfile.Keys{
				"falls": number(&falls, 0, 1000), "switches": number(&switches, 0, 1000),
			}); err != nil {
				return err
			}
			switch {
			case n.Has("falls") && n.Has("switches"):
				return n.Errorf("an efficiency either falls or switches")
			case n.Has("switches"):
				*p = node.Switching(switches)
			default:
				*p = node.Falling(falls)
			}
			return nil
		}
		items, err := n.Values()
		if err != nil {
			return err
		}
		if len(items) == 0 {
			return n.Errorf("a list of efficiencies needs at least one value")
		}
		values := make([]float64, len(items))
		for i, item := range items {
			if values[i], err = float(item, strings.TrimSpace(item.Text), 1e-6, 1); err != nil {
				return err
			}
		}
		*p = nil
		if len(values) > 1 || values[0] < 1 {
			*p = node.Table(values...)
		}
		return nil
	}
}
