package policy_test

import (
	"os/exec"
	"strings"
	"testing"
)

// A module that imports policy builds with the standard library alone. Test dependencies count too: `go mod tidy` adds those of imported packages to the
// importer's go.sum, and rapid is the only one.
func TestImportsStandardLibraryOnly(t *testing.T) {
	const own, rapid = "github.com/yardmaster/yardmaster", "pgregory.net/rapid"
	for _, x := range []struct {
		args    []string
		allowed string
	}{
		{[]string{"-deps"}, own},
		{[]string{"-deps", "-test"}, own + " " + rapid},
	} {
		args := append([]string{"list", "-f", "{{with .Module}}{{.Path}}{{end}}"}, x.args...)
		out, err := exec.Command("go", append(args, ".", "./keyed", "../workload", "../unit", "../steer")...).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, module := range strings.Fields(string(out)) {
			if !strings.Contains(x.allowed, module) {
				t.Errorf("go list %s: %s", strings.Join(x.args, " "), module)
			}
		}
	}
}
