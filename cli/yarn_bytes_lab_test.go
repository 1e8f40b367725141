//go:build unix

package cli

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/hadoop"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// On a real ResourceManager, as an ordinary user: a name of 2 MB with line breaks and requests for 3,000,000 containers. Every
// command goes on, says whose application that is, and prints no line that is not its own.
func TestLabEvilUser(t *testing.T) {
	w := newWhyLab(t, hadoop.Options{NodeMB: 8192, NodeVcores: 8})
	name := "etl\n" + forged + "\n" + strings.Repeat("n", 2<<20)
	w.submit(name, "eve", "root.adhoc", 1024, 0, true)
	eve := w.ids[name]
	var groups []hadoop.Group
	for i := range 3 {
		groups = append(groups, hadoop.Group{Count: 1_000_000, MB: 1024, Priority: i + 1, Hold: hadoop.Holds{600_000}})
	}
	w.hold(hadoop.Application{ID: "greedy", User: "eve", Queue: "root.adhoc", Containers: groups})
	w.await("greedy")

	note := eve + ", of user eve: its name of 2 MiB was cut to 64 KiB"
	says := func(part string, args ...string) {
		t.Helper()
		began := time.Now()
		code, text := ran(t, args...)
		if flat := strings.Join(strings.Fields(text), " "); code != exitDone || !strings.Contains(flat, note) || !strings.Contains(flat, part) {
			t.Errorf("%v: %d\n%.3000s", args, code, text)
		}
		readable(t, text)
		t.Logf("%v took %.1f s", args, time.Since(began).Seconds())
	}
	as := []string{"--rm", w.lab.RM(), "--user", "yardmaster"}
	greedy := fmt.Sprintf("%s, of user eve, waits for ", w.ids["greedy"])
	says(greedy, append([]string{"yarn", "eta", "--all"}, as...)...)
	says(greedy, append([]string{"yarn", "eta", eve}, as...)...)
	says(greedy, append([]string{"yarn", "why", w.ids["greedy"]}, as...)...)
	says("runs since", append([]string{"yarn", "why", eve}, as...)...)
	says("", append([]string{"yarn", "steer", "--queue", "root.adhoc", "--policy", "cbt", "--listen", "off", "--for", "3s"}, as...)...)
	w.ask(http.MethodPut, "apps/"+eve+"/state", "eve", map[string]string{"state": "KILLED"}, nil)
	eventually(t, "it is killed", func() bool {
		a, err := w.c.App(t.Context(), eve)
		return err == nil && a.State == "KILLED"
	})
	says("", append([]string{"import", "yarn", "--since", "all", "-o", filepath.Join(t.TempDir(), "out")}, as...)...)
	for a, err := range w.c.Apps(t.Context(), rest.AppFilter{}) {
		if err != nil || a.ID == eve && len(a.Name) > 64<<10 {
			t.Errorf("%v: a name of %d", err, len(a.Name))
		}
	}
}
