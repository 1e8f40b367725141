//go:build unix

package cli

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/yardmaster/yardmaster/steer/session"
	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
)

// On a real ResourceManager: fourteen failing applications of one user do not force a rollback, and a journal that was emptied while a change is in force is not
// taken for a closed one.
func TestLabOneUserAndLostJournal(t *testing.T) {
	lab, c := labUp(t, hadoop.Options{NodeMB: 16384, NodeVcores: 64})
	w := &whyLab{T: t, lab: lab, c: c, ids: map[string]string{}}
	adhoc(t, lab, c, "alice", "bob")
	prod, batch := setting(t, c, "root.prod.capacity"), setting(t, c, "root.batch.capacity")
	journal := filepath.Join(t.TempDir(), "apply")
	y := started(t, "yarn", "apply", "--rm", lab.RM(), "--user", "yardmaster", "--journal", journal, "--keep", "mean elapsed of root.adhoc <= +1000 %", "--watch", "40s", "--act",
		"root.prod.capacity="+batch, "root.batch.capacity="+prod)
	y.until(t, "in force")
	for i := range 14 {
		name := fmt.Sprint("mallory-", i)
		w.submit(name, "mallory", "root.adhoc", 128, 0, false)
		w.ask(http.MethodPut, "apps/"+w.ids[name]+"/state", "mallory", map[string]string{"state": "KILLED"}, nil)
	}
	code := y.ends(t)
	text := strings.Join(y.lines, "\n") + y.err.String()
	t.Log(text)
	if code != 0 || !strings.Contains(text, `is broken by the applications of "mallory" only`) || setting(t, c, "root.prod.capacity") != batch {
		t.Errorf("%d, %s of root.prod", code, setting(t, c, "root.prod.capacity"))
	}

	journal = filepath.Join(t.TempDir(), "steer")
	static := []string{"yarn", "steer", "--rm", lab.RM(), "--user", "yardmaster", "--journal", journal, "--queue", "root.prod", "--policy", "static", "--set", "value=0.3",
		"--listen", "off", "--act"}
	y = started(t, static...)
	y.until(t, "msg=taken")
	pid, err := strconv.Atoi(strings.TrimSpace(readText(t, filepath.Join(journal, session.GuardFile))))
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err == nil {
		err = y.Process.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = y.ends(t) // it was killed
	file := filepath.Join(journal, "journal.jsonl")
	kept := readText(t, file)
	if err := os.Truncate(file, 0); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"yarn", "restore", "--journal", journal}, static} {
		if code, text := ran(t, args...); code != 1 || !strings.Contains(text, "was not restored: root.prod maximum-am-resource-percent (0.3 now)") {
			t.Errorf("%v: %d: %s", args, code, text)
		}
	}
	if err := os.WriteFile(file, []byte(kept), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"msg=restored", "There is nothing to restore."} {
		if code, text := ran(t, "yarn", "restore", "--journal", journal); code != 0 || !strings.Contains(text, want) {
			t.Errorf("%d, want %s: %s", code, want, text)
		}
	}
}
