package fixedseed_test

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
)

func TestCasesAreTheSame(t *testing.T) {
	if flag.Lookup("rapid.seed").Value.String() != "1" {
		t.Skip("another seed was asked for")
	}
	var runs [2][]uint64
	for i := range runs {
		rapid.Check(t, func(t *rapid.T) { runs[i] = append(runs[i], rapid.Uint64().Draw(t, "x")) })
	}
	for i, x := range runs[0] {
		if runs[1][i] != x {
			t.Fatalf("case %d is %d, then %d", i, x, runs[1][i])
		}
	}
}

// TestEveryPackageHasIt: a package that uses rapid and does not import fixedseed draws other cases each time.
func TestEveryPackageHasIt(t *testing.T) {
	uses, has := map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "node_modules" || len(name) > 2 && name[0] == '.') {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir := filepath.Dir(path)
		uses[dir] = uses[dir] || strings.Contains(string(text), "\"pgregory.net/rapid\"\n")
		has[dir] = has[dir] || strings.Contains(string(text), "_ \"github.com/yardmaster/yardmaster/internal/fixedseed\"\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for dir := range uses {
		if uses[dir] {
			n++
			if !has[dir] {
				t.Errorf("%s uses rapid and does not import internal/fixedseed", dir)
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d packages with properties found", n)
	}
}
