package docs_test

import (
	"os"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/sim/mapreduce"
	"github.com/yardmaster/yardmaster/sim/mapreduce/modelfile"
)

// The model file of phases.md is taken and changes what the page says; what the page says is refused is refused in those words; and
// the table of keys has every key of the built-in model.
func TestPhases(t *testing.T) {
	data, err := os.ReadFile("phases.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	blocks := strings.Split(page, "```yaml\n")[1:]
	if len(blocks) != 1 {
		t.Fatalf("%d model files on the page, want 1", len(blocks))
	}
	text, _, _ := strings.Cut(blocks[0], "```")
	m, err := modelfile.Parse("four-disks.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if usual := mapreduce.MRPERF2010(); m.Name != "four-disks" || m.Machine.Disks == usual.Machine.Disks || m.Copiers != 5 || m.MapCycles != usual.MapCycles {
		t.Errorf("the page's model is %+v", m)
	}
	_, err = modelfile.Parse("four-disks.yaml", []byte(strings.Replace(text, "copiers:", "copier:", 1)))
	if err == nil || !strings.Contains(page, "```\n"+err.Error()+"\n```") {
		t.Errorf("the page does not show what is said:\n%v", err)
	}
	model, err := modelfile.Text(modelfile.Default)
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(page, "## The keys")
	for line := range strings.Lines(model) {
		key, _, ok := strings.Cut(strings.TrimSpace(line), ":")
		if ok && !strings.HasPrefix(key, "#") && !strings.Contains(table, key) {
			t.Errorf("the page has no key %q", key)
		}
	}
}
