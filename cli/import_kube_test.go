package cli

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestImportKube types import kube and import prometheus as a person would. $RECORDED is what kubectl showed of a real cluster. Real API servers and a real
// Prometheus are met in the module kube.
func TestImportKube(t *testing.T) {
	t.Parallel()
	recorded, err := filepath.Abs("../workload/kube/testdata/cluster.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/kube",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("RECORDED", recorded)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"exitcode": exitcode},
	})
}
