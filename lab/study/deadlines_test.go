package study

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/lab/evidence"
)

// TestLabDeadlines runs the four applications on real daemons: the max-scheduler meets what first in, first out misses, and leaves no trace. The
// computer is busy with other tests, so a run in which an application is late is repeated.
func TestLabDeadlines(t *testing.T) {
	ctx := needLab(t)
	s := Deadlines{Runs: 1, Only: []string{"fifo", "max"}, Dir: t.TempDir()}
	for try := 1; ; try++ {
		var log strings.Builder
		s.Log = &log
		err := s.Record(ctx)
		t.Log(log.String())
		if err != nil {
			t.Fatal(err)
		}
		_, list, err := evidence.ReadRecords[DeadlineRecord](s.Dir, deadlineSeries, deadlineExt)
		if err != nil {
			t.Fatal(err)
		}
		arms := list[len(list)-1].Arms
		for i := range arms {
			a := &arms[i]
			for _, l := range a.Lines {
				t.Logf("%s %6.1f %s %s %s", a.Name, l.At, l.Kind, l.Knob, l.Why)
			}
			if !a.Restored {
				t.Errorf("%s: the configuration is not what it was", a.Name)
			}
		}
		late := 0.0
		for _, app := range arms[1].Apps {
			late = max(late, app.Late())
		}
		if late <= 2 && arms[0].Missed() > arms[1].Missed() {
			return
		}
		t.Logf("try %d: max mode is up to %.1f s late and misses %d, first in, first out %d", try, late, arms[1].Missed(), arms[0].Missed())
		if try == 3 {
			t.Fatal("no run was in time")
		}
	}
}

// The pages are what their records give.
func TestLivePages(t *testing.T) {
	dir, copied := filepath.Join("..", "..", "docs", "studies"), t.TempDir()
	for _, name := range []string{"sizes-live", "settings-live"} { // they write there
		if err := os.CopyFS(filepath.Join(copied, name), os.DirFS(filepath.Join(dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	for name, report := range map[string]func(context.Context) (string, string, error){
		"deadlines": (&Deadlines{Dir: filepath.Join(dir, "deadlines-live")}).Report,
		"sizes":     (&Sized{Dir: filepath.Join(copied, "sizes-live")}).Report,
		"settings":  (&Settings{Dir: filepath.Join(copied, "settings-live")}).Report,
	} {
		text, _, err := report(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name+"-live.md")
		if want, err := os.ReadFile(file); err != nil || string(want) != text {
			t.Errorf("%s is not what its records give (%v): go run ./lab study %s --offline", file, err, name)
		}
	}
}
