package study

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/lab/evidence"
)

// TestLabDeadlines runs the four applications on real daemons: the max-scheduler meets what first in, first out misses, and leaves no trace.
func TestLabDeadlines(t *testing.T) {
	ctx := needLab(t)
	var log strings.Builder
	s := Deadlines{Runs: 1, Only: []string{"fifo", "max"}, Dir: t.TempDir(), Log: &log}
	err := s.Record(ctx)
	t.Log(log.String())
	if err != nil {
		t.Fatal(err)
	}
	_, list, err := evidence.ReadRecords[DeadlineRecord](s.Dir, deadlineSeries, deadlineExt)
	if err != nil {
		t.Fatal(err)
	}
	missed := map[string]int{}
	for i := range list[0].Arms {
		a := &list[0].Arms[i]
		missed[a.Name] = a.Missed()
		for _, l := range a.Lines {
			t.Logf("%s %6.1f %s %s %s", a.Name, l.At, l.Kind, l.Knob, l.Why)
		}
		if !a.Restored {
			t.Errorf("%s: the configuration is not what it was", a.Name)
		}
	}
	for _, app := range list[0].Arms[1].Apps {
		if app.Late() > 2 { // the computer is busy with other tests
			t.Errorf("max: %s is %.1f s late", app.ID, app.Late())
		}
	}
	if missed["fifo"] <= missed["max"] {
		t.Errorf("missed %v", missed)
	}
}

// The page is what its records give.
func TestDeadlinesPage(t *testing.T) {
	kept := filepath.Join("..", "..", "docs", "studies")
	s := Deadlines{Dir: filepath.Join(kept, "deadlines-live")}
	text, _, err := s.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want, err := os.ReadFile(filepath.Join(kept, "deadlines-live.md")); err != nil || string(want) != text {
		t.Errorf("docs/studies/deadlines-live.md is not what its records give (%v): go run ./lab study deadlines --offline", err)
	}
}
