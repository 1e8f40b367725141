//go:build unix

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/steer/drive/live"
)

// A journal that was emptied, cut short or removed is not taken for a closed one: the ResourceManager's marker names it.
func TestLostJournal(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(path string) error{
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"cut":     func(path string) error { return os.Truncate(path, 20) },
		"removed": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			rm, dir := leftBehind(t)
			if err := lose(filepath.Join(dir, "journal.jsonl")); err != nil {
				t.Fatal(err)
			}
			static := []string{"steer", "--queue", "default", "--policy", "static", "--set", "value=0.2", "--listen", "off", "--for", "2s", "--act"}
			for _, args := range [][]string{{"restore", "--list"}, {"restore"}, static} {
				code, text := ran(t, append([]string{"yarn", args[0], "--rm", rm.URL, "--user", "u", "--journal", dir}, args[1:]...)...)
				for _, want := range []string{"a change of it was not restored: root.default maximum-am-resource-percent (0.4 now)", "remove the markers (yarn.scheduler.capacity.root.default.yardmaster.journal)"} {
					if code != 1 || !strings.Contains(text, want) || strings.Contains(text, "nothing to restore.") {
						t.Errorf("%v: %d, want %q: %s", args, code, want, text)
					}
				}
			}
			if got := rm.setting(); got != "0.4" {
				t.Errorf("%q is set", got)
			}
			rm.set(func() { rm.mark = "" }) // a person has looked
			if code, text := ran(t, "yarn", "restore", "--rm", rm.URL, "--user", "u", "--journal", dir); code != 0 || !strings.Contains(text, "There is nothing to restore.") {
				t.Errorf("%d: %s", code, text)
			}
			rm.set(func() { rm.down = true })
			if code, text := ran(t, "yarn", "restore", "--rm", rm.URL, "--user", "u", "--journal", dir); code != 1 || !strings.Contains(text, "is empty, and the ResourceManager cannot be asked") {
				t.Errorf("%d: %s", code, text)
			}
			if code, text := ran(t, "yarn", "restore", "--journal", dir); code != 2 || !strings.Contains(text, "give --rm URL") {
				t.Errorf("%d: %s", code, text)
			}
		})
	}
}

// A marker of a folder of this machine that is gone is found without --journal, and keeps others from steering that queue. Those of other machines are not judged.
func TestRemovedJournal(t *testing.T) {
	t.Parallel()
	rm, base := newSteeredRM(t, ""), t.TempDir()
	ran := func(args ...string) (int, string) {
		c := exec.Command("yardmaster", args...)
		c.Env = append(os.Environ(), "XDG_STATE_HOME="+base)
		out, _ := c.CombinedOutput() // the exit code tells
		return c.ProcessState.ExitCode(), string(out)
	}
	steer := []string{"yarn", "steer", "--rm", rm.URL, "--user", "u", "--queue", "default", "--policy", "static", "--set", "value=0.2", "--listen", "off", "--for", "2s", "--act"}
	if code, text := ran(steer...); code != 0 {
		t.Fatalf("%d: %s", code, text)
	}
	gone := live.MarkOf(filepath.Join(base, "gone"))
	for mark, want := range map[string]int{gone: 1, "elsewhere:/x": 0} {
		rm.set(func() { rm.mark = mark })
		if code, text := ran("yarn", "restore"); code != want || want == 1 && !strings.Contains(text, "gone has nothing to restore, but") {
			t.Errorf("%s: %d, want %d: %s", mark, code, want, text)
		}
	}
	rm.set(func() { rm.mark = gone })
	if code, text := ran(steer...); code != 1 || !strings.Contains(text, "was not restored") {
		t.Errorf("%d: %s", code, text)
	}
}
