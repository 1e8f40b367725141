package hostile

import (
	"bytes"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/internal/yamlfile"
)

// A YAML file of any shape is read, or refused with its place, in memory in proportion to its bytes.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"a: b\n", "- x\n- y: {z: 1}\n", "a: &x 1\nb: *x\n", "a: |\n  text\n", "\t", "? a\n: b\n", "a: [1, 2", "---\na: 1\n---\nb: 2\n", "<<: {a: 1}\n"} {
		f.Add([]byte(s), uint16(1))
		f.Add([]byte(s), uint16(2000))
	}
	for _, s := range YAML(64) {
		f.Add([]byte(s), uint16(500))
	}
	f.Fuzz(func(t *testing.T, data []byte, times uint16) {
		data = bytes.Repeat(data, min(int(times), 32<<10/max(len(data), 1)))
		var n *yamlfile.Node
		var err error
		used := Allocated(func() { n, err = yamlfile.Parse("f.yaml", data) })
		if most := int64(1<<20 + 1024*len(data)); used > most {
			t.Fatalf("%d bytes make it allocate %d", len(data), used)
		}
		if (n == nil) == (err == nil) {
			t.Fatalf("node %v and error %v", n, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "f.yaml:") {
			t.Fatalf("error without a place: %v", err)
		}
	})
}
