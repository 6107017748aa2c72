package levelkv

import (
	"fmt"

	"github.com/syndtr/goleveldb/leveldb/filter"
	"github.com/syndtr/goleveldb/leveldb/opt"

	"github.com/assaydb/assay/kv/driver"
)

// options are goleveldb's, under the names of the fields of opt.Options, with goleveldb's defaults.
var options = []driver.Option{
	{Name: "BlockCacheCapacity", Values: "bytes", Default: "8388608", Usage: "size of the cache of blocks, in memory"},
	{Name: "BlockRestartInterval", Values: "number", Default: "16", Usage: "keys of a block that share prefixes"},
	{Name: "BlockSize", Values: "bytes", Default: "4096", Usage: "size of a table's blocks, before compression"},
	{Name: "CompactionL0Trigger", Values: "number", Default: "4", Usage: "tables of level 0 that start a compaction"},
	{Name: "CompactionTableSize", Values: "bytes", Default: "2097152", Usage: "size of the tables that a compaction writes"},
	{Name: "CompactionTotalSize", Values: "bytes", Default: "10485760", Usage: "level n holds up to this size times ten to the power of n"},
	{Name: "Compression", Values: "none|snappy", Default: "snappy", Usage: "of tables"},
	{Name: "Filter", Values: "bits per key", Default: "0", Usage: "Bloom filters in tables; 10 is usual, 0 is none"},
	{Name: "NoSync", Values: "true|false", Default: "false", Usage: "sync nothing, tables included: Synced is refused"},
	{Name: "NoWriteMerge", Values: "true|false", Default: "false", Usage: "do not let commits that run at once share a write"},
	{Name: "OpenFilesCacheCapacity", Values: "number", Default: "500", Usage: "most tables that are open at once"},
	{Name: "Strict", Values: "default|all", Default: "default",
		Usage: "all: a journal or manifest with a damaged or torn record does not open, even after a crash"},
	{Name: "WriteBuffer", Values: "bytes", Default: "4194304", Usage: "size at which the table in memory is written out"},
	{Name: "WriteL0PauseTrigger", Values: "number", Default: "12", Usage: "tables of level 0 that stop writes"},
	{Name: "WriteL0SlowdownTrigger", Values: "number", Default: "8", Usage: "tables of level 0 that slow writes down"},
}

// settings are goleveldb's options, and those of them that cannot be read back from it.
type settings struct {
	opt.Options
	compression string
	filterBits  int64
	strict      string
}

// parse reads params; what is absent stays goleveldb's default.
func parse(params map[string]string) (*settings, error) {
	p := driver.NewParams(params)
	s := &settings{
		compression: p.OneOf("Compression", "snappy", "none", "snappy"),
		filterBits:  p.Int("Filter", 0, 0),
		strict:      p.OneOf("Strict", "default", "default", "all"),
	}
	s.BlockCacheCapacity = int(p.Int("BlockCacheCapacity", 0, 1))
	s.BlockRestartInterval = int(p.Int("BlockRestartInterval", 0, 1))
	s.BlockSize = int(p.Int("BlockSize", 0, 64))
	s.CompactionL0Trigger = int(p.Int("CompactionL0Trigger", 0, 1))
	s.CompactionTableSize = int(p.Int("CompactionTableSize", 0, 1<<10))
	s.CompactionTotalSize = int(p.Int("CompactionTotalSize", 0, 1<<10))
	s.NoSync = p.Bool("NoSync", false)
	s.NoWriteMerge = p.Bool("NoWriteMerge", false)
	s.OpenFilesCacheCapacity = int(p.Int("OpenFilesCacheCapacity", 0, 1))
	s.WriteBuffer = int(p.Int("WriteBuffer", 0, 1<<10))
	s.WriteL0PauseTrigger = int(p.Int("WriteL0PauseTrigger", 0, 1))
	s.WriteL0SlowdownTrigger = int(p.Int("WriteL0SlowdownTrigger", 0, 1))
	if s.compression == "none" {
		s.Compression = opt.NoCompression
	}
	if s.filterBits > 0 {
		s.Filter = filter.NewBloomFilter(int(s.filterBits))
	}
	if s.strict == "all" {
		s.Strict = opt.StrictAll
	}
	return s, p.Err()
}

// list tells the settings in force.
func (s *settings) list() []driver.Setting {
	n := func(name string, v any) driver.Setting { return driver.Setting{Name: name, Value: fmt.Sprint(v)} }
	return []driver.Setting{
		n("BlockCacheCapacity", s.GetBlockCacheCapacity()),
		n("BlockRestartInterval", s.GetBlockRestartInterval()),
		n("BlockSize", s.GetBlockSize()),
		n("CompactionL0Trigger", s.GetCompactionL0Trigger()),
		n("CompactionTableSize", s.GetCompactionTableSize(0)),
		n("CompactionTotalSize", s.GetCompactionTotalSize(0)),
		n("Compression", s.compression),
		n("Filter", s.filterBits),
		n("NoSync", s.GetNoSync()),
		n("NoWriteMerge", s.GetNoWriteMerge()),
		n("OpenFilesCacheCapacity", s.GetOpenFilesCacheCapacity()),
		n("Strict", s.strict),
		n("WriteBuffer", s.GetWriteBuffer()),
		n("WriteL0PauseTrigger", s.GetWriteL0PauseTrigger()),
		n("WriteL0SlowdownTrigger", s.GetWriteL0SlowdownTrigger()),
	}
}
