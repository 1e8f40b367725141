package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
)

// Every module that the command is built from is in its bill of materials, with its version and sum, and Go itself.
func TestEveryModuleIsListed(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command")
	}
	bin := filepath.Join(t.TempDir(), "yardmaster")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "github.com/yardmaster/yardmaster/cmd/yardmaster").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var text, again bytes.Buffer
	if err := write(&text, bin); err != nil {
		t.Fatal(err)
	}
	if err := write(&again, bin); err != nil || !bytes.Equal(text.Bytes(), again.Bytes()) {
		t.Errorf("a second time it is another: %v", err)
	}
	var b bom
	if err := json.Unmarshal(text.Bytes(), &b); err != nil {
		t.Fatal(err)
	}
	listed := map[string]component{}
	for _, c := range b.Components {
		listed[c.URL] = c
	}
	info, err := buildinfo.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Deps) < 10 || len(b.Components) != len(info.Deps)+1 || listed["pkg:golang/std@"+info.GoVersion].Name != "std" {
		t.Errorf("%d components of %d modules", len(b.Components), len(info.Deps))
	}
	for _, m := range info.Deps {
		c := listed["pkg:golang/"+m.Path+"@"+m.Version]
		if c.Version != m.Version || len(c.Properties) != 1 || c.Properties[0].Value != m.Sum {
			t.Errorf("%s: %+v", m.Path, c)
		}
	}
	if b.Metadata.Component.Name != "github.com/yardmaster/yardmaster" || len(b.Metadata.Component.Hashes) != 1 {
		t.Errorf("the program: %+v", b.Metadata.Component)
	}
}
