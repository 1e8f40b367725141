package jhist

import (
	"encoding/binary"

	"github.com/twmb/avro"
)

// maxBlocks is the max number of blocks of a list; Hadoop writes one.
const maxBlocks = 16

// maxNesting is the max nesting of values; Hadoop's are seven deep.
const maxNesting = 64

// blocks counts the blocks of lists and maps. The decoder copies a list for every further block, so a list of many small
// blocks would take quadratic time.
type blocks struct {
	root  *avro.SchemaNode
	named map[string]*avro.SchemaNode
}

func newBlocks(s *avro.Schema) *blocks {
	w := &blocks{root: s.Root(), named: map[string]*avro.SchemaNode{}}
	w.define(w.root)
	return w
}

func (w *blocks) define(n *avro.SchemaNode) {
	if n == nil {
		return
	}
	if n.Name != "" {
		name := n.Name
		if n.Namespace != "" {
			name = n.Namespace + "." + name
		}
		w.named[name] = n
	}
	for i := range n.Fields {
		w.define(&n.Fields[i].Type)
	}
	for i := range n.Branches {
		w.define(&n.Branches[i])
	}
	w.define(n.Items)
	w.define(n.Values)
}

// few reports whether no list of the record at the start of b has too many blocks. Damage and truncation are left for the decoder to report.
func (w *blocks) few(b []byte) bool {
	r := blockReader{blocks: w, b: b, ok: true, few: true}
	r.value(w.root, 0)
	return r.few
}

type blockReader struct {
	*blocks
	b       []byte
	ok, few bool // ok: not yet at the end
}

func (r *blockReader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.ok = false
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *blockReader) skip(n int64) {
	if r.ok = r.ok && n >= 0 && n <= int64(len(r.b)); r.ok {
		r.b = r.b[n:]
	}
}

func (r *blockReader) value(n *avro.SchemaNode, depth int) {
	if depth > maxNesting || n == nil {
		r.ok = false
	}
	if !r.ok {
		return
	}
	switch n.Type {
	case "null":
	case "boolean":
		r.skip(1)
	case "int", "long", "enum":
		r.varint()
	case "float":
		r.skip(4)
	case "double":
		r.skip(8)
	case "bytes", "string":
		r.skip(r.varint())
	case "fixed":
		r.skip(int64(n.Size))
	case "record", "error":
		for i := range n.Fields {
			r.value(&n.Fields[i].Type, depth+1)
		}
	case "union":
		if i := r.varint(); i >= 0 && i < int64(len(n.Branches)) {
			r.value(&n.Branches[i], depth+1)
		} else {
			r.ok = false
		}
	case "array":
		r.list(n.Items, false, depth)
	case "map":
		r.list(n.Values, true, depth)
	default:
		r.value(r.named[n.Type], depth+1)
	}
}

func (r *blockReader) list(item *avro.SchemaNode, keys bool, depth int) {
	for block := 0; ; block++ {
		count := r.varint()
		if count < 0 {
			count = -count
			r.varint() // the block's bytes
		}
		if !r.ok || count == 0 {
			return
		}
		if block == maxBlocks {
			r.ok, r.few = false, false
			return
		}
		for before := -1; count > 0 && r.ok && before != len(r.b); count-- { // elements of no bytes need not be counted
			before = len(r.b)
			if keys {
				r.skip(r.varint())
			}
			r.value(item, depth+1)
		}
	}
}
