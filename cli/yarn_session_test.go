package cli

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/drive/live"
)

// What a steerer of several queues has left changed keeps a steerer of one of them from taking it for what is to be put back.
func TestLeftElsewhere(t *testing.T) {
	base := t.TempDir()
	t.Setenv("XDG_STATE_HOME", base)
	dir := filepath.Join(base, "yardmaster", "steer", "ab")
	j, err := live.OpenJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	v := drive.Value{Text: "0.3", Set: true, Number: 0.3}
	err = j.Append(drive.Entry{At: time.Now(), What: drive.Before, Engine: "yarn:rm:8088/root.a,root.b", Knob: drive.Knob{Kind: steer.SetQueue, Queue: "root.a", Property: "weight"}, Original: &v, New: &v})
	if err != nil || j.Close() != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		own, identity string
		left          bool
	}{
		{"", "yarn:rm:8088/root.b", true}, {"", "yarn:rm:8088/root.c", false}, {"", "yarn:other:8088/root.b", false}, {dir, "yarn:rm:8088/root.b", false},
	} {
		err := leftElsewhere(c.own, []string{"yarn:rm:8088/root.z", c.identity})
		if (err != nil) != c.left || c.left && !strings.Contains(err.Error(), "yarn restore --journal "+dir) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	// Journals lie side by side elsewhere, too, and a list of queues may be too long for an identity: then any queue may be meant.
	beside := t.TempDir()
	many := filepath.Join(beside, "many")
	if j, err = live.OpenJournal(many); err != nil {
		t.Fatal(err)
	}
	err = j.Append(drive.Entry{At: time.Now(), What: drive.Before, Engine: "yarn:rm2:8088/90-" + strings.Repeat("5", 64), Knob: drive.Knob{Kind: steer.SetPriority, Job: "application_1_0001"}, Original: &v, New: &v})
	if err != nil || j.Close() != nil {
		t.Fatal(err)
	}
	for identity, left := range map[string]bool{"yarn:rm2:8088/root.x": true, "yarn:rm3:8088/root.x": false} {
		if err := leftElsewhere(filepath.Join(beside, "own"), []string{identity}); (err != nil) != left {
			t.Errorf("%s: %v", identity, err)
		}
	}
	if got := queuesOf(&drive.Entry{Engine: "yarn:rm2:8088/90-5555"}); got != nil {
		t.Error(got)
	}
	if got := queuesOf(&drive.Entry{Engine: "yarn:http://rm:8088/root.a,root.b"}); len(got) != 2 || got[1] != "root.b" {
		t.Error(got)
	}
}
