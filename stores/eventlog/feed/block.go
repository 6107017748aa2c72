package feed

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/dict"
	"github.com/klauspost/compress/zstd"
)

// A block is
//
//	version  1 byte: 1
//	count    uvarint: messages in it
//	size     uvarint: bytes of the content
//	content  a Zstandard frame with a checksum: the length of each message as uvarint, then the messages
const blockVersion = 1

// codec makes blocks and reads them. It may be used concurrently.
type codec struct {
	writer *zstd.Encoder
	reader *zstd.Decoder
}

// newCodec returns a codec with a dictionary, which may be nil. The fastest level is within a
// percent of the best one on messages whose text is mostly random, at a third of its time.
func newCodec(dictionary []byte) (*codec, error) {
	encoding := []zstd.EOption{zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(MaxBlock), zstd.WithLowerEncoderMem(true)}
	decoding := []zstd.DOption{zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxContent)}
	if dictionary != nil {
		encoding = append(encoding, zstd.WithEncoderDict(dictionary))
		decoding = append(decoding, zstd.WithDecoderDicts(dictionary))
	}
	writer, err := zstd.NewWriter(nil, encoding...)
	if err != nil {
		return nil, invalid(fmt.Errorf("dictionary: %w", err), "make one with Train")
	}
	reader, err := zstd.NewReader(nil, decoding...)
	if err != nil {
		return nil, invalid(fmt.Errorf("dictionary: %w", err), "make one with Train")
	}
	return &codec{writer: writer, reader: reader}, nil
}

func (c *codec) close() {
	c.reader.Close()
	_ = c.writer.Close() // it was given nothing to write to
}

// maxContent is more than any block holds.
const maxContent = MaxMessage + 16<<20

// seal appends the block that holds messages to dst. content is memory that it may use.
func (c *codec) seal(dst, content []byte, messages [][]byte) (block, memory []byte) {
	content = content[:0]
	for _, m := range messages {
		content = binary.AppendUvarint(content, uint64(len(m)))
	}
	for _, m := range messages {
		content = append(content, m...)
	}
	dst = append(dst, blockVersion)
	dst = binary.AppendUvarint(dst, uint64(len(messages)))
	dst = binary.AppendUvarint(dst, uint64(len(content)))
	return c.writer.EncodeAll(content, dst), content
}

// header reads what stands before the frame of a block.
func header(block []byte) (count, size uint64, frame []byte, err error) {
	if len(block) == 0 || block[0] != blockVersion {
		return 0, 0, nil, errors.New("it does not begin as blocks do")
	}
	count, n := binary.Uvarint(block[1:])
	rest := block[1+max(n, 0):]
	size, m := binary.Uvarint(rest)
	if n <= 0 || m <= 0 || count == 0 || size < count || size > maxContent {
		return 0, 0, nil, errors.New("its header is wrong")
	}
	return count, size, rest[m:], nil
}

// page is a block that was read.
type page struct {
	first   uint64
	ends    []int // of each message in bytes
	bytes   []byte
	content []byte // memory
}

// load reads a block whose first message has a sequence.
func (p *page) load(c *codec, first uint64, block []byte) (err error) {
	p.first, p.ends = first, p.ends[:0]
	count, size, frame, err := header(block)
	if err == nil {
		p.content, err = c.reader.DecodeAll(frame, p.content[:0])
	}
	if err == nil && uint64(len(p.content)) != size {
		err = fmt.Errorf("its content has %d bytes, not %d", len(p.content), size)
	}
	if err == nil {
		err = p.split(count)
	}
	if err != nil {
		p.ends = p.ends[:0]
		return corrupt(fmt.Errorf("block of message %d: %w", first, err))
	}
	return nil
}

// split finds the messages in p.content.
func (p *page) split(count uint64) error {
	rest, end := p.content, 0
	for range count {
		size, n := binary.Uvarint(rest)
		if n <= 0 || size > MaxMessage {
			return errors.New("a length is wrong")
		}
		rest = rest[n:]
		end += int(size)
		p.ends = append(p.ends, end)
	}
	if end != len(rest) {
		return fmt.Errorf("its messages have %d bytes, not %d", len(rest), end)
	}
	p.bytes = rest
	return nil
}

// holds reports whether the message with a sequence is in p.
func (p *page) holds(seq uint64) bool { return seq >= p.first && seq-p.first < uint64(len(p.ends)) }

// message returns the message with a sequence that p holds.
func (p *page) message(seq uint64) []byte {
	i, start := seq-p.first, 0
	if i > 0 {
		start = p.ends[i-1]
	}
	return p.bytes[start:p.ends[i]:p.ends[i]]
}

// end returns the sequence after the last message of p.
func (p *page) end() uint64 { return p.first + uint64(len(p.ends)) }

// Train makes a dictionary of samples, which should be some hundred typical messages: what they
// have in common need then not be stored in every block. It has at most size bytes; 0 is 4,096,
// which is enough for messages of one kind.
func Train(samples [][]byte, size int) (dictionary []byte, err error) {
	if size == 0 {
		size = 4096
	}
	if len(samples) < 8 || size < 256 {
		return nil, invalid(fmt.Errorf("%d samples for a dictionary of %d bytes", len(samples), size),
			"give some hundred messages, and 256 bytes or more")
	}
	defer func() {
		if p := recover(); p != nil { // the builder is not made for samples with nothing in common
			dictionary, err = nil, invalid(fmt.Errorf("train: %v", p),
				"give samples that are alike, or use no dictionary")
		}
	}()
	dictionary, err = dict.BuildZstdDict(samples, dict.Options{MaxDictSize: size, HashBytes: 6,
		ZstdLevel: zstd.SpeedFastest})
	if err != nil {
		return nil, invalid(fmt.Errorf("train: %w", err), "give samples that are alike, or use no dictionary")
	}
	return dictionary, nil
}
