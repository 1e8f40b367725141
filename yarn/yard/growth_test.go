package yard

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// longFile is a file of n like pieces in which an edit has one setting of root.a to find.
type longFile struct {
	kind                 fileKind
	before, piece, after string // piece: %d counts
}

func (l longFile) text(n int) []byte {
	var b strings.Builder
	b.WriteString(l.before)
	for i := range n {
		b.WriteString(strings.ReplaceAll(l.piece, "%d", fmt.Sprint(i)))
	}
	b.WriteString(l.after)
	return []byte(b.String())
}

func longFiles() map[string]longFile {
	const queues = "<property><name>yarn.scheduler.capacity.root.queues</name><value>a</value></property></configuration>"
	return map[string]longFile{
		"text around comments":   {propertyFile, "<configuration>", "some text <!-- -->", queues},
		"text around CDATA":      {propertyFile, "<configuration>", "some text<![CDATA[ ]]>", queues},
		"text inside a value":    {propertyFile, "<configuration><property><name>x</name><value>", "0.1 <!-- -->", "</value></property>" + queues},
		"properties":             {propertyFile, "<configuration>", "<property><name>a%d</name><value>b</value></property>\n", queues},
		"one property":           {propertyFile, "<configuration>", "<property><name>a</name><value>b</value></property>\n", queues},
		"nested configurations":  {propertyFile, "<configuration>", "<configuration>\n</configuration>", queues},
		"queues":                 {allocationFile, "<allocations>", "<queue name=\"q%d\"/>\n", `<queue name="a"/></allocations>`},
		"text around a queue":    {allocationFile, "<allocations>", " <!-- -->", `<queue name="a"/></allocations>`},
		"text around its fields": {allocationFile, `<allocations><queue name="a">`, "<weight>1</weight> ", "</queue></allocations>"},
	}
}

// A file four times as long takes about four times as much memory to change, whatever it is made of. (Time would say the same on a machine
// that has nothing else to do: see BenchmarkEdit.)
func TestEditGrowsLinearly(t *testing.T) {
	for name, l := range longFiles() {
		takes := func(n int) float64 {
			data := l.text(n)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := (&editedFile{"FILE", l.kind}).edit(data, "root.a", set("0.125")); err != nil {
				t.Fatalf("%s: %.300v", name, err)
			}
			runtime.ReadMemStats(&after)
			return float64(after.TotalAlloc - before.TotalAlloc)
		}
		small, large := takes(500), takes(2000)
		if ratio := large / small; ratio > 6 { // quadratic: towards 16
			t.Errorf("%s: %.0f KB, and %.0f KB for four times as much: %.1f times", name, small/1e3, large/1e3, ratio)
		} else {
			t.Logf("%s: %.1f", name, ratio)
		}
	}
}

// The throughput must not fall with the size: divide the figures of one run.
func BenchmarkEdit(b *testing.B) {
	for name, l := range longFiles() {
		for _, size := range []int{64 << 10, 1 << 20, 15 << 20} {
			data := l.text(size / len(l.piece))
			b.Run(fmt.Sprintf("%s/%dKiB", strings.ReplaceAll(name, " ", "-"), size>>10), func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				for range b.N {
					if _, err := (&editedFile{"FILE", l.kind}).edit(data, "root.a", set("0.125")); err != nil {
						b.Fatalf("%.300v", err)
					}
				}
			})
		}
	}
}
