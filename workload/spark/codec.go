package spark

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/unit"
)

// errDamaged says that data ends early or is not what its codec writes: what came before it counts.
var errDamaged = errors.New("the compressed data ends early or is damaged")

// Magic numbers of Spark's codecs. Its LZ4 and Snappy streams have frames of their own, not those of the formats.
var (
	zstdMagic   = []byte{0x28, 0xb5, 0x2f, 0xfd}
	lz4Magic    = []byte("LZ4Block")
	snappyMagic = []byte("\x82SNAPPY\x00")
	lzfMagic    = []byte("ZV")
)

// limits of decompression: Spark's logs repeat themselves, so zstd makes them a hundred times smaller.
var limits = input.Limits{Ratio: 2000, Grace: 64 * unit.MiB}

// decompress unpacks a stream, whose codec it tells by the first bytes.
func decompress(r io.Reader, name string) (io.Reader, func(), error) {
	front := bufio.NewReaderSize(r, input.PeekSize)
	magic, err := front.Peek(8)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	is := func(m []byte) bool { return bytes.HasPrefix(magic, m) }
	packed := &input.Counter{R: front}
	done := func() {}
	var out io.Reader
	switch {
	case is(zstdMagic):
		const window = 64 << 20
		z, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(window))
		if err != nil {
			return nil, nil, err
		}
		out, done = zstdReader{z}, z.Close
	case is(lz4Magic):
		out = &blocks{r: packed, head: len(lz4Magic) + 13, next: nextLZ4}
	case is(snappyMagic):
		out = &blocks{r: packed, head: 4, next: nextSnappy}
	case is(lzfMagic), strings.HasSuffix(strings.TrimSuffix(name, ".inprogress"), ".lzf"):
		return nil, nil, fmt.Errorf("%s is compressed with LZF, which is not read: let Spark log with spark.eventLog.compression.codec=zstd", name)
	default:
		f, err := input.NewFile(front, name, limits)
		return f, done, err
	}
	return limits.Guard(out, packed, name), done, nil
}

// zstdReader tells damage from errors of reading.
type zstdReader struct{ z *zstd.Decoder }

func (r zstdReader) Read(p []byte) (int, error) {
	n, err := r.z.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && !errors.As(err, &brokenError{}) {
		err = errDamaged
	}
	return n, err
}

// blocks reads a stream of compressed blocks.
type blocks struct {
	r            io.Reader
	head         int                                // size of a block's head
	next         func(b *blocks, head []byte) error // reads the rest of a block into data
	packed, room []byte
	data         []byte
}

// maxBlock is the largest block of either stream; Spark's own default is 32 KiB.
const maxBlock = 32 << 20

func (b *blocks) Read(p []byte) (int, error) {
	for len(b.data) == 0 {
		head, err := b.take(b.head)
		if err == nil {
			if err = b.next(b, head); errors.Is(err, io.EOF) { // only a head may be missing
				err = errDamaged
			}
		}
		if err != nil {
			return 0, err
		}
	}
	n := copy(p, b.data)
	b.data = b.data[n:]
	return n, nil
}

// take reads n bytes of the stream, or none at its end.
func (b *blocks) take(n int) ([]byte, error) {
	b.packed = slices.Grow(b.packed[:0], n)[:n]
	_, err := io.ReadFull(b.r, b.packed)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errDamaged
	}
	return b.packed, err
}

// nextLZ4 reads a block of lz4-java's LZ4BlockOutputStream: the magic, a token (method and size), the lengths packed and
// unpacked, a checksum, the data. An empty block ends a stream; another may follow.
func nextLZ4(b *blocks, h []byte) error {
	const raw, packed = 0x10, 0x20
	method := h[8] & 0xf0
	n, size := int(int32(binary.LittleEndian.Uint32(h[9:]))), int(int32(binary.LittleEndian.Uint32(h[13:])))
	if !bytes.HasPrefix(h, lz4Magic) || n < 0 || size < 0 || n > maxBlock || size > maxBlock || method == raw && n != size {
		return errDamaged
	}
	p, err := b.take(n)
	switch {
	case err != nil || size == 0:
		return err
	case method == raw:
		b.data = p
		return nil
	case method != packed || size/256 > n: // LZ4 packs no more than 255 times
		return errDamaged
	}
	b.room = slices.Grow(b.room[:0], size)[:size]
	if got, err := lz4.UncompressBlock(p, b.room); err != nil || got != size {
		return errDamaged
	}
	b.data = b.room
	return nil
}

// nextSnappy reads a block of snappy-java's SnappyOutputStream: its length and the data. A header of 16 bytes begins each stream.
func nextSnappy(b *blocks, h []byte) error {
	n := int(int32(binary.BigEndian.Uint32(h)))
	if bytes.Equal(h, snappyMagic[:4]) {
		_, err := b.take(12)
		return err
	}
	if n < 0 || n > maxBlock {
		return errDamaged
	}
	p, err := b.take(n)
	if err != nil {
		return err
	}
	size, err := snappy.DecodedLen(p)
	if err != nil || size > maxBlock || size/64 > n { // Snappy packs no more than 64 times or so
		return errDamaged
	}
	b.room = slices.Grow(b.room[:0], size)[:size]
	if b.data, err = snappy.Decode(b.room, p); err != nil {
		return errDamaged
	}
	return nil
}
