package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/fifo"
	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/trace"
)

// What another module adds is known to its command, and to nobody else's.
func TestOptionsAddToACopy(t *testing.T) {
	own := policy.Entry{Name: "own", Title: "mine", New: fifo.Entry.New}
	steering := steer.Entry{Name: "own", New: func(*steer.Setup) (steer.Steerer, error) { return nil, nil }}
	format := trace.Format{Name: "own", Sniff: func([]byte) bool { return false }, Read: func(io.Reader, string) (workload.Source, error) { return nil, io.EOF }}
	known := *scenario.BuiltIn
	for _, add := range []Option{WithPolicy(own), WithSteering(steering), WithTrace(format)} {
		add(&known)
	}
	s := known.Default()
	if _, ok := s.Known.Policies.Find("own"); !ok || s.Known.Steering.Find("own") == nil || s.TraceOptions().Known[len(scenario.BuiltIn.Traces)].Name != "own" {
		t.Errorf("%+v", s.Known)
	}
	if _, ok := scenario.BuiltIn.Policies.Find("own"); ok || scenario.BuiltIn.Steering.Find("own") != nil || len(scenario.BuiltIn.Traces) != len(known.Traces)-1 {
		t.Error("it is in the list of this repository")
	}
	for name, add := range map[string]Option{
		"policy \"fifo\"":      WithPolicy(policy.Entry{Name: "fifo", New: fifo.Entry.New}),
		"policy \"new\"":       WithPolicy(policy.Entry{Name: "new"}),
		"steering policy \"\"": WithSteering(steer.Entry{New: steering.New}),
		"format \"swim\"":      WithTrace(trace.Format{Name: trace.SWIM, Sniff: format.Sniff, Read: format.Read}),
	} {
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, name) {
					t.Errorf("%s: %q", name, text)
				}
			}()
			add(&known)
		}()
	}
}
