package main

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
	if got := queuesOf(&drive.Entry{Engine: "yarn:http://rm:8088/root.a,root.b"}); len(got) != 2 || got[1] != "root.b" {
		t.Error(got)
	}
}
