package parq

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

type flat struct {
	ID    string    `parquet:"id,dict"`
	Plain string    `parquet:"plain"`
	Opt   *string   `parquet:"opt,optional,dict"`
	N     int32     `parquet:"n"`
	Big   *int64    `parquet:"big,optional"`
	U     uint64    `parquet:"u"`
	F     float32   `parquet:"f"`
	D     float64   `parquet:"d"`
	Yes   bool      `parquet:"yes"`
	At    time.Time `parquet:"at,timestamp(millisecond)"`
	Nano  time.Time `parquet:"nano,timestamp(nanosecond)"`
	Day   int32     `parquet:"day,date"`
	Dec   int64     `parquet:"dec,decimal(2:12)"`
	List  []int32   `parquet:"list,list"`
	Group inner     `parquet:"group"`
	Last  int64     `parquet:"last"`
}

func flats(n int) (rows []flat, want [][]string) {
	for i := range n {
		at := time.UnixMilli(1772438400000 + int64(i)*1500).UTC()
		r := flat{
			ID: fmt.Sprint("job", i%7), Plain: strings.Repeat("ü", i%4), N: int32(-i), U: 1<<63 + uint64(i), F: float32(i) / 2, D: float64(i) / 4, Yes: i%3 == 0,
			At: at, Nano: at.Add(1), Day: 20514, Dec: int64(-i), List: make([]int32, i%3), Last: int64(i),
		}
		opt, big := "", ""
		if i%5 != 0 {
			opt = fmt.Sprint("o", i%11)
			r.Opt = &opt
		}
		if i%200 > 100 {
			v := int64(i) << 40
			r.Big, big = &v, fmt.Sprint(v)
		}
		sign := ""
		if i > 0 {
			sign = "-"
		}
		rows = append(rows, r)
		want = append(want, []string{
			r.ID, r.Plain, opt, fmt.Sprint(r.N), big, fmt.Sprint(r.U), fmt.Sprint(r.F), fmt.Sprint(r.D), fmt.Sprint(r.Yes),
			at.Format("2006-01-02T15:04:05.999Z"), at.Add(1).Format("2006-01-02T15:04:05.999999999Z"), "2026-03-02",
			fmt.Sprintf("%s%d.%02d", sign, i/100, i%100), fmt.Sprint(r.Last),
		})
	}
	return rows, want
}

func flatFile(t testing.TB, rows []flat, opts ...parquet.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[flat](&b, append(opts, parquet.DefaultEncoding(&parquet.Plain), parquet.PageBufferSize(512))...)
	for i := range rows {
		if _, err := w.Write(rows[i : i+1]); err != nil {
			t.Fatal(err)
		}
		if i%300 == 299 {
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

func loadTable(b []byte) (names []string, rows [][]string, err error) {
	t, err := NewTable(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, nil, err
	}
	names = t.Columns()
	var all []int
	for i := range names {
		all = append(all, i)
	}
	if err := t.Choose(all); err != nil {
		return names, nil, err
	}
	for {
		row, err := t.Next()
		if errors.Is(err, io.EOF) {
			return names, rows, nil
		}
		if err != nil {
			return names, rows, err
		}
		rows = append(rows, append([]string(nil), row...))
	}
}

func TestTable(t *testing.T) {
	rows, want := flats(1000)
	for _, version := range []int{1, 2} {
		for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Zstd} {
			names, got, err := loadTable(flatFile(t, rows, parquet.DataPageVersion(version), parquet.Compression(codec)))
			if err != nil {
				t.Fatalf("version %d, %v: %v", version, codec, err)
			}
			if strings.Join(names, " ") != "id plain opt n big u f d yes at nano day dec last" {
				t.Fatal(names)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("version %d, %v: %s", version, codec, d)
			}
		}
	}
}

func TestTableOfOtherWriters(t *testing.T) {
	tab, err := OpenTable(filepath.Join("..", "..", "docs", "examples", "history.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	defer tab.Close()
	if err := tab.Choose([]int{0, 3, 6, 7}); err != nil {
		t.Fatal(err)
	}
	row, err := tab.Next()
	if err != nil || strings.Join(row, " ") != "q7239   2026-03-02T10:43:35   1.50 FINISHED" {
		t.Errorf("%q, %v", row, err)
	}
	if _, err := OpenTable(t.TempDir()); err == nil {
		t.Error("a folder was opened")
	}
}

// A footer may hold what no library of ours assumes: groups without rows, sorting columns, numbers of groups that begin elsewhere.
func TestTableFooters(t *testing.T) {
	rows, want := flats(700)
	whole := flatFile(t, rows)
	meta, err := readFooter(bytes.NewReader(whole), int64(len(whole)))
	if err != nil || len(meta.RowGroups) != 3 {
		t.Fatal(meta, err)
	}
	for i := range meta.RowGroups {
		meta.RowGroups[i].Ordinal = int16(i + 7)
		meta.RowGroups[i].SortingColumns = []format.SortingColumn{{ColumnIdx: 1}}
	}
	none := format.RowGroup{Columns: make([]format.ColumnChunk, len(meta.RowGroups[0].Columns))}
	meta.RowGroups = append([]format.RowGroup{none, meta.RowGroups[0], none, none}, append(meta.RowGroups[1:], none)...)
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), meta)
	if err != nil {
		t.Fatal(err)
	}
	_, got, err := loadTable(append(binary.LittleEndian.AppendUint32(append(whole, footer...), uint32(len(footer))), "PAR1"...))
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v, %s", err, d)
	}
}

func TestTableUnsigned(t *testing.T) {
	type unsigned struct {
		Small uint32 `parquet:"small"`
		Large uint64 `parquet:"large"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[unsigned](&b)
	if _, err := w.Write([]unsigned{{3e9, 1 << 63}}); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	if _, rows, err := loadTable(b.Bytes()); err != nil || cmp.Diff([][]string{{"3000000000", "9223372036854775808"}}, rows) != "" {
		t.Error(rows, err)
	}
}

func TestTableRefuses(t *testing.T) {
	rows, _ := flats(50)
	for want, b := range map[string][]byte{
		"it is compressed with": flatFile(t, rows, parquet.Compression(&parquet.Brotli)),
		"too few":               []byte("PAR1"),
	} {
		if _, _, err := loadTable(b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	type delta struct {
		N int64 `parquet:"n,delta"`
	}
	refused(t, make([]delta, 9), "write it with plain or dictionary encoding")
}

func TestTableFixedLength(t *testing.T) {
	id := [16]byte{0x4e, 0xe1, 0xeb, 0x3c, 0x80, 0x1c, 0x4b, 0x9d, 0xa6, 0x30, 0xf0, 0xf4, 0x61, 0xc0, 0xe2, 0x0f}
	type uuids struct {
		Plain [16]byte `parquet:"plain,uuid"`
		Dict  [16]byte `parquet:"dict,uuid,dict"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[uuids](&b)
	if _, err := w.Write([]uuids{{id, id}}); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	const want = "4ee1eb3c-801c-4b9d-a630-f0f461c0e20f"
	if _, rows, err := loadTable(b.Bytes()); err != nil || cmp.Diff([][]string{{want, want}}, rows) != "" {
		t.Error(rows, err)
	}
}

func TestTableTypesNotRead(t *testing.T) {
	type half struct {
		F [2]byte `parquet:"f"`
	}
	type clock struct {
		F time.Duration `parquet:"f,time(microsecond)"`
	}
	refused(t, make([]half, 1), "column f: not the expected kind of Parquet file: its type is not read; cast it")
	refused(t, make([]clock, 1), "column f: not the expected kind of Parquet file: its type is not read; cast it")
	type text struct {
		F string `parquet:"f,plain,zstd"`
	}
	long := make([]text, 40)
	for i := range long {
		long[i].F = strings.Repeat("x", maxText)
	}
	refused(t, long, "is too large; write smaller row groups or pages (row group 0, column f)", parquet.PageBufferSize(64<<20), parquet.DataPageStatistics(false))
}

func refused[T any](t *testing.T, rows []T, want string, opts ...parquet.WriterOption) {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, opts...)
	if _, err := w.Write(rows); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	if _, _, err := loadTable(b.Bytes()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// Damaged files give errors or other rows, but never panic or take much memory.
func TestTableDamage(t *testing.T) {
	rows, _ := flats(400)
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Gzip, &parquet.Zstd} {
		whole := flatFile(t, rows, parquet.Compression(codec), parquet.DataPageVersion(1))
		for range 300 {
			b := bytes.Clone(whole)
			for range 1 + rnd.IntN(3) {
				copy(b[rnd.IntN(len(b)):], []string{"\xff\xff\xff\xff\x07", "\x00", "\xfe", "\x7f\xff"}[rnd.IntN(4)])
			}
			if n := taken(func() { _, _, _ = loadTable(b) }); n > 100<<20 {
				t.Errorf("%v: %d MB were taken", codec, n>>20)
			}
		}
	}
}

// Small files that claim to be large.
func TestTableBombs(t *testing.T) {
	long := flatFile(t, []flat{{Plain: strings.Repeat("x", 900_000)}, {Plain: strings.Repeat("x", 20<<20)}}, parquet.Compression(&parquet.Zstd), parquet.DataPageStatistics(false))
	if n := taken(func() {
		if _, _, err := loadTable(long); err == nil || !strings.Contains(err.Error(), "a text of") {
			t.Error(err)
		}
	}); n > 150<<20 {
		t.Errorf("%d MB were taken", n>>20)
	}
	// A page that decodes to more than its header says.
	packed, err := (&parquet.Gzip).Encode(nil, make([]byte, 64<<20))
	if err != nil {
		t.Fatal(err)
	}
	zpacked, err := (&parquet.Zstd).Encode(nil, make([]byte, 64<<20))
	if err != nil {
		t.Fatal(err)
	}
	for codec, b := range map[compress.Codec][]byte{&parquet.Gzip: packed, &parquet.Zstd: zpacked} {
		if n := taken(func() {
			if _, err := unpack(codec.CompressionCodec(), b, 1000); err == nil {
				t.Errorf("%v: taken", codec)
			}
		}); n > 16<<20 {
			t.Errorf("%v: %d MB were taken", codec, n>>20)
		}
	}
}

func taken(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func FuzzTable(f *testing.F) {
	rows, _ := flats(20)
	for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Zstd} {
		f.Add(flatFile(f, rows, parquet.Compression(codec), parquet.DataPageVersion(1)))
		f.Add(flatFile(f, rows, parquet.Compression(codec)))
	}
	if b, err := os.ReadFile(filepath.Join("..", "..", "docs", "examples", "history.parquet")); err == nil {
		f.Add(b)
	}
	f.Fuzz(func(_ *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		_, _, _ = loadTable(b) // it must come back
	})
}

func BenchmarkTable(b *testing.B) {
	rows, _ := flats(300)
	for len(rows) < 100_000 {
		rows = append(rows, rows...)
	}
	var file bytes.Buffer
	w := parquet.NewGenericWriter[flat](&file, parquet.DefaultEncoding(&parquet.Plain), parquet.Compression(&parquet.Zstd))
	if _, err := w.Write(rows); err != nil || w.Close() != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		t, err := NewTable(bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err != nil || t.Choose([]int{0, 2, 3, 4, 6, 9, 12}) != nil {
			b.Fatal(err)
		}
		n := 0
		for ; err == nil; n++ {
			_, err = t.Next()
		}
		if n != len(rows)+1 {
			b.Fatal(n, err)
		}
	}
	b.ReportMetric(float64(len(rows))*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
