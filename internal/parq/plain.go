package parq

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// decoder fills no more than the capacity of what it decodes into.
var decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxWindow(maxPage))
})

// unpack decodes a page of size bytes, and takes no more memory than that.
func unpack(codec format.CompressionCodec, b []byte, size int) ([]byte, error) {
	var out []byte
	var err error
	switch {
	case codec == format.Uncompressed:
		out = b
	case size == 0:
		return nil, nil
	case codec == format.Snappy:
		if n, nerr := snappy.DecodedLen(b); nerr != nil || n != size {
			return nil, damaged("a page of %d bytes decodes to %d", size, n)
		}
		out, err = snappy.Decode(nil, b)
	case codec == format.Gzip:
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(b)); err == nil {
			out, err = io.ReadAll(io.LimitReader(z, int64(size)+1))
		}
	case codec == format.Zstd:
		var z *zstd.Decoder
		if z, err = decoder(); err == nil {
			out, err = z.DecodeAll(b, make([]byte, 0, size))
		}
	default:
		return nil, fmt.Errorf("%w: it is compressed with %v; write it with Snappy, Zstandard or gzip", ErrOther, codec)
	}
	if err != nil {
		return nil, damaged("a page cannot be decompressed: %v", err)
	}
	if len(out) != size {
		return nil, damaged("a page of %d bytes decodes to %d", size, len(out))
	}
	return out, nil
}

// indices are positions in a dictionary, or definition levels: runs of one, and packed ones. What follows the last that is asked for is padding.
type indices struct {
	b      []byte
	width  int
	run    uint64 // values left in this run
	value  uint32
	packed []byte // of a packed run; nil: a run of value
	bit    int
}

func (x *indices) begin(b []byte) error {
	if len(b) == 0 { // all its values are null
		*x = indices{}
		return nil
	}
	if b[0] > 32 {
		return damaged("a page has positions of %d bits", b[0])
	}
	*x = indices{b: b[1:], width: int(b[0])}
	return nil
}

func (x *indices) next() (uint32, error) {
	for x.run == 0 {
		u, n := binary.Uvarint(x.b)
		if n <= 0 {
			return 0, damaged("a page ends early")
		}
		x.b, x.run, x.packed = x.b[n:], u>>1, nil
		size := uint64(x.width+7) / 8
		if u&1 == 1 {
			if x.run > maxPage {
				return 0, damaged("a page has a run of %d positions", x.run)
			}
			size = x.run * uint64(x.width)
			x.run *= 8
		}
		if size > uint64(len(x.b)) {
			return 0, damaged("a page ends early")
		}
		if u&1 == 1 {
			x.packed, x.bit = x.b[:size:size], 0
		} else {
			var v [8]byte
			copy(v[:], x.b[:size])
			x.value = binary.LittleEndian.Uint32(v[:])
		}
		x.b = x.b[size:]
	}
	x.run--
	if x.packed == nil {
		return x.value, nil
	}
	var v [8]byte
	copy(v[:], x.packed[x.bit/8:])
	value := binary.LittleEndian.Uint64(v[:]) >> (x.bit % 8) & (1<<x.width - 1)
	x.bit += x.width
	return uint32(value), nil
}

// older are the logical types that older writers mean.
var older = map[deprecated.ConvertedType]format.LogicalTypeValue{
	deprecated.Date:            &format.DateType{},
	deprecated.Decimal:         &format.DecimalType{},
	deprecated.TimeMillis:      &format.TimeType{},
	deprecated.TimeMicros:      &format.TimeType{},
	deprecated.TimestampMillis: &format.TimestampType{IsAdjustedToUTC: true, Unit: format.TimeUnit{Value: &format.MilliSeconds{}}},
	deprecated.TimestampMicros: &format.TimestampType{IsAdjustedToUTC: true, Unit: format.TimeUnit{Value: &format.MicroSeconds{}}},
	deprecated.Uint32:          &format.IntType{},
	deprecated.Uint64:          &format.IntType{},
}

// iso is ISO 8601, without a zone.
const iso = "2006-01-02T15:04:05.999999999"

var errType = fmt.Errorf("%w: its type is not read; cast it to a number, a text or a timestamp", ErrOther)

// writerFor says how a column's values are written as text: times in ISO 8601, with a Z where they are in UTC.
func writerFor(e *format.SchemaElement) (func([]byte) (string, error), error) {
	logical := e.LogicalType.Value
	if c := e.ConvertedType; logical == nil && c.Valid {
		logical = older[c.V]
	}
	whole, fixed := e.Type.V == format.Int32 || e.Type.V == format.Int64, e.Type.V == format.FixedLenByteArray
	switch l := logical.(type) {
	case *format.TimestampType:
		if whole && l.Unit.Value != nil {
			return instant(l.Unit.Value.Duration(), l.IsAdjustedToUTC), nil
		}
	case *format.DateType:
		if whole {
			return func(b []byte) (string, error) { return time.Unix(number(b)*86400, 0).UTC().Format(time.DateOnly), nil }, nil
		}
	case *format.TimeType:
		return nil, errType
	case *format.IntType:
		if whole && !l.IsSigned {
			return decimal(0, true, false), nil
		}
	case *format.DecimalType:
		scale := max(l.Scale, e.Scale.V)
		if scale < 0 || scale > 76 {
			return nil, damaged("a decimal with %d places", scale)
		}
		if whole || fixed || e.Type.V == format.ByteArray {
			return decimal(int(scale), whole, true), nil
		}
	case *format.UUIDType:
		if fixed && e.TypeLength.V == 16 {
			return func(b []byte) (string, error) {
				return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
			}, nil
		}
	}
	switch e.Type.V {
	case format.Int32, format.Int64:
		return func(b []byte) (string, error) { return strconv.FormatInt(number(b), 10), nil }, nil
	case format.Float, format.Double:
		return float, nil
	case format.Int96: // Spark's old timestamps: nanoseconds of the day, and the Julian day
		return func(b []byte) (string, error) {
			day := int64(binary.LittleEndian.Uint32(b[8:])) - 2440588
			return time.Unix(day*86400, int64(binary.LittleEndian.Uint64(b)%uint64(24*time.Hour))).UTC().Format(iso + "Z"), nil
		}, nil
	case format.FixedLenByteArray:
		return nil, errType
	}
	return func(b []byte) (string, error) { return strings.ToValidUTF8(string(b), "\uFFFD"), nil }, nil
}

// number is an integer of four or eight bytes.
func number(b []byte) int64 {
	if len(b) == 4 {
		return int64(int32(binary.LittleEndian.Uint32(b)))
	}
	return int64(binary.LittleEndian.Uint64(b))
}

func instant(scale time.Duration, utc bool) func([]byte) (string, error) {
	layout := iso
	if utc {
		layout += "Z"
	}
	per := int64(time.Second / scale)
	return func(b []byte) (string, error) {
		v := number(b)
		return time.Unix(v/per, v%per*int64(scale)).UTC().Format(layout), nil
	}
}

func float(b []byte) (string, error) {
	var v float64
	if len(b) == 4 {
		v = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	} else {
		v = math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return strconv.FormatFloat(v, 'f', -1, 8*len(b)), nil
}

// decimal writes integers of 10^-scale. The lowest byte comes first, or the highest.
func decimal(scale int, low, signed bool) func([]byte) (string, error) {
	one := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
	return func(b []byte) (string, error) {
		if len(b) > 64 {
			return "", damaged("a decimal of %d bytes", len(b))
		}
		if low {
			b = slices.Clone(b)
			slices.Reverse(b)
		}
		v := new(big.Int).SetBytes(b)
		if signed && len(b) > 0 && b[0] > 127 {
			v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
		return new(big.Rat).SetFrac(v, one).FloatString(scale), nil
	}
}
