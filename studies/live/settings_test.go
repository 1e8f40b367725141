package live

import (
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/scenario"
)

// The changes must matter in the queue they are about, or there is nothing to measure.
func TestSettingsArms(t *testing.T) {
	dir := t.TempDir()
	if err := (&Settings{Size: SettingsFull}).Export(dir); err != nil {
		t.Fatal(err)
	}
	was, err := replays(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range settingsArms[1:] {
		is, err := replays(t.Context(), dir, a.Changes)
		if err != nil {
			t.Fatal(err)
		}
		if change := is[0][a.Queue]/was[0][a.Queue] - 1; math.Abs(change) < 2*clearChange {
			t.Errorf("%s changes %s by %+.2f", a.Name, a.Queue, change)
		}
	}
}

func TestSettingsExport(t *testing.T) {
	dir := t.TempDir()
	s := Settings{Size: SettingsMini}
	if err := s.Export(dir); err != nil {
		t.Fatal(err)
	}
	sc, err := scenario.Load(dir)
	if err == nil {
		_, err = sc.Resolve()
	}
	if err != nil {
		t.Error(err)
	}
}
