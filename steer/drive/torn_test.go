package drive

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A crash tears the last line and no other: two lines that cannot be read are damage, and are told, even at the end.
func TestTwoUnreadableLinesAreDamage(t *testing.T) {
	dir := t.TempDir()
	j := mustOpen(t, dir)
	mustAppend(t, j, before(0.09), before(0.13), before(0.17))
	j.Close()
	path := filepath.Join(dir, journalFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	damaged := append(bytes.Clone(lines[0]), "{\n{"...)
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	entries, _, err := ReadJournal(dir)
	var damage *DamagedError
	if !errors.As(err, &damage) || len(entries) != 1 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
}
