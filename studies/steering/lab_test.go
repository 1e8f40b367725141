package steering

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/studies/harness"
)

// TestLabSteeringMini runs a batch of four tiny jobs under cbt with each scheduler, and one of all at once with the Capacity Scheduler.
func TestLabSteeringMini(t *testing.T) {
	if os.Getenv("YARDMASTER_LAB_TESTS") == "" {
		t.Skip("needs Hadoop and some minutes; set YARDMASTER_LAB_TESTS=1")
	}
	for scheduler, arms := range map[string][]string{"capacity": {"prj", "cbt"}, "fair": {"cbt"}} {
		t.Run(scheduler, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
			defer cancel()
			var log strings.Builder
			h := (&Study{Size: Mini, Schedulers: []string{scheduler}}).Study()
			h.Options = harness.Options{Dir: t.TempDir(), Only: arms, Repetitions: 1, Log: &log}
			if err := h.Record(ctx); err != nil {
				t.Fatalf("%v\n%s", err, log.String())
			}
			t.Log(log.String())
			list, err := kept(h.Dir, scheduler)
			if err != nil || len(list) != len(arms) {
				t.Fatalf("%d records, %v", len(list), err)
			}
			for _, b := range list {
				if err := b.whole(Mini.Jobs); err != nil {
					t.Errorf("%s: %v", b.Arm, err)
				}
				if _, over := b.overs(); over > 0 {
					t.Errorf("%s: AMs beyond the limit: %+v", b.Arm, b.Limits)
				}
				if b.Arm != "cbt" {
					continue
				}
				if len(b.raises()) == 0 {
					t.Errorf("cbt let nobody in: %+v", b.Lines)
				}
				for i, w := range b.Writes {
					// According to the ResourceManager. A file that is rewritten, or restored at the end, within 15 s may never be read.
					until := int64(b.span() * 1000)
					if i+1 < len(b.Writes) {
						until = b.Writes[i+1].Asked
					}
					if w.Took < 0 && until-w.Asked > 16_000 {
						t.Errorf("a change was never in force: %+v", w)
					}
				}
				if n := len(b.Limits); n > 0 && b.Limits[0].MB > 2*int64(Mini.ContainerMB) {
					t.Errorf("cbt began with room for more than one AM: %+v", b.Limits[0])
				}
			}
		})
	}
}
