package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/scenario"
)

// Every command has one text in verbs.txt, and every text a command.
func TestVerbTexts(t *testing.T) {
	texts := map[string]int{}
	for line := range strings.Lines(verbTexts) {
		if path, ok := strings.CutPrefix(line, "# "); ok {
			texts[strings.TrimSpace(path)]++
		}
	}
	var each func(*cobra.Command)
	each = func(cmd *cobra.Command) {
		if n := texts[cmd.CommandPath()]; n != 1 && !strings.HasPrefix(cmd.CommandPath(), "yardmaster completion") {
			t.Errorf("%s has %d texts", cmd.CommandPath(), n)
		}
		delete(texts, cmd.CommandPath())
		for _, sub := range cmd.Commands() {
			each(sub)
		}
	}
	each(newRoot(scenario.BuiltIn))
	for path := range texts {
		t.Errorf("there is no command %s", path)
	}
}
