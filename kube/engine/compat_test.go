package engine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/yardmaster/yardmaster/policy/live"
	"github.com/yardmaster/yardmaster/unit"
)

// What earlier releases have saved is still known: see docs/compatibility.md. The files are never changed.
func TestStatesOfReleases(t *testing.T) {
	files, err := filepath.Glob("testdata/state-v*.json.gz")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var s state
		if err := s.unpack(text); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if s.Policy != "fbq:limits=60" || s.Settings["policy"] != s.Policy || s.Epoch.IsZero() || s.Core == nil || s.Core.Jobs["team/long"] != (live.SavedJob{Order: 1, Gone: 90 * unit.Second}) {
			t.Errorf("%s: %+v", file, s)
		}
		settings, err := parse(s.Settings)
		if err != nil {
			t.Fatal(err)
		}
		core, err := live.New(settings.fresh, live.Config{Now: func() unit.Time { return s.Now }})
		if err != nil {
			t.Fatal(err)
		}
		if refused := core.Start(s.Core); refused != nil {
			t.Errorf("%s: %v", file, refused)
		}
	}
}
