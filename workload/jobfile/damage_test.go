package jobfile

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/workload"
)

// What is allocated while a damaged file is read, garbage included, bounds the memory that it can take.
const mostAllocated = 200 << 20

// TestDamage cuts, flips, overwrites and repeats bytes. A damaged file gives an error, or, where the damage hits bytes
// that carry no data (statistics, names of types), the jobs as they were. It never panics and never takes much memory.
func TestDamage(t *testing.T) {
	jobs := sample()
	whole := write(t, jobs)
	rnd := rand.New(rand.NewPCG(1, 2))
	refused, unseen := 0, 0
	try := func(what string, b []byte) {
		t.Helper()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := read(b)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > mostAllocated {
			t.Errorf("%s: %d MB were allocated", what, n>>20)
		}
		switch {
		case err != nil:
			refused++
		case !cmp.Equal(jobs, got, same):
			t.Errorf("%s: other jobs were read, without an error", what)
		default:
			unseen++
		}
	}
	for n := 0; n < len(whole); n += 1 + len(whole)/150 {
		try("cut", whole[:n])
	}
	for range 500 {
		b := bytes.Clone(whole)
		i := rnd.IntN(len(b))
		switch rnd.IntN(4) {
		case 0:
			b[i] ^= 1 << rnd.IntN(8)
		case 1:
			b[i] = byte(rnd.Uint32())
		case 2: // a large varint, as a hostile length would be
			copy(b[i:], "\xff\xff\xff\xff\x07")
		case 3:
			copy(b[i:], b[rnd.IntN(len(b)):])
		}
		if bytes.Equal(b, whole) {
			continue
		}
		try("damage", b)
	}
	footer := int(binary.LittleEndian.Uint32(whole[len(whole)-8:]))
	for i := len(whole) - 8 - footer; i < len(whole); i += 1 + footer/400 {
		b := bytes.Clone(whole)
		b[i] ^= byte(1 + rnd.IntN(255))
		got, err := read(b)
		if err != nil {
			refused++
		} else if len(got) != len(jobs) {
			t.Errorf("footer byte %d: %d jobs", i, len(got))
		}
	}
	t.Logf("%d bytes: %d variants refused, %d without effect", len(whole), refused, unseen)
	if refused < 300 {
		t.Errorf("only %d variants were refused", refused)
	}
}

func FuzzJobfile(f *testing.F) {
	f.Add(write(f, sample()))
	f.Add(asVersion1(f, sample()))
	f.Add(asVersion2(f, sample()))
	f.Add(write(f, nil))
	f.Add(write(f, workload.Slice{sample()[0]}))
	f.Add([]byte("PAR1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		jobs, err := read(b)
		if err != nil {
			return
		}
		for _, j := range jobs {
			if err := j.Validate(); err != nil {
				t.Fatal(err)
			}
		}
		again, err := read(write(t, jobs))
		if err != nil || len(again) != len(jobs) {
			t.Fatalf("what was read cannot be written and read again: %v", err)
		}
	})
}
