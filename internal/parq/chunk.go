package parq

import (
	"encoding/binary"
	"io"
	"math/bits"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// chunkWalk walks the pages of one column chunk.
type chunkWalk struct {
	src   io.ReaderAt
	chunk *format.ColumnMetaData
	leaf  parquet.LeafColumn
	limit int64 // values in one row

	end     int64 // where the chunk ends in the file
	largest int64 // bytes its largest page needs
	perRow  int64 // values in its fullest row

	header header
}

func (w *chunkWalk) walk(after, size, rows int64) error {
	c := w.chunk
	switch {
	case c.Codec != format.Snappy && c.Codec != format.Uncompressed:
		return profile("it is compressed with %v", c.Codec)
	case c.DictionaryPageOffset != 0:
		return profile("it uses a dictionary")
	case c.DataPageOffset < after || c.TotalCompressedSize <= 0 || c.DataPageOffset > size-c.TotalCompressedSize:
		return damaged("%d bytes at %d do not fit into the file", c.TotalCompressedSize, c.DataPageOffset)
	}
	w.end = c.DataPageOffset + c.TotalCompressedSize
	var values int64
	for at := c.DataPageOffset; at < w.end; {
		h, n, err := w.header.read(w.src, at, w.end)
		if err != nil {
			return err
		}
		at += n
		if h.CompressedPageSize < 0 || int64(h.CompressedPageSize) > w.end-at || h.CompressedPageSize > maxPage ||
			h.UncompressedPageSize < 0 || h.UncompressedPageSize > maxPage {
			return damaged("a page claims %d bytes, %d when decoded", h.CompressedPageSize, h.UncompressedPageSize)
		}
		if h.Type != format.DataPageV2 || !h.DataPageHeaderV2.Valid {
			return profile("it has pages of type %v", h.Type)
		}
		v2 := &h.DataPageHeaderV2.V
		if err := w.page(at, h, v2); err != nil {
			return err
		}
		if rows -= int64(v2.NumRows); rows < 0 {
			return damaged("its pages hold too many rows")
		}
		values += int64(v2.NumValues)
		at += int64(h.CompressedPageSize)
	}
	if rows != 0 || values != c.NumValues {
		return damaged("its pages hold %d of %d values and lack %d rows", values, c.NumValues, rows)
	}
	return nil
}

// header reads page headers.
type header struct{ window []byte }

// read reads the page header at at and returns its length.
func (x *header) read(src io.ReaderAt, at, end int64) (*format.PageHeader, int64, error) {
	for _, n := range []int64{256, maxHeader} {
		n = min(n, end-at)
		if int64(cap(x.window)) < n {
			x.window = make([]byte, n)
		}
		b := x.window[:n]
		if err := readAt(src, b, at); err != nil {
			return nil, 0, err
		}
		used, err := checkThrift(b)
		if err != nil {
			if n < min(maxHeader, end-at) {
				continue // it may just be longer than the first read
			}
			return nil, 0, err
		}
		h := new(format.PageHeader)
		if err := thrift.Unmarshal(new(thrift.CompactProtocol), b[:used], h); err != nil {
			return nil, 0, damaged("page header: %v", err)
		}
		return h, int64(used), nil
	}
	return nil, 0, damaged("page header has no end")
}

// page checks one page's counts against its bytes.
func (w *chunkWalk) page(at int64, h *format.PageHeader, v2 *format.DataPageHeaderV2) error {
	rep, def := int64(v2.RepetitionLevelsByteLength), int64(v2.DefinitionLevelsByteLength)
	nv, nn, nr := int64(v2.NumValues), int64(v2.NumNulls), int64(v2.NumRows)
	packed, plain := int64(h.CompressedPageSize)-rep-def, int64(h.UncompressedPageSize)-rep-def
	switch {
	case rep < 0 || def < 0 || packed < 0 || plain < 0:
		return damaged("a page's levels are longer than the page")
	case nv < 0 || nn < 0 || nr < 0 || nn > nv || nr > nv || nv > maxPage/2:
		return damaged("a page claims %d values, %d of them null, in %d rows", nv, nn, nr)
	case v2.Encoding != format.Plain:
		return profile("its values are encoded as %v", v2.Encoding)
	case w.leaf.MaxRepetitionLevel == 0 && (rep != 0 || nr != nv), w.leaf.MaxRepetitionLevel > 0 && rep == 0 && nv > 0,
		w.leaf.MaxDefinitionLevel == 0 && (def != 0 || nn != 0), w.leaf.MaxDefinitionLevel > 0 && def == 0 && nv > 0:
		return damaged("a page's levels do not fit its column")
	}
	levels := make([]byte, rep+def)
	if err := readAt(w.src, levels, at); err != nil {
		return err
	}
	full, err := w.rows(levels[:rep], nv, nr)
	if err != nil {
		return err
	}
	if full > w.limit {
		return damaged("a row has %d values of it; at most %d are taken", full, w.limit)
	}
	if def > 0 {
		nulls := nv
		err := levelRuns(levels[rep:], bits.Len(uint(w.leaf.MaxDefinitionLevel)), nv, func(level byte, n int64) {
			if int(level) == w.leaf.MaxDefinitionLevel {
				nulls -= n
			}
		})
		if err != nil {
			return err
		}
		if nulls != nn {
			return damaged("a page claims %d nulls and has %d", nn, nulls)
		}
	}
	if w.chunk.Codec == format.Snappy && (!v2.IsCompressed.Valid || v2.IsCompressed.V) {
		if err := w.snappyLength(at+rep+def, packed, plain); err != nil {
			return err
		}
	} else if packed != plain {
		return damaged("a page that is not compressed has two sizes")
	}
	want := int64(-1)
	switch w.leaf.Node.Type().Kind() {
	case parquet.Int64, parquet.Double:
		want = 8 * (nv - nn)
	case parquet.Int32:
		want = 4 * (nv - nn)
	case parquet.Boolean:
		want = (nv - nn + 7) / 8
	}
	if want >= 0 && want != plain || want < 0 && 4*(nv-nn) > plain {
		return damaged("a page of %d values has %d bytes", nv-nn, plain)
	}
	w.perRow = max(w.perRow, full)
	w.largest = max(w.largest, int64(h.CompressedPageSize)+plain+2*nv)
	return nil
}

// snappyLength compares the decoded length at the start of a Snappy block with what the page header says.
func (w *chunkWalk) snappyLength(at, packed, plain int64) error {
	if packed == 0 && plain == 0 {
		return nil
	}
	b := make([]byte, min(packed, binary.MaxVarintLen32))
	if err := readAt(w.src, b, at); err != nil {
		return err
	}
	if n, used := binary.Uvarint(b); used <= 0 || n != uint64(plain) {
		return damaged("a page of %d bytes decodes to %d", plain, n)
	}
	return nil
}

// rows counts the values of the fullest row of a page, and validates its number of rows.
func (w *chunkWalk) rows(levels []byte, values, rows int64) (int64, error) {
	if w.leaf.MaxRepetitionLevel == 0 {
		return min(values, 1), nil
	}
	var full, run, starts int64
	first := true
	bad := false
	err := levelRuns(levels, bits.Len(uint(w.leaf.MaxRepetitionLevel)), values, func(level byte, n int64) {
		if first && level != 0 {
			bad = true
		}
		first = false
		if level == 0 {
			starts += n
			run = 1
		} else {
			run += n
		}
		full = max(full, run)
	})
	if err != nil {
		return 0, err
	}
	if bad || starts != rows {
		return 0, damaged("a page claims %d rows and has %d", rows, starts)
	}
	return full, nil
}
