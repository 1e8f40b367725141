package conform

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The published table must match the stored records and today's simulator.
func TestPublishedTable(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	scenarios, err := Named("")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	rows, err := Compare(context.Background(), scenarios, filepath.Join(docs, "studies", "conformance"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d scenarios in %v", len(rows), time.Since(began).Round(time.Millisecond))
	text, err := Page(rows, "")
	if err != nil {
		t.Fatal(err)
	}
	published, err := os.ReadFile(filepath.Join(docs, "conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(string(published), "\n## Speed")
	text, _, _ = strings.Cut(text, "\n## Speed")
	if d := cmp.Diff(table, text); d != "" {
		t.Errorf("docs/conformance.md is not what the records say; if that is meant, run: go run ./studies conform --offline\n%s", d)
	}
}
