package endure

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/studies/harness"
	"github.com/yardmaster/yardmaster/studies/lab/host"
)

// endured runs one part in miniature and fails on every miss.
func endured(t *testing.T, part string, s Study) {
	t.Helper()
	for _, m := range missed(t, part, s) {
		t.Error(m)
	}
}

// retried is for a part whose misses need not be the steerer's: one that misses is run once more.
func retried(t *testing.T, part string, s Study) {
	t.Helper()
	if m := missed(t, part, s); len(m) > 0 {
		t.Log("again, for:", m)
		endured(t, part, s)
	}
}

// missed runs one part in miniature and returns its misses.
func missed(t *testing.T, part string, s Study) []string {
	t.Helper()
	if os.Getenv("YARDMASTER_LAB_TESTS") == "" {
		t.Skip("needs Hadoop and a minute; set YARDMASTER_LAB_TESTS=1")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	var log strings.Builder
	s.Brief, s.Seed = true, 1
	h := s.Study()
	h.Options = harness.Options{Repetitions: 1, Only: []string{part}, Dir: filepath.Join(t.TempDir(), "endure"), Log: &log, Binary: built(t)}
	if keep := os.Getenv("YARDMASTER_LAB_KEEP"); keep != "" {
		h.Work = filepath.Join(keep, "endure", part)
	}
	if err := h.Record(ctx); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	text, _, err := h.Report(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s\n%s", log.String(), text)
	_, list, err := h.Records()
	if err != nil {
		t.Fatal(err)
	}
	return recordsOf(list).misses()
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
func TestLabKill(t *testing.T) { endured(t, "kills", Study{Kills: 9}) }

// TestLabKnobs kills it while it turns properties of queues and the queues and priorities of applications.
func TestLabKnobs(t *testing.T) { endured(t, "knobs", Study{Knobs: 5}) }

// TestLabApply kills "yarn apply" at random moments.
func TestLabApply(t *testing.T) { endured(t, "apply", Study{Applies: 6}) }

// TestLabRestart restarts the ResourceManager under it.
func TestLabRestart(t *testing.T) { endured(t, "restarts", Study{Restarts: 1}) }

// TestLabFailover kills the active ResourceManager. On a loaded computer the new one has failed applications that it recovered, because it knew nothing of their
// delegation tokens.
func TestLabFailover(t *testing.T) { retried(t, "failovers", Study{Failovers: 1}) }

// TestLabKerberos has it log in with a keytab.
func TestLabKerberos(t *testing.T) { endured(t, "kerberos", Study{}) }

// TestLabLies injects wrong answers and refusals.
func TestLabLies(t *testing.T) { endured(t, "lies", Study{}) }

// TestLabSoak leaves it running for a while.
func TestLabSoak(t *testing.T) { endured(t, "soak", Study{SoakFor: 24 * time.Second}) }

// TestLabUpgrade stops it and starts another under the same journal, in each way.
func TestLabUpgrade(t *testing.T) { endured(t, "upgrades", Study{Upgrades: 3}) }

// TestLabDays rehearses steering for a virtual day.
func TestLabDays(t *testing.T) { endured(t, "days", Study{Days: 1}) }

// TestLabSize gives it a long list of applications. The duration of a sample also depends on the computer.
func TestLabSize(t *testing.T) { retried(t, "size", Study{Nodes: 50, Apps: []int{100, 1000}}) }
