package cli

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/yardmaster/yardmaster/scenario"
)

// Every flag of every verb either takes a list, and says so, or refuses a second value.
func TestFlagsRefuseRepeats(t *testing.T) {
	single, lists := 0, 0
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			f.Changed = true // as after a first value
			var twice *repeatedError
			refused := errors.As(f.Value.Set("2"), &twice)
			switch list := slices.Contains([]string{"stringSlice", "stringArray"}, f.Value.Type()) || strings.HasSuffix(f.Usage, "(repeatable)"); {
			case !list && !refused:
				t.Errorf("%s --%s takes the second of two values", cmd.CommandPath(), f.Name)
			case list:
				lists++
			default:
				single++
			}
		})
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(scenario.BuiltIn))
	if single < 100 || lists < 5 {
		t.Errorf("only %d flags with one value and %d with several were found", single, lists)
	}
}
