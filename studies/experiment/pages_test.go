package experiment_test

import (
	"bytes"
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

// Every page and picture is what the findings that are kept beside it give.
func TestPagesAreOfTheirFindings(t *testing.T) {
	const dir = "../../docs/reproductions/"
	files, err := filepath.Glob(dir + "data/*.json*")
	if err != nil || len(files) != len(all.Studies()) {
		t.Fatalf("%d files of findings, %d studies: %v", len(files), len(all.Studies()), err)
	}
	pages := map[string]string{
		"capacity": "capacity-scheduler", "deadline": "deadlines", "defaults": "defaults", "hybrid": "hybrid-cluster",
		"jobpacker": "jobpacker", "marp": "marp", "nas": "network-aware", "slowdown": "slowdown-variability",
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }() // read only
			found, err := experiment.ReadJSON(f)
			if err != nil {
				t.Fatal(err)
			}
			same := func(name string, write func(*bytes.Buffer) error) {
				t.Helper()
				var b bytes.Buffer
				if err := write(&b); err != nil {
					t.Fatal(err)
				}
				if want, err := os.ReadFile(dir + name); err != nil || !bytes.Equal(want, b.Bytes()) {
					t.Errorf("%s is not what %s gives (%v): write it with reproduce --from %s --markdown", name, path, err, path)
				}
			}
			s := &found.Studies[0]
			same(pages[s.Name]+".md", func(b *bytes.Buffer) error { return found.WriteMarkdown(b, found.Command) })
			if s.Pictured() {
				same("pictures/"+s.Name+".svg", func(b *bytes.Buffer) error { return s.WritePicture(b) })
			}
		})
	}
}
