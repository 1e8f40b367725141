package experiment_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/yardmaster/yardmaster/studies/experiment"
	"github.com/yardmaster/yardmaster/studies/experiment/all"
)

// Every page under docs/reproductions carries the fingerprint of the study that it was printed from: its data and the figures of a few
// cheap runs. A page that today's code would print differently is stale.
func TestPagesAreFresh(t *testing.T) {
	pages, err := filepath.Glob("../../docs/reproductions/*.md")
	if err != nil {
		t.Fatal(err)
	}
	studies := map[string]*experiment.Study{}
	for _, s := range all.Studies() {
		studies[s.Name] = s
	}
	for _, path := range pages {
		t.Run(filepath.Base(path), func(t *testing.T) {
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }() // read only
			printed, err := experiment.PageFingerprints(f)
			if err != nil {
				t.Fatal(err)
			}
			if len(printed) == 0 {
				t.Fatal("it carries no fingerprint: write it with scripts/reproductions.sh")
			}
			for name, fingerprint := range printed {
				s := studies[name]
				if s == nil {
					t.Errorf("it is of a study %s, which is not there", name)
					continue
				}
				if err := s.Fresh(context.Background(), fingerprint); err != nil {
					t.Errorf("%v: write it again with scripts/reproductions.sh", err)
				}
			}
		})
	}
}
