package parq

import (
	"encoding/binary"
	"fmt"
	"io"
	"strconv"

	"github.com/parquet-go/parquet-go/format"
)

// maxText is the length of a text value, in bytes.
const maxText = 1 << 20

// plainDictionary is what writers before Parquet 2 call the encoding of a dictionary and of its pages.
const plainDictionary format.Encoding = 2

// column reads one column chunk after the other.
type column struct {
	leaf  *leaf
	place int // in a row
	text  func(value []byte) (string, error)

	codec   format.CompressionCodec
	at, end int64 // the rest of the chunk
	rows    int64 // of the chunk, in pages that follow
	dict    []string
	inDict  int64 // bytes of dict

	left    int64   // values of the page, nulls included
	levels  indices // of the values; 0: null
	coded   bool
	codes   indices
	plain   []byte
	bit     int // of plain, for booleans
	headers header
}

func (c *column) size() int64 { return c.inDict + int64(cap(c.plain)+cap(c.levels.b)+cap(c.codes.b)) }

func (c *column) optional() bool { return c.leaf.RepetitionType.V == format.Optional }

func (c *column) begin(m *format.ColumnMetaData, rows int64) error {
	c.codec, c.rows, c.left, c.dict, c.inDict = m.Codec, rows, 0, nil, 0
	c.at = m.DataPageOffset
	if d := m.DictionaryPageOffset; d > 0 && d < c.at {
		c.at = d
	}
	c.end = c.at + m.TotalCompressedSize
	if c.at < 4 || m.TotalCompressedSize < 0 || c.end < c.at {
		return damaged("%d bytes at %d do not fit into the file", m.TotalCompressedSize, c.at)
	}
	return nil
}

// page goes to the next page with values.
func (c *column) page(src io.ReaderAt, room int64) error {
	for c.left == 0 {
		if c.at >= c.end {
			return damaged("its pages lack %d rows", c.rows)
		}
		h, n, err := c.headers.read(src, c.at, c.end)
		if err != nil {
			return err
		}
		packed, plain := int64(h.CompressedPageSize), int64(h.UncompressedPageSize)
		if packed < 0 || packed > c.end-c.at-n || plain < 0 {
			return damaged("a page claims %d bytes, %d when decoded", packed, plain)
		}
		if max(packed, plain) > maxPage || packed+plain > room {
			return fmt.Errorf("%w: a page of %d bytes, %d when decoded, is too large; write smaller row groups or pages", ErrOther, packed, plain)
		}
		b := make([]byte, packed)
		if err := readAt(src, b, c.at+n); err != nil {
			return err
		}
		c.at += n + packed
		if err := c.take(h, b); err != nil {
			return err
		}
	}
	return nil
}

func (c *column) take(h *format.PageHeader, b []byte) (err error) {
	size := int(h.UncompressedPageSize)
	var levels []byte
	var values int64
	var enc format.Encoding
	switch {
	case h.Type == format.DictionaryPage && h.DictionaryPageHeader.Valid:
		if b, err = unpack(c.codec, b, size); err != nil {
			return err
		}
		return c.dictionary(b, &h.DictionaryPageHeader.V)
	case h.Type == format.DataPage && h.DataPageHeader.Valid:
		d := &h.DataPageHeader.V
		values, enc = int64(d.NumValues), d.Encoding
		if b, err = unpack(c.codec, b, size); err != nil {
			return err
		}
		if c.optional() {
			if len(b) < 4 || d.DefinitionLevelEncoding != format.RLE {
				return damaged("a page has no levels")
			}
			n := binary.LittleEndian.Uint32(b)
			if b = b[4:]; uint64(n) > uint64(len(b)) {
				return damaged("a page's levels are longer than the page")
			}
			levels, b = b[:n], b[n:]
		}
	case h.Type == format.DataPageV2 && h.DataPageHeaderV2.Valid:
		d := &h.DataPageHeaderV2.V
		values, enc = int64(d.NumValues), d.Encoding
		rep, def := int(d.RepetitionLevelsByteLength), int(d.DefinitionLevelsByteLength)
		if rep != 0 || def < 0 || def > len(b) || def > size {
			return damaged("a page's levels are longer than the page")
		}
		levels, b = b[:def], b[def:]
		if !d.IsCompressed.Valid || d.IsCompressed.V {
			if b, err = unpack(c.codec, b, size-def); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("%w: it has pages of type %v", ErrOther, h.Type)
	}
	if values < 0 || values > c.rows || values > maxPage/2 {
		return damaged("a page claims %d values of %d", values, c.rows)
	}
	c.rows -= values
	c.left, c.plain, c.bit = values, b, 0
	c.levels = indices{b: levels, width: 1}
	c.coded = enc != format.Plain
	switch {
	case !c.coded:
	case enc == format.RLEDictionary || enc == plainDictionary:
		return c.codes.begin(b)
	case enc == format.RLE && c.leaf.Type.V == format.Boolean && len(b) >= 4: // a length, and one bit each
		c.dict = []string{"false", "true"}
		c.codes = indices{b: b[4:], width: 1}
	default:
		return fmt.Errorf("%w: its values are encoded as %v; write it with plain or dictionary encoding", ErrOther, enc)
	}
	return nil
}

// next returns the text of the next value.
func (c *column) next() (string, error) {
	c.left--
	if c.optional() {
		if level, err := c.levels.next(); err != nil || level == 0 {
			return "", err
		}
	}
	if c.coded {
		k, err := c.codes.next()
		if err != nil {
			return "", err
		}
		if k >= uint32(len(c.dict)) {
			return "", damaged("entry %d of a dictionary of %d", k, len(c.dict))
		}
		return c.dict[k], nil
	}
	return c.plainValue()
}

func (c *column) dictionary(b []byte, d *format.DictionaryPageHeader) error {
	n := int64(d.NumValues)
	if c.dict != nil || n < 0 || n > 8*int64(len(b)) || d.Encoding != format.Plain && d.Encoding != plainDictionary {
		return damaged("a dictionary of %d values in %d bytes", n, len(b))
	}
	c.plain, c.bit = b, 0
	c.dict = []string{}
	for range n {
		text, err := c.plainValue()
		if err != nil {
			return err
		}
		c.dict = append(c.dict, text)
		if c.inDict += 16 + int64(len(text)); c.inDict > maxChosen/2 {
			return damaged("a dictionary takes more than %d bytes", maxChosen/2)
		}
	}
	return nil
}

// plainValue takes the next value of a page with plain values.
func (c *column) plainValue() (string, error) {
	size := 0
	switch c.leaf.Type.V {
	case format.Boolean:
		if c.bit >= 8*len(c.plain) {
			return "", damaged("a page ends early")
		}
		v := c.plain[c.bit/8]>>(c.bit%8)&1 == 1
		c.bit++
		return strconv.FormatBool(v), nil
	case format.Int32, format.Float:
		size = 4
	case format.Int64, format.Double:
		size = 8
	case format.Int96:
		size = 12
	case format.FixedLenByteArray:
		size = int(c.leaf.TypeLength.V)
	case format.ByteArray:
		if len(c.plain) < 4 {
			return "", damaged("a page ends early")
		}
		n := binary.LittleEndian.Uint32(c.plain)
		if c.plain = c.plain[4:]; n > maxText {
			return "", fmt.Errorf("%w: a text of %d bytes; at most %d are taken", ErrOther, n, maxText)
		}
		size = int(n)
	}
	if size < 0 || size > len(c.plain) {
		return "", damaged("a page ends early")
	}
	v := c.plain[:size]
	c.plain = c.plain[size:]
	return c.text(v)
}
