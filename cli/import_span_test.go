package cli

import (
	"io"
	"strings"
	"testing"
	"time"
)

// The span of an import is refused where it cannot be meant, before any server is asked.
func TestImportSpan(t *testing.T) {
	for args, want := range map[string]string{
		"--until yesterday":                     `--until: "yesterday" is not a length of time (7d, 36h), a day (2026-11-01) or a time (2026-11-01T14:30)`,
		"--until all":                           `--until: "all" is not`,
		"--since never":                         `--since: "never" is not a length of time (7d, 36h), a day (2026-11-01), a time (2026-11-01T14:30) or all`,
		"--since 1d --until 2d":                 "--until 2d ends before --since 1d begins",
		"--since 2026-11-02 --until 2026-11-01": "--until 2026-11-01 ends before --since 2026-11-02 begins",
		"--since 2026-11-02T10:00 --until 2026-11-02T09:00": "ends before --since 2026-11-02T10:00 begins",
		"--running --until 1d":                              "--running and --until conflict",
		"--since all --until 2026-11-01 --running":          "give one",
		"--since 2026-11-01 --until 2026-11-01 x":           `"x" is not a flag`,
		"--until 1d --rm-rate 0":                            "--rm-rate is from",
		"--since 36h --until 2h --anonymise --salt":         "flag needs an argument",
	} {
		cmd := newImportYarn()
		cmd.SetArgs(append(strings.Fields(args), "--rm", "http://127.0.0.1:1", "-o", t.TempDir()))
		if strings.HasSuffix(args, "--salt") {
			cmd.SetArgs(strings.Fields(args))
		}
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetOut(io.Discard)
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
	instant := time.Date(2026, 11, 1, 14, 30, 0, 0, time.Local)
	for _, text := range []string{"2026-11-01T14:30", "2026-11-01 14:30:00", instant.UTC().Format(time.RFC3339)} {
		if got, err := when("--since", text, time.Now()); err != nil || !got.Equal(instant) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	now := time.Now()
	if got, err := when("--until", "2h", now); err != nil || !got.Equal(now.Add(-2*time.Hour)) {
		t.Error(got, err)
	}
}
