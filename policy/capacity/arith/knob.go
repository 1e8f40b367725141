package arith

import (
	"fmt"

	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Property reads capacity (the percentage or weight that a queue has), weight or maximum-capacity (in percent, 100 if none is set), or says why the queue
// has no such property. known: it is one of these.
func (s *Share) Property(name string) (value float32, why string, known bool) {
	switch {
	case name != "capacity" && name != "weight" && name != "maximum-capacity":
		return 0, "", false
	case name == "maximum-capacity" && (s.Maximum.Kind == conf.Absolute || s.Capacity.Kind == conf.Absolute):
		return 0, "the queue's maximum is an absolute amount", true
	case name == "maximum-capacity" && s.Maximum.Kind != conf.Percent:
		return 100, "", true
	case name == "maximum-capacity":
		return s.Maximum.Value, "", true
	case s.Capacity.Kind == conf.Absolute || name == "weight" && s.Capacity.Kind != conf.Weight:
		return 0, "the queue's capacity is " + s.Capacity.Kind.String(), true
	}
	return s.Capacity.Value, "", true
}

// SetProperty sets what Property reads (a maximum of -1: none), or says why not. The caller must ensure that the percentages of siblings sum to 100 in the end.
func (s *Share) SetProperty(name string, v float32) (why string) {
	percent := s.Capacity.Kind == conf.Percent
	switch {
	case name == "maximum-capacity" && v == -1:
		s.Maximum = conf.QueueShare{}
	case name == "maximum-capacity" && (v < 0 || v > 100):
		return "want a percentage from 0 to 100, or -1 for none"
	case name == "maximum-capacity" && percent && v < s.Capacity.Value:
		return fmt.Sprintf("it is below the queue's capacity %v", s.Capacity.Value)
	case name == "maximum-capacity":
		s.Maximum = conf.QueueShare{Kind: conf.Percent, Value: v}
	case v < 0 || percent && v > 100:
		return "want a percentage from 0 to 100, or a weight of at least 0"
	case percent && s.Maximum.Kind == conf.Percent && v > s.Maximum.Value:
		return fmt.Sprintf("it is above the queue's maximum-capacity %v", s.Maximum.Value)
	default:
		s.Capacity.Value = v
	}
	return ""
}
