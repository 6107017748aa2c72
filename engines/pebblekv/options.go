package pebblekv

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/assaydb/assay/kv/driver"
)

// options are Pebble's, under the names of the fields of pebble.Options, with Pebble's defaults.
var options = []driver.Option{
	{Name: "BlockSize", Values: "bytes", Default: "4096", Usage: "size of a table's blocks, before compression"},
	{Name: "BytesPerSync", Values: "bytes", Default: "524288", Usage: "write tables out in steps of this size"},
	{Name: "CacheSize", Values: "bytes", Default: "8388608", Usage: "size of the block cache, in memory"},
	{Name: "CompactionConcurrencyRange", Values: "lower,upper", Default: "1,1", Usage: "how many compactions run at once"},
	{Name: "Compression", Values: strings.Join(compressionNames, "|"), Default: "snappy",
		Usage: "of tables; the last three choose by level"},
	{Name: "DisableWAL", Values: "true|false", Default: "false", Usage: "no log: only Buffered is delivered"},
	{Name: "FilterPolicy", Values: "bits per key", Default: "0", Usage: "Bloom filters in tables; 10 is usual, 0 is none"},
	{Name: "FormatMajorVersion", Values: "number", Default: "the newest for a new store, else the store's",
		Usage: "format of the files; raising it cannot be undone"},
	{Name: "L0CompactionThreshold", Values: "number", Default: "4", Usage: "depth of level 0 that starts a compaction"},
	{Name: "L0StopWritesThreshold", Values: "number", Default: "12", Usage: "depth of level 0 that stops writes"},
	{Name: "LBaseMaxBytes", Values: "bytes", Default: "67108864", Usage: "size of the first level below level 0"},
	{Name: "MaxOpenFiles", Values: "number", Default: "1000", Usage: "most tables that are open at once"},
	{Name: "MemTableSize", Values: "bytes", Default: "4194304", Usage: "size at which the table in memory is written out"},
	{Name: "MemTableStopWritesThreshold", Values: "number", Default: "2", Usage: "tables in memory that stop writes"},
	{Name: "WALBytesPerSync", Values: "bytes", Default: "0", Usage: "write the log out in steps of this size; 0 is off"},
}

var compressionNames = []string{"none", "snappy", "zstd", "minlz", "fastest", "balanced", "good"}

var compressions = map[string]pebble.DBCompressionSettings{
	"none":     pebble.DBCompressionNone,
	"snappy":   pebble.UniformDBCompressionSettings(block.SnappyCompression),
	"zstd":     pebble.UniformDBCompressionSettings(block.ZstdCompression),
	"minlz":    pebble.UniformDBCompressionSettings(block.MinLZCompression),
	"fastest":  pebble.DBCompressionFastest,
	"balanced": pebble.DBCompressionBalanced,
	"good":     pebble.DBCompressionGood,
}

// settings are Pebble's options, and those of them that cannot be read back from it.
type settings struct {
	pebble.Options
	compression  string
	filterBits   int64
	lower, upper int
	log          *slog.Logger
}

// parse reads params and fills in Pebble's defaults.
func parse(params map[string]string) (*settings, error) {
	p := driver.NewParams(params)
	o := &settings{
		compression: p.OneOf("Compression", "snappy", compressionNames...),
		filterBits:  p.Int("FilterPolicy", 0, 0),
	}
	o.BytesPerSync = int(p.Int("BytesPerSync", 0, 1))
	o.CacheSize = p.Int("CacheSize", 0, 1)
	o.DisableWAL = p.Bool("DisableWAL", false)
	o.FormatMajorVersion = pebble.FormatMajorVersion(p.Int("FormatMajorVersion", 0, int64(pebble.FormatMinSupported)))
	o.L0CompactionThreshold = int(p.Int("L0CompactionThreshold", 0, 1))
	o.L0StopWritesThreshold = int(p.Int("L0StopWritesThreshold", 0, 1))
	o.LBaseMaxBytes = p.Int("LBaseMaxBytes", 0, 1)
	o.MaxOpenFiles = int(p.Int("MaxOpenFiles", 0, 1))
	o.MemTableSize = uint64(p.Int("MemTableSize", 0, 64<<10))
	o.MemTableStopWritesThreshold = int(p.Int("MemTableStopWritesThreshold", 0, 2))
	o.WALBytesPerSync = int(p.Int("WALBytesPerSync", 0, 0))
	o.Levels[0].BlockSize = int(p.Int("BlockSize", 0, 64))
	if o.filterBits > 0 {
		for i := range o.Levels {
			o.Levels[i].FilterPolicy = bloom.FilterPolicy(o.filterBits)
		}
	}
	o.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return compressions[o.compression] })
	if err := p.Err(); err != nil {
		return nil, err
	}
	if err := o.parseConcurrency(p.String("CompactionConcurrencyRange", "1,1")); err != nil {
		return nil, err
	}
	return o, o.complete()
}

// parseConcurrency reads "lower,upper".
func (o *settings) parseConcurrency(value string) error {
	lower, upper, _ := strings.Cut(value, ",")
	var err1, err2 error
	o.lower, err1 = strconv.Atoi(lower)
	o.upper, err2 = strconv.Atoi(upper)
	if err1 != nil || err2 != nil || o.lower < 1 || o.upper < o.lower {
		return &driver.Error{Op: "open", Kind: driver.Invalid, Err: fmt.Errorf("option CompactionConcurrencyRange=%s", value),
			Hint: "write lower,upper, for example 1,4"}
	}
	lo, up := o.lower, o.upper
	o.CompactionConcurrencyRange = func() (int, int) { return lo, up }
	return nil
}

// complete fills in the defaults and lets Pebble judge the whole. The format is checked against what this Pebble knows.
func (o *settings) complete() error {
	if o.FormatMajorVersion > pebble.FormatNewest {
		return &driver.Error{Op: "open", Kind: driver.Invalid, Err: fmt.Errorf("option FormatMajorVersion=%d", o.FormatMajorVersion),
			Hint: fmt.Sprintf("use %d to %d", pebble.FormatMinSupported, pebble.FormatNewest)}
	}
	format := o.FormatMajorVersion
	o.FS = vfs.Default // EnsureDefaults would start a goroutine that watches for slow disks
	o.EnsureDefaults()
	if err := o.Validate(); err != nil {
		return &driver.Error{Op: "open", Kind: driver.Invalid, Err: err}
	}
	o.FormatMajorVersion = format // EnsureDefaults turned "not said" into the oldest
	return nil
}

// setLogger sends Pebble's reports of background errors to l.
func (o *settings) setLogger(l *slog.Logger) {
	o.log = l
	o.EventListener = &pebble.EventListener{
		BackgroundError: func(err error) { l.Warn("pebble: background error", "err", err) },
		DataCorruption:  func(i pebble.DataCorruptionInfo) { l.Error("pebble: corrupt data", "path", i.Path, "err", i.Details) },
		WriteStallBegin: func(i pebble.WriteStallBeginInfo) { l.Debug("pebble: writes wait", "reason", i.Reason) },
	}
}

// list tells the settings in force.
func (o *settings) list(db *pebble.DB) []driver.Setting {
	n := func(name string, v any) driver.Setting { return driver.Setting{Name: name, Value: fmt.Sprint(v)} }
	return []driver.Setting{
		n("BlockSize", o.Levels[0].BlockSize),
		n("BytesPerSync", o.BytesPerSync),
		n("CacheSize", o.CacheSize),
		n("CompactionConcurrencyRange", fmt.Sprintf("%d,%d", o.lower, o.upper)),
		n("Compression", o.compression),
		n("DisableWAL", o.DisableWAL),
		n("FilterPolicy", o.filterBits),
		n("FormatMajorVersion", uint64(db.FormatMajorVersion())),
		n("L0CompactionThreshold", o.L0CompactionThreshold),
		n("L0StopWritesThreshold", o.L0StopWritesThreshold),
		n("LBaseMaxBytes", o.LBaseMaxBytes),
		n("MaxOpenFiles", o.MaxOpenFiles),
		n("MemTableSize", o.MemTableSize),
		n("MemTableStopWritesThreshold", o.MemTableStopWritesThreshold),
		n("WALBytesPerSync", o.WALBytesPerSync),
	}
}
