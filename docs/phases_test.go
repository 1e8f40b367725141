package docs_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/sim/mapreduce"
	"github.com/yardmaster/yardmaster/sim/mapreduce/modelfile"
)

// The model file of phases.md is taken and changes what the page says; what the page says is refused is refused in those words; and
// phases-reference.md has every key of the built-in model.
func TestPhases(t *testing.T) {
	data, err := os.ReadFile("phases.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	i := slices.IndexFunc(blocks(t, "phases.md"), func(b block) bool { return b.file == "four-disks.yaml" })
	if i < 0 {
		t.Fatal("the page has no four-disks.yaml")
	}
	text := blocks(t, "phases.md")[i].text
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
	table, err := os.ReadFile("phases-reference.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(model) {
		key, _, ok := strings.Cut(strings.TrimSpace(line), ":")
		if ok && !strings.HasPrefix(key, "#") && !strings.Contains(string(table), key) {
			t.Errorf("the page has no key %q", key)
		}
	}
}
