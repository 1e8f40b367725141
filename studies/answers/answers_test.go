package answers

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The miniature of the study: what is said of the lab's history survives other replays.
func TestAnswersHold(t *testing.T) {
	work := t.TempDir()
	tool := filepath.Join(work, "yardmaster")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", tool, "../../cmd/yardmaster").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.CopyFS(work, os.DirFS("../../docs/studies/settings-live/history-1")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(work, os.DirFS("lab")); err != nil {
		t.Fatal(err)
	}
	for _, clock := range []string{"ideal", "hadoop"} {
		r, err := ask(t.Context(), tool, "lab", work, clock)
		if err != nil {
			t.Fatal(err)
		}
		claims, overturned := 0, 0
		for _, a := range r.Answers {
			for _, c := range a.Claims {
				claims++
				if c.Overturn {
					overturned++
					t.Logf("%s, clock %s: %+v", a.Text, clock, c)
				}
			}
		}
		if claims < len(r.Answers) || 20*overturned > claims {
			t.Errorf("clock %s: %d of %d claims are overturned", clock, overturned, claims)
		}
	}
}
