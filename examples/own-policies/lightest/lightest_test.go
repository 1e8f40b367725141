package lightest

import (
	"testing"

	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policytest"
)

func fresh() (policy.Policy, error) { return Entry.New(nil) }

// What every policy must keep.
func TestRules(t *testing.T) { policytest.Rules(t, fresh) }

// What this one does; -rewrite writes the expected output anew.
func TestScenarios(t *testing.T) {
	policytest.Golden(t, "testdata", func(string) (policy.Policy, error) { return fresh() })
}
