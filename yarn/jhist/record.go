package jhist

import (
	"encoding/json"
	"strings"
)

// record is a decoded Avro record, from either form. In JSON a union's value is wrapped in an object that names its type;
// the methods look through that.
type record map[string]any

func (r record) get(field string) any {
	v := r[field]
	if m, ok := v.(map[string]any); ok && len(m) == 1 {
		for k, value := range m {
			switch {
			case k == "string", k == "long", k == "int", k == "boolean", strings.Contains(k, "."):
				return value
			}
		}
	}
	return v
}

func (r record) text(field string) string {
	s, _ := r.get(field).(string)
	return s
}

func (r record) number(field string) int64 {
	switch v := r.get(field).(type) {
	case int64:
		return v
	case int32:
		return int64(v)
	case json.Number:
		n, err := v.Int64()
		if err != nil {
			return 0
		}
		return n
	}
	return 0
}

func (r record) millis(field string) Millis {
	// Hadoop writes -1 and 0 for what did not happen; instants past the year 5138 are damage, and would overflow sums.
	if v := r.number(field); v > 0 && v < 1e14 {
		return Millis(v)
	}
	return 0
}

func (r record) truth(field string) bool {
	b, _ := r.get(field).(bool)
	return b
}

func (r record) record(field string) record {
	m, _ := r.get(field).(map[string]any)
	return m
}

// counters takes the counters that matter from a JhCounters record.
func (r record) counters(field string) Counters {
	var c Counters
	groups, _ := r.record(field)["groups"].([]any)
	for _, g := range groups {
		group, _ := g.(map[string]any)
		counts, _ := group["counts"].([]any)
		for _, one := range counts {
			m, _ := one.(map[string]any)
			name, _ := m["name"].(string)
			c.Set(name, record(m).number("value"))
		}
	}
	return c
}

// Set takes a counter by Hadoop's name for it, if it is one of those that are kept.
func (c *Counters) Set(name string, value int64) {
	if counter := counterNames[name]; counter != nil {
		*counter(c) = max(value, 0)
	}
}

var counterNames = map[string]func(*Counters) *int64{
	"HDFS_BYTES_READ":       func(c *Counters) *int64 { return &c.HDFSRead },
	"HDFS_BYTES_WRITTEN":    func(c *Counters) *int64 { return &c.HDFSWritten },
	"REDUCE_SHUFFLE_BYTES":  func(c *Counters) *int64 { return &c.Shuffled },
	"MB_MILLIS_MAPS":        func(c *Counters) *int64 { return &c.MemoryMillisMaps },
	"MB_MILLIS_REDUCES":     func(c *Counters) *int64 { return &c.MemoryMillisReduces },
	"VCORES_MILLIS_MAPS":    func(c *Counters) *int64 { return &c.CoreMillisMaps },
	"VCORES_MILLIS_REDUCES": func(c *Counters) *int64 { return &c.CoreMillisReduces },
	"MILLIS_MAPS":           func(c *Counters) *int64 { return &c.SlotMillisMaps },
	"MILLIS_REDUCES":        func(c *Counters) *int64 { return &c.SlotMillisReduces },
}
