package capture

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/maphash"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assaydb/assay/kv"
)

const (
	blockSize  = 64 << 10         // a block is written when it has so many bytes
	mostBehind = 16 << 20         // bytes that may wait for the disk
	tick       = time.Millisecond // of the clock of a recording
	flushEvery = 1000             // ticks after which a block is written that is not full
)

// log is the file of a recording while it is written. Records are put into a block in memory under
// a lock that is never held while anybody waits; a goroutine writes the blocks.
type log struct {
	file   *os.File
	seed   maphash.Seed
	now    atomic.Int64 // ticks since the start
	over   atomic.Bool  // nothing more is taken
	behind atomic.Int64 // bytes that wait for the disk
	most   int64

	turn           // of who changes what follows; it counts the records
	encoder        // its block is nil once it is over
	ready   int    // how far the block's memory was fetched
	length  int64  // bytes of all blocks that were handed over
	id      uint64 // of the last reader or transaction
	err     error  // why it is over

	full chan []byte
	free chan []byte
	stop chan struct{} // ends the clock
	done sync.WaitGroup
}

// newLog makes the file.
func newLog(name string, info Info, longest int64) (*log, error) {
	head, err := json.Marshal(info)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if longest <= 0 {
		longest = most
	}
	l := &log{file: f, encoder: encoder{kept: info.Values == Kept}, seed: maphash.MakeSeed(), most: longest,
		// as many as can wait: handing a block over never blocks
		full: make(chan []byte, mostBehind/blockSize+2), free: make(chan []byte, 8), stop: make(chan struct{})}
	if _, err := f.WriteString(magic); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(name))
	}
	l.block = append(l.fresh(), head...)
	l.hand()
	l.done.Go(l.write)
	l.done.Go(l.tick)
	return l, nil
}

// fresh returns an empty block.
func (l *log) fresh() []byte {
	select {
	case b := <-l.free:
		return b[:blockHead]
	default:
		return make([]byte, blockHead, blockSize+4<<10)
	}
}

// hand gives the block to the goroutine that writes, under the lock.
func (l *log) hand() {
	n := int64(len(l.block))
	waiting := l.behind.Add(n)
	switch l.length += n; {
	case l.length > l.most:
		l.endLocked(&kv.Error{Kind: kv.TooLarge, Err: fmt.Errorf("the recording has %d bytes", l.most),
			Hint: "allow more by Options.Most"})
	case waiting > mostBehind && waiting > n || len(l.full) == cap(l.full):
		l.endLocked(errors.New("the disk takes less than the program does"))
	default:
		l.full <- l.block
		l.block, l.ready = l.fresh(), 0
	}
}

// write writes blocks until there are no more. After an error it takes them and drops them.
func (l *log) write() {
	var failed error
	for b := range l.full {
		if failed == nil {
			seal(b)
			if _, failed = l.file.Write(b); failed != nil {
				l.end(failed)
			}
		}
		l.behind.Add(-int64(len(b)))
		select {
		case l.free <- b:
		default:
		}
	}
}

// seal fills in the head of a block.
func seal(b []byte) {
	binary.LittleEndian.PutUint32(b, uint32(len(b)-blockHead))
	binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[blockHead:], castagnoli))
}

// tick is the clock: a look at the system's would cost a write more than the rest of a recording.
func (l *log) tick() {
	start := time.Now()
	clock := time.NewTicker(tick)
	defer clock.Stop()
	for n := 1; ; n++ {
		select {
		case <-l.stop:
			return
		case now := <-clock.C:
			l.now.Store(int64(now.Sub(start) / tick))
			if n%flushEvery == 0 {
				l.flush()
			}
		}
	}
}

func (l *log) flush() {
	l.take()
	defer l.give()
	if len(l.block) > blockHead {
		l.hand()
	}
}

// end ends the recording, early.
func (l *log) end(err error) {
	l.take()
	defer l.give()
	l.endLocked(err)
}

func (l *log) endLocked(err error) {
	if l.over.CompareAndSwap(false, true) {
		l.err, l.block = err, nil
	}
}

// ended returns why the recording is over, nil if it is not, or was finished.
func (l *log) ended() error {
	if !l.over.Load() {
		return nil
	}
	l.take()
	defer l.give()
	return l.err
}

// finish writes what is left, and that the recording is whole if it is. It returns what ended it
// early.
func (l *log) finish() error {
	l.take()
	if !l.over.Load() {
		l.block = append(l.block, kindEnd)
		l.block = binary.AppendUvarint(l.block, l.records())
		if l.hand(); l.over.CompareAndSwap(false, true) {
			l.block = nil
		}
	}
	l.give()
	close(l.stop)
	close(l.full)
	l.done.Wait()
	if err := l.file.Close(); l.err == nil {
		return err
	}
	return l.err
}

// mark is where the recording stood when something began.
type mark struct {
	seq uint64
	at  int64
}

func (l *log) mark() mark { return mark{l.records(), l.now.Load()} }

// open begins a record, which close ends; false if the recording is over.
func (l *log) open(kind byte) bool {
	if l.over.Load() {
		return false
	}
	l.take()
	if l.block == nil {
		l.give()
		return false
	}
	l.block = append(l.block, kind)
	return true
}

func (l *log) close() {
	switch n := len(l.block); {
	case n >= blockSize:
		l.hand()
	case n+fetched/4 > l.ready:
		l.fetch()
	}
	l.count()
}

// fetched is how much of a block is fetched at a time.
const fetched = 4 << 10

// fetch has the processor fetch the next part of the block, all at once: it was read last by the
// one that writes to the file, and to get it line by line, each as it is written to, takes longer.
func (l *log) fetch() {
	from := max(l.ready, len(l.block))
	l.ready = min(from+fetched, cap(l.block))
	clear(l.block[from:l.ready])
}

// head puts when something began, and how many records ago.
func (l *log) head(m mark) { l.encoder.head(m.at, l.records()-m.seq) }

// appendValue puts a value of the program.
func (l *log) appendValue(b, v []byte) []byte {
	if l.kept {
		return appendKey(b, v)
	}
	token := l.token(v)
	b = appendNumber(b, uint64(len(v)))
	if len(v) >= 8 {
		return binary.LittleEndian.AppendUint64(b, token) // appendToken, without the call
	}
	return appendToken(b, false, len(v), token)
}

// token stands for a value.
func (l *log) token(v []byte) uint64 {
	if l.kept {
		return uint64(crc32.Checksum(v, castagnoli))
	}
	return cut(maphash.Bytes(l.seed, v), len(v))
}

// pair records one of the pairs that the store held at the start.
func (l *log) pair(k, v []byte) {
	if l.open(kindPair) {
		l.block = l.appendValue(appendKey(l.block, k), v)
		l.close()
	}
}

// roomFor waits until the disk has taken enough that so many bytes may wait for it.
func (l *log) roomFor(n int) {
	for l.behind.Load() > 0 && l.behind.Load()+int64(n)+2*blockSize > mostBehind && !l.over.Load() {
		time.Sleep(tick)
	}
}
