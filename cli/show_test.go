package cli

import (
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/result"
)

// Figures stand under their own heading, also where none of a queue's jobs finished.
func TestQueuesUnderTheirHeading(t *testing.T) {
	with := result.Group{Name: "a", Jobs: 2, Slowdown: result.Stats{Count: 2, Median: 1.5, P95: 3}}
	without := result.Group{Name: "b", Jobs: 1}
	for _, c := range []struct {
		groups []result.Group
		want   string
	}{
		{[]result.Group{with, without}, "slowdown"}, {[]result.Group{without, with}, "slowdown"},
		{[]result.Group{without, without}, "elapsed"},
	} {
		var out strings.Builder
		showQueues(&out, c.groups, term.Ink{})
		head, rows, _ := strings.Cut(out.String(), "\n")
		none := strings.Contains(rows, " - ")
		if !strings.Contains(head, "median "+c.want) || !strings.Contains(rows, "b ") || none != (c.want == "slowdown") {
			t.Errorf("under %q:\n%s", head, rows)
		}
	}
}
