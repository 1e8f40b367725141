package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"yardmaster": func() { Main() }})
}

// TestScript types commands as a person would. Run with UPDATE=1 to rewrite what is compared as a whole.
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       os.Getenv("UPDATE") != "",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			root, err := filepath.Abs("..")
			e.Setenv("REPO", root)
			return err
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exitcode": exitcode,
			"jsonkeys": jsonkeys,
		},
	})
}

// exitcode CODE COMMAND...: the command ends with that code.
func exitcode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		code, ok := strings.CutPrefix(err.Error(), "exit status ")
		if !ok {
			ts.Fatalf("%v", err)
		}
		if got, err = strconv.Atoi(code); err != nil {
			ts.Fatalf("%v", err)
		}
	}
	if got != want {
		ts.Fatalf("%s ended with %d, not %d", strings.Join(args[1:], " "), got, want)
	}
}

// jsonkeys FILE KEY...: the file is one JSON object and has these keys; a.b is b in a.
func jsonkeys(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: jsonkeys FILE KEY...")
	}
	var root map[string]any
	if err := json.Unmarshal([]byte(ts.ReadFile(args[0])), &root); err != nil {
		ts.Fatalf("%s: %v", args[0], err)
	}
	for _, key := range args[1:] {
		at := root
		parts := strings.Split(key, ".")
		for i, p := range parts {
			v, ok := at[p]
			if !ok {
				ts.Fatalf("%s has no %s", args[0], key)
			}
			if i < len(parts)-1 {
				if at, ok = v.(map[string]any); !ok {
					ts.Fatalf("%s: %s is no object", args[0], p)
				}
			}
		}
	}
}
