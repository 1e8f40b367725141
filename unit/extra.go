package unit

import (
	"encoding/binary"
	"fmt"
	"iter"
	"strings"
	"unique"
)

// Limits on the named resources of a file; see Check.
const (
	MaxNames = 16
	MaxName  = 64      // bytes of a name
	MaxCount = 1 << 40 // of one resource
)

// Pods is the resource that counts pods, of which each asks for one. Where it counts, cores are thousandths, as in Kubernetes.
const Pods = "pods"

// Extra counts named resources beyond memory and CPU: GPUs, licences, local storage. It is immutable, compares with ==, and costs one
// comparison where there are none, which is the zero value. A name that it does not list counts 0.
type Extra struct {
	// h is the canonical list: by ascending name, without zero counts, each as the name's length in one byte, the name, and the count in eight.
	h unique.Handle[string]
}

// Named returns n of one resource, whose name has at most 255 bytes. For names from files, use With.
func Named(name string, n int64) Extra {
	if n == 0 {
		return Extra{}
	}
	return Extra{unique.Make(string(appendCount(nil, name, n)))}
}

// Uses are the resources whose use a run measures besides memory: the named ones, and where pods count "cpu", in thousandths.
func (r Resources) Uses() Extra {
	if r.Extra == (Extra{}) { // this form can be inlined
		return Extra{}
	}
	return r.uses()
}

func (r Resources) uses() Extra {
	if r.Extra.Of(Pods) == 0 {
		return r.Extra
	}
	return r.Extra.merge(Named("cpu", r.Cores), plus)
}

// With returns x with n of a resource instead of what it had, as a file says; see Check for what it refuses.
func (x Extra) With(name string, n int64) (Extra, error) {
	if len(name) > MaxName {
		return x, fmt.Errorf("%.20q... is longer than %d letters", name, MaxName)
	}
	x = x.merge(Named(name, n-x.Of(name)), plus)
	return x, x.Check()
}

// Check reports the first resource that no node and no container can have. Kubernetes' and YARN's names are valid: nvidia.com/gpu, yarn.io/gpu.
func (x Extra) Check() error {
	valid := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.ContainsRune("-._/", c)
	}
	names := 0
	for name, n := range x.All() {
		if names++; names > MaxNames {
			return fmt.Errorf("more than %d named resources", MaxNames)
		}
		if name == "" || strings.ContainsFunc(name, func(c rune) bool { return !valid(c) }) {
			return fmt.Errorf("%q cannot name a resource: write lower-case letters, digits and - . _ /, as in nvidia.com/gpu", name)
		}
		if n < 0 || n > MaxCount {
			return fmt.Errorf("%d %s is not between 0 and %d", n, name, int64(MaxCount))
		}
	}
	return nil
}

// All yields names and counts by ascending name; no count is 0.
func (x Extra) All() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for rest := x.list(); rest != ""; {
			var name string
			var n int64
			if name, n, rest = cut(rest); !yield(name, n) {
				return
			}
		}
	}
}

// Of returns the count of a resource.
func (x Extra) Of(name string) int64 {
	for s, n := range x.All() {
		if s == name {
			return n
		}
	}
	return 0
}

// Equal is ==.
func (x Extra) Equal(o Extra) bool { return x == o }

// String lists x as "4 gpu, 1 licence".
func (x Extra) String() string {
	var all []string
	for name, n := range x.All() {
		if name == Pods && n == 1 {
			name = "pod"
		}
		all = append(all, fmt.Sprintf("%d %s", n, name))
	}
	return strings.Join(all, ", ")
}

func (x Extra) list() string {
	if x == (Extra{}) {
		return ""
	}
	return x.h.Value()
}

// cut splits the first count off a list that is not empty.
func cut(list string) (name string, n int64, rest string) {
	k := 1 + int(list[0])
	return list[1:k], int64(binary.BigEndian.Uint64([]byte(list[k : k+8]))), list[k+8:]
}

func appendCount(list []byte, name string, n int64) []byte {
	return binary.BigEndian.AppendUint64(append(append(list, byte(len(name))), name...), uint64(n))
}

func plus(a, b int64) int64    { return a + b }
func minus(a, b int64) int64   { return a - b }
func less(a, b int64) int64    { return min(a, b) }
func greater(a, b int64) int64 { return max(a, b) }

// merge returns r with the named resources of both, each count combined by f.
//
//go:noinline
func (r Resources) merge(o Resources, f func(a, b int64) int64) Resources {
	r.Extra = r.Extra.merge(o.Extra, f)
	return r
}

//go:noinline
func (r Resources) multiply(n int64) Resources {
	r.Extra = r.Extra.merge(Extra{}, func(a, _ int64) int64 { return a * n })
	return r
}

// merge combines the counts of each name, of which f(0, 0) is 0.
func (x Extra) merge(o Extra, f func(a, b int64) int64) Extra {
	var room [128]byte
	out := room[:0]
	for a, b := x.list(), o.list(); a != "" || b != ""; {
		var name string
		var n, m int64
		switch order := compareFirst(a, b); {
		case order < 0:
			name, n, a = cut(a)
		case order > 0:
			name, m, b = cut(b)
		default:
			name, n, a = cut(a)
			_, m, b = cut(b)
		}
		if k := f(n, m); k != 0 {
			out = appendCount(out, name, k)
		}
	}
	if len(out) == 0 {
		return Extra{}
	}
	return Extra{unique.Make(string(out))}
}

// compareFirst compares the first names of two lists; a list at its end is after every other.
func compareFirst(a, b string) int {
	switch {
	case a == "":
		return 1
	case b == "":
		return -1
	}
	x, _, _ := cut(a)
	y, _, _ := cut(b)
	return strings.Compare(x, y)
}

func (x Extra) fits(room Extra) bool {
	for name, n := range x.All() {
		if n > room.Of(name) {
			return false
		}
	}
	return true
}

// DominantShare returns the largest of x's shares of total.
func (x Extra) DominantShare(total Extra) float64 {
	s := 0.0
	for name, n := range x.All() {
		if t := total.Of(name); t > 0 {
			s = max(s, float64(n)/float64(t))
		}
	}
	return s
}
