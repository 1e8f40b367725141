package marp

import (
	"fmt"
	"testing"

	"github.com/yardmaster/yardmaster/steer"
)

// BenchmarkStep is one look at a queue of 10,000 jobs.
func BenchmarkStep(b *testing.B) {
	for _, name := range []string{"cbt", "cbtws", "ahead"} {
		b.Run(name, func(b *testing.B) {
			y := newYard(b, name, 0, func(s *Settings) { s.Service = true })
			for i := range 10_000 {
				y.jobs = append(y.jobs, steer.Job{ID: fmt.Sprint("application_", i), Queue: "root.default", Started: i < 500, Progress: float64(i % 50), Running: 3})
			}
			snap := y.snapshot()
			b.ReportAllocs()
			for b.Loop() {
				snap.Now += 60 * sec
				y.c.Step(snap)
			}
		})
	}
}
