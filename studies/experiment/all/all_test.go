package all_test

import (
	"testing"

	"github.com/yardmaster/yardmaster/studies/experiment/all"
)

func TestStudiesAreWellFormed(t *testing.T) {
	names := map[string]bool{}
	for _, s := range all.Studies() {
		if err := s.Validate(); err != nil {
			t.Error(err)
		}
		if names[s.Name] {
			t.Errorf("two studies are called %s", s.Name)
		}
		names[s.Name] = true
	}
}
