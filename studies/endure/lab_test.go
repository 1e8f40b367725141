package endure

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/host"
)

// endured runs one part in miniature and fails on every miss.
func endured(t *testing.T, s Study) {
	t.Helper()
	for _, m := range missed(t, s) {
		t.Error(m)
	}
}

// missed runs one part in miniature and returns its misses.
func missed(t *testing.T, s Study) []string {
	t.Helper()
	if os.Getenv("YARDMASTER_LAB_TESTS") == "" {
		t.Skip("needs Hadoop and a minute; set YARDMASTER_LAB_TESTS=1")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	var log strings.Builder
	s.Dir, s.Log, s.Binary, s.Brief, s.Seed = t.TempDir(), &log, built(t), true, 1
	if keep := os.Getenv("YARDMASTER_LAB_KEEP"); keep != "" {
		s.Work = filepath.Join(keep, "endure", s.Only[0])
	}
	if err := s.Run(ctx); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	text, err := Report(s.Dir, filepath.Join(s.Dir, "page.md"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s\n%s", log.String(), text)
	misses, err := Misses(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return misses
}

var program string

// built is the command, built once.
func built(t *testing.T) string {
	t.Helper()
	if program == "" {
		dir, err := os.MkdirTemp("", "yardmaster-endure-binary-")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o755); err != nil { // another account runs it
			t.Fatal(err)
		}
		if program, err = host.Build(t.Context(), dir, host.Product); err != nil {
			t.Fatal(err)
		}
	}
	return program
}

func TestMain(m *testing.M) {
	code := m.Run()
	if program != "" {
		_ = os.RemoveAll(filepath.Dir(program))
	}
	os.Exit(code)
}

// TestLabKill kills the steerer at random moments, with both schedulers.
func TestLabKill(t *testing.T) { endured(t, Study{Only: []string{"kills"}, Kills: 9}) }

// TestLabKnobs kills it while it turns properties of queues and the queues and priorities of applications.
func TestLabKnobs(t *testing.T) { endured(t, Study{Only: []string{"knobs"}, Knobs: 5}) }

// TestLabApply kills "yarn apply" at random moments.
func TestLabApply(t *testing.T) { endured(t, Study{Only: []string{"apply"}, Applies: 6}) }

// TestLabRestart restarts the ResourceManager under it.
func TestLabRestart(t *testing.T) { endured(t, Study{Only: []string{"restarts"}, Restarts: 1}) }

// TestLabFailover kills the active ResourceManager.
func TestLabFailover(t *testing.T) { endured(t, Study{Only: []string{"failovers"}, Failovers: 1}) }

// TestLabKerberos has it log in with a keytab.
func TestLabKerberos(t *testing.T) { endured(t, Study{Only: []string{"kerberos"}}) }

// TestLabLies injects wrong answers and refusals.
func TestLabLies(t *testing.T) { endured(t, Study{Only: []string{"lies"}}) }

// TestLabSize gives it a long list of applications. The duration of a sample also depends on the computer: a miss is retried.
func TestLabSize(t *testing.T) {
	s := Study{Only: []string{"size"}, Nodes: 50, Apps: []int{100, 1000}}
	if m := missed(t, s); len(m) > 0 {
		t.Log("again, for:", m)
		endured(t, s)
	}
}
