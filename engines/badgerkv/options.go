package badgerkv

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/dgraph-io/badger/v4"
	badgeroptions "github.com/dgraph-io/badger/v4/options"

	"github.com/assaydb/assay/kv/driver"
)

// options are Badger's, under the names of the fields of badger.Options, with Badger's defaults but for
// DetectConflicts and SyncWrites.
var options = []driver.Option{
	{Name: "BaseTableSize", Values: "bytes", Default: "2097152", Usage: "size of the tables on disk"},
	{Name: "BlockCacheSize", Values: "bytes", Default: "268435456", Usage: "most memory for blocks; 0 only without compression"},
	{Name: "ChecksumVerificationMode", Values: strings.Join(checksumModes, "|"), Default: "NoVerification",
		Usage: "when the checksums of blocks are verified"},
	{Name: "CompactL0OnClose", Values: "true|false", Default: "false", Usage: "merge level 0 on close"},
	{Name: "Compression", Values: "none|snappy|zstd", Default: "snappy", Usage: "of tables"},
	{Name: "DetectConflicts", Values: "true|false", Default: "false", Usage: "check for conflicts; kv has one writer, so none occur"},
	{Name: "IndexCacheSize", Values: "bytes", Default: "0", Usage: "most memory for indices; 0 keeps all of them"},
	{Name: "MemTableSize", Values: "bytes", Default: "67108864",
		Usage: "size at which the table in memory is written out; a transaction may take 15 % of it"},
	{Name: "MetricsEnabled", Values: "true|false", Default: "true", Usage: "count operations for package expvar"},
	{Name: "NumCompactors", Values: "number", Default: "4", Usage: "how many compactions run at once; 0, or at least 2"},
	{Name: "NumMemtables", Values: "number", Default: "5", Usage: "tables in memory that stop writes"},
	{Name: "NumVersionsToKeep", Values: "number", Default: "1", Usage: "versions kept of a key; kv reads the last"},
	{Name: "SyncWrites", Values: "true|false", Default: "as the weakest class needs", Usage: "sync every commit: Synced, else Flushed"},
	{Name: "ValueLogFileSize", Values: "bytes", Default: "1073741823", Usage: "size of the files for large values, and of the largest value"},
	{Name: "ValueThreshold", Values: "bytes", Default: "1048576", Usage: "values of this size and more go to the value log"},
	{Name: "ZSTDCompressionLevel", Values: "number", Default: "1", Usage: "for Compression=zstd"},
}

// checksumModes are the names of Badger's constants, in their order.
var checksumModes = []string{"NoVerification", "OnTableRead", "OnBlockRead", "OnTableAndBlockRead"}

var compressions = map[string]badgeroptions.CompressionType{
	"none": badgeroptions.None, "snappy": badgeroptions.Snappy, "zstd": badgeroptions.ZSTD,
}

// parse returns Badger's options for c.
func parse(c driver.Config) (badger.Options, error) {
	p := driver.NewParams(c.Params)
	o := badger.DefaultOptions(c.Path).WithReadOnly(c.Mode == driver.ReadOnly)
	o.BaseTableSize = p.Int("BaseTableSize", o.BaseTableSize, 1<<12)
	o.BlockCacheSize = p.Int("BlockCacheSize", o.BlockCacheSize, 0)
	mode := p.OneOf("ChecksumVerificationMode", "NoVerification", checksumModes...)
	o.ChecksumVerificationMode = badgeroptions.ChecksumVerificationMode(slices.Index(checksumModes, mode))
	o.CompactL0OnClose = p.Bool("CompactL0OnClose", o.CompactL0OnClose)
	o.Compression = compressions[p.OneOf("Compression", "snappy", "none", "snappy", "zstd")]
	o.DetectConflicts = p.Bool("DetectConflicts", false)
	o.IndexCacheSize = p.Int("IndexCacheSize", o.IndexCacheSize, 0)
	o.MemTableSize = p.Int("MemTableSize", o.MemTableSize, 1<<16)
	o.MetricsEnabled = p.Bool("MetricsEnabled", o.MetricsEnabled)
	o.NumCompactors = int(p.Int("NumCompactors", int64(o.NumCompactors), 0))
	o.NumMemtables = int(p.Int("NumMemtables", int64(o.NumMemtables), 1))
	o.NumVersionsToKeep = int(p.Int("NumVersionsToKeep", int64(o.NumVersionsToKeep), 1))
	o.SyncWrites = p.Bool("SyncWrites", c.Weakest == driver.Synced)
	o.ValueLogFileSize = p.Int("ValueLogFileSize", o.ValueLogFileSize, 1<<20)
	// Badger accepts no threshold above the largest transaction: a small MemTableSize lowers the default.
	o.ValueThreshold = p.Int("ValueThreshold", min(o.ValueThreshold, o.MemTableSize*15/100), 0)
	o.ZSTDCompressionLevel = int(p.Int("ZSTDCompressionLevel", int64(o.ZSTDCompressionLevel), 1))
	if err := p.Err(); err != nil {
		return o, err
	}
	return o, consistent(o)
}

// consistent finds what Badger refuses, or panics on, when it opens.
func consistent(o badger.Options) error {
	invalid := func(hint, format string, args ...any) error {
		return &driver.Error{Op: "open", Kind: driver.Invalid, Err: fmt.Errorf(format, args...), Hint: hint}
	}
	switch {
	case o.Compression != badgeroptions.None && o.BlockCacheSize == 0:
		return invalid("use Compression=none or leave BlockCacheSize out", "option BlockCacheSize=0 with compression")
	case o.NumCompactors == 1:
		return invalid("use 0, or at least 2", "option NumCompactors=1")
	case o.ValueLogFileSize > 2<<30-1:
		return invalid("use less than 2147483648", "option ValueLogFileSize=%d", o.ValueLogFileSize)
	case o.MemTableSize > 1<<30:
		return invalid("use at most 1073741824", "option MemTableSize=%d", o.MemTableSize)
	case o.ValueThreshold > 1<<20:
		return invalid("use at most 1048576", "option ValueThreshold=%d", o.ValueThreshold)
	case o.ValueThreshold > o.MemTableSize*15/100:
		return invalid("use at most 15 % of MemTableSize", "option ValueThreshold=%d", o.ValueThreshold)
	}
	return nil
}

// list tells the settings in force.
func list(o badger.Options) []driver.Setting {
	n := func(name string, v any) driver.Setting { return driver.Setting{Name: name, Value: fmt.Sprint(v)} }
	compression := "none"
	for name, c := range compressions {
		if c == o.Compression {
			compression = name
		}
	}
	return []driver.Setting{
		n("BaseTableSize", o.BaseTableSize),
		n("BlockCacheSize", o.BlockCacheSize),
		n("ChecksumVerificationMode", checksumModes[o.ChecksumVerificationMode]),
		n("CompactL0OnClose", o.CompactL0OnClose),
		n("Compression", compression),
		n("DetectConflicts", o.DetectConflicts),
		n("IndexCacheSize", o.IndexCacheSize),
		n("MemTableSize", o.MemTableSize),
		n("MetricsEnabled", o.MetricsEnabled),
		n("NumCompactors", o.NumCompactors),
		n("NumMemtables", o.NumMemtables),
		n("NumVersionsToKeep", o.NumVersionsToKeep),
		n("SyncWrites", o.SyncWrites),
		n("ValueLogFileSize", o.ValueLogFileSize),
		n("ValueThreshold", o.ValueThreshold),
		n("ZSTDCompressionLevel", o.ZSTDCompressionLevel),
	}
}

// logger passes Badger's messages on. Badger calls Debugf for every commit, so nothing is formatted that nobody wants.
// It stops the store at a failed sync of the file of values, which Badger tells nobody else, before the commit returns.
type logger struct {
	to     *slog.Logger
	failed *driver.Failure
}

var _ badger.Logger = logger{}

// Errorf is part of badger.Logger, as are the methods that follow.
func (l logger) Errorf(format string, args ...any) {
	if strings.Contains(format, "curlf sync") { // Badger 4.9: valueLog.write
		l.failed.Stop(fmt.Errorf("sync of the file of values: %v", args))
	}
	l.log(slog.LevelError, format, args)
}

func (l logger) Warningf(format string, args ...any) { l.log(slog.LevelWarn, format, args) }

// Infof tells each step of opening and closing: it is a detail for a program that uses the store.
func (l logger) Infof(format string, args ...any) { l.log(slog.LevelDebug, format, args) }

func (l logger) Debugf(format string, args ...any) { l.log(slog.LevelDebug, format, args) }

func (l logger) log(level slog.Level, format string, args []any) {
	ctx := context.Background()
	if l.to.Enabled(ctx, level) {
		l.to.Log(ctx, level, "badger: "+strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
}
