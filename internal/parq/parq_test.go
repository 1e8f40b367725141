package parq

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
)

type inner struct {
	Values []int64  `parquet:"values,list"`
	Names  []string `parquet:"names,list"`
}

type row struct {
	ID   string  `parquet:"id"`
	N    int32   `parquet:"n"`
	X    float64 `parquet:"x"`
	List []inner `parquet:"list,list"`
	Opt  *inner  `parquet:"opt,optional"`
}

var lim = Limits{First: 100, Deeper: 1 << 20}

func file(t testing.TB, rows []row) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter[row](&b, map[string]string{"b": "2", "a": "1", "c": "3"})
	for i := range rows {
		if err := w.Write(rows[i : i+1]); err != nil {
			t.Fatal(err)
		}
		if w.Pending() == 50 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func load(b []byte) ([]row, error) {
	r, err := NewReader[row](bytes.NewReader(b), int64(len(b)), lim)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var rows []row
	for {
		x, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows = append(rows, *x)
	}
}

func someRows(n int) []row {
	rnd := rand.New(rand.NewPCG(1, 9))
	rows := make([]row, n)
	for i := range rows {
		r := row{ID: strings.Repeat("x", i%5), N: int32(i), X: rnd.Float64()}
		for range rnd.IntN(4) {
			var in inner
			for range rnd.IntN(20) {
				in.Values = append(in.Values, rnd.Int64())
				in.Names = append(in.Names, "name")
			}
			r.List = append(r.List, in)
		}
		if i%3 == 0 {
			r.Opt = &inner{Values: []int64{1}}
		}
		rows[i] = r
	}
	return rows
}

// TestGuardTakesWhatTheWriterMakes, in many shapes of lists: the guard's own reading of levels agrees with the library's.
func TestGuardTakesWhatTheWriterMakes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 120).Draw(t, "rows")
		skew := rapid.IntRange(1, 60).Draw(t, "skew")
		rows := make([]row, n)
		for i := range rows {
			for range rapid.IntRange(0, skew).Draw(t, "list") % 9 {
				rows[i].List = append(rows[i].List, inner{Values: make([]int64, (i*skew)%23)})
			}
		}
		var b bytes.Buffer
		w := NewWriter[row](&b, nil)
		if err := errors.Join(w.Write(rows), w.Close()); err != nil {
			t.Fatal(err)
		}
		got, err := load(b.Bytes())
		if err != nil || len(got) != n {
			t.Fatalf("%d of %d rows: %v", len(got), n, err)
		}
		for i := range rows {
			if len(got[i].List) != len(rows[i].List) {
				t.Fatalf("row %d has %d of %d elements", i, len(got[i].List), len(rows[i].List))
			}
		}
	})
}

func TestRowsStayAfterReading(t *testing.T) {
	rows := someRows(300)
	got, err := load(file(t, rows))
	if err != nil || len(got) != 300 {
		t.Fatalf("%d rows, %v", len(got), err)
	}
	for i := range rows {
		if got[i].ID != rows[i].ID || got[i].X != rows[i].X || len(got[i].List) != len(rows[i].List) || (got[i].Opt == nil) != (rows[i].Opt == nil) {
			t.Fatalf("row %d: %+v, want %+v", i, got[i], rows[i])
		}
	}
}

func TestKeysAndBytes(t *testing.T) {
	a, b := file(t, someRows(120)), file(t, someRows(120))
	if !bytes.Equal(a, b) {
		t.Error("the same rows gave different bytes")
	}
	r, err := NewReader[row](bytes.NewReader(a), int64(len(a)), lim)
	if err != nil {
		t.Fatal(err)
	}
	if k := r.Keys(); k["a"] != "1" || k["c"] != "3" || len(k) != 3 || r.Rows() != 120 {
		t.Errorf("%v, %d rows", k, r.Rows())
	}
}

func TestOtherProfiles(t *testing.T) {
	type dict struct {
		ID   string  `parquet:"id,dict"`
		N    int32   `parquet:"n"`
		X    float64 `parquet:"x"`
		List []inner `parquet:"list,list"`
		Opt  *inner  `parquet:"opt,optional"`
	}
	write := func(opts ...parquet.WriterOption) []byte {
		var b bytes.Buffer
		w := parquet.NewGenericWriter[dict](&b, opts...)
		if _, err := w.Write([]dict{{ID: "x"}}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for name, b := range map[string][]byte{
		"zstd": write(parquet.Compression(&parquet.Zstd)), "dictionary": write(), "version 1": write(parquet.DataPageVersion(1)),
	} {
		if _, err := load(b); !errors.Is(err, ErrOther) || !strings.Contains(err.Error(), "write it with Snappy") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBombs: small files that ask for much memory.
func TestBombs(t *testing.T) {
	// A footer whose list of row groups claims two thousand million elements, and one that has 140,000 empty ones.
	footer := func(list []byte) []byte {
		b := append([]byte("PAR1"), 0x15, 2, 0x39) // field 1, the version: 1; field 4, the row groups: a list
		b = append(b, list...)
		b = append(b, 0)
		n := uint32(len(b) - 4)
		return append(binary.LittleEndian.AppendUint32(b, n), "PAR1"...)
	}
	claims := footer([]byte{0xfc, 0xff, 0xff, 0xff, 0xff, 0x07})
	many := append([]byte{0xfc}, binary.AppendUvarint(nil, 140_000)...)
	empty := footer(append(many, make([]byte, 140_000)...))

	// A row of nine million numbers, most of it levels in long runs.
	var levels bytes.Buffer
	w := NewWriter[row](&levels, nil)
	wide := row{List: make([]inner, 90)}
	for i := range wide.List {
		wide.List[i].Values = make([]int64, 100_000)
	}
	if err := errors.Join(w.Write([]row{wide}), w.Close()); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"claims": claims, "empty groups": empty, "levels": levels.Bytes()} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := load(b)
		runtime.ReadMemStats(&after)
		t.Logf("%s (%d bytes): %d MB, %v", name, len(b), (after.TotalAlloc-before.TotalAlloc)>>20, err)
		if err == nil {
			t.Errorf("%s was taken", name)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 200<<20 {
			t.Errorf("%s took %d MB", name, n>>20)
		}
	}
}

func TestLevelRuns(t *testing.T) {
	sum := func(b []byte, width int, n int64) (levels []byte, err error) {
		err = levelRuns(b, width, n, func(l byte, k int64) { levels = append(levels, bytes.Repeat([]byte{l}, int(k))...) })
		return levels, err
	}
	// A run of five 1s, then eight levels of two bits packed: 0 1 2 3 0 1 2 3.
	got, err := sum([]byte{10, 1, 3, 0b11100100, 0b11100100}, 2, 13)
	if err != nil || !bytes.Equal(got, []byte{1, 1, 1, 1, 1, 0, 1, 2, 3, 0, 1, 2, 3}) {
		t.Errorf("%v, %v", got, err)
	}
	// Width 3 crosses bytes: 7 0 7 0 7 0 7 0.
	got, err = sum([]byte{3, 0b11000111, 0b01110001, 0b00011100}, 3, 8)
	if err != nil || !bytes.Equal(got, []byte{7, 0, 7, 0, 7, 0, 7, 0}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range [][]byte{{}, {10}, {10, 1, 10, 1}, {0xff, 0xff, 0xff, 0xff, 0x0f, 1}, {3, 1}, {0x80}, {0, 0}, {8, 1}} {
		if _, err := sum(bad, 2, 5); err == nil {
			t.Errorf("levels %v were taken", bad)
		}
	}
}

func TestCheckThriftAgreesWithTheLibrary(t *testing.T) {
	h := format.PageHeader{Type: format.DataPageV2, UncompressedPageSize: 7, CompressedPageSize: 300, CRC: -5}
	h.DataPageHeaderV2.Valid = true
	h.DataPageHeaderV2.V.NumValues = 1 << 20
	b, err := thrift.Marshal(new(thrift.CompactProtocol), &h)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := checkThrift(append(b, 1, 2, 3)); err != nil || n != len(b) {
		t.Errorf("%d of %d bytes, %v", n, len(b), err)
	}
	for i := range b {
		if _, err := checkThrift(b[:i]); err == nil {
			t.Errorf("%d of %d bytes were taken", i, len(b))
		}
	}
	if _, err := checkThrift(bytes.Repeat([]byte{0x1c}, 1000)); err == nil {
		t.Error("endless nesting was taken")
	}
}

func FuzzReader(f *testing.F) {
	f.Add(file(f, someRows(3)))
	f.Add(file(f, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		_, _ = load(b) // it must come back
	})
}
