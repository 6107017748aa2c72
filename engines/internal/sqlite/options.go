package sqlite

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/assaydb/assay/kv/driver"
)

// level is a value of SQLite's synchronous, by its number.
type level int8

const (
	levelUnknown level = iota - 1
	levelOff
	levelNormal
	levelFull // SQLite: the default value of a new connection
	levelExtra
)

var levels = map[string]level{"OFF": levelOff, "NORMAL": levelNormal, "FULL": levelFull, "EXTRA": levelExtra}

func (l level) String() string { return [...]string{"OFF", "NORMAL", "FULL", "EXTRA"}[l] }

// The journal modes on offer. TRUNCATE and PERSIST promise less than DELETE for no gain here; MEMORY and OFF are not
// crash-atomic.
const (
	journalWAL    = "WAL"
	journalDelete = "DELETE"
)

// optionTable is SQLite's pragmas, and its URI parameter immutable, under their own names.
var optionTable = []driver.Option{
	{Name: "auto_vacuum", Values: "NONE|FULL|INCREMENTAL", Default: "NONE", Usage: "how a new database gives free pages back"},
	{Name: "busy_timeout", Values: "milliseconds", Default: "10000", Usage: "how long a read or write waits for the lock of another process"},
	{Name: "cache_size", Values: "pages, or -KiB", Default: "-2000", Usage: "page cache of each connection"},
	{Name: "immutable", Values: "true|false", Default: "false", Usage: "with mode=ro: nobody writes meanwhile, so use no locks and no companion files"},
	{Name: "journal_mode", Values: "WAL|DELETE", Default: "WAL", Usage: "write-ahead log, or rollback journal (fewer files; readers and the writer wait for each other)"},
	{Name: "mmap_size", Values: "bytes", Default: "0", Usage: "how much of the file is read through a memory map"},
	{Name: "page_size", Values: "512|1024|2048|4096|8192|16384|32768|65536", Default: "4096", Usage: "page size of a new database"},
	{Name: "synchronous", Values: "OFF|NORMAL|FULL|EXTRA", Default: "by class", Usage: "how all commits sync; classes that it does not deliver are refused"},
	{Name: "temp_store", Values: "DEFAULT|FILE|MEMORY", Default: "DEFAULT", Usage: "where Compact builds the new database first"},
	{Name: "wal_autocheckpoint", Values: "pages", Default: "1000", Usage: "size of the log at which a commit copies it into the database; 0 is never"},
}

// options is what a store is opened with.
type options struct {
	readOnly    bool
	immutable   bool
	journal     string // "" if it was not given
	synchronous string // "" if it was not given
	busy        time.Duration
	creation    []pragma // set before a new database gets its first page
	session     []pragma // set on every connection
}

// wantedJournal returns the journal mode that a store that may be written to is to have.
func (o *options) wantedJournal() string {
	if o.journal == "" {
		return journalWAL
	}
	return o.journal
}

// pragma is a setting and the value that it reads back as.
type pragma struct{ name, value string }

const defaultBusy = 10 * time.Second

func parseOptions(c driver.Config) (options, error) {
	p := driver.NewParams(c.Params)
	o := options{
		readOnly:    c.Mode == driver.ReadOnly,
		immutable:   p.Bool("immutable", false),
		journal:     p.OneOf("journal_mode", "", journalWAL, journalDelete),
		synchronous: p.OneOf("synchronous", "", "OFF", "NORMAL", "FULL", "EXTRA"),
		busy:        time.Duration(p.Int("busy_timeout", defaultBusy.Milliseconds(), 0)) * time.Millisecond,
	}
	number := func(list *[]pragma, name string, min int64) {
		if n := p.Int(name, 0, min); p.Has(name) {
			*list = append(*list, pragma{name, strconv.FormatInt(n, 10)})
		}
	}
	choice := func(list *[]pragma, name string, values ...string) {
		if v := p.OneOf(name, "", values...); p.Has(name) {
			*list = append(*list, pragma{name, strconv.Itoa(slices.Index(values, v))})
		}
	}
	if size := p.OneOf("page_size", "", "512", "1024", "2048", "4096", "8192", "16384", "32768", "65536"); size != "" {
		o.creation = append(o.creation, pragma{"page_size", size})
	}
	choice(&o.creation, "auto_vacuum", "NONE", "FULL", "INCREMENTAL")
	number(&o.session, "cache_size", math.MinInt32)
	number(&o.session, "mmap_size", 0)
	number(&o.session, "wal_autocheckpoint", 0)
	choice(&o.session, "temp_store", "DEFAULT", "FILE", "MEMORY")
	if runtime.GOOS == "darwin" {
		// macOS: fsync leaves data in the disk's cache; only F_FULLFSYNC empties it.
		o.session = append(o.session, pragma{"fullfsync", "1"}, pragma{"checkpoint_fullfsync", "1"})
	}
	if err := p.Err(); err != nil {
		return o, err
	}
	if o.immutable && !o.readOnly {
		return o, &driver.Error{Kind: driver.Invalid, Err: errors.New("immutable without mode=ro"), Hint: "add mode=ro"}
	}
	return o, nil
}

// refused is the error for a setting that is not in force although it was asked for.
func refused(name, want, got string) error {
	return &driver.Error{Kind: driver.Unsupported, Err: fmt.Errorf("%s is %s, not %s", name, got, want), Hint: refusedHint(name)}
}

func refusedHint(name string) string {
	switch name {
	case "journal_mode":
		return "the file system may lack what WAL needs, or the store is open read-only: use the journal_mode in force"
	case "page_size", "auto_vacuum":
		return "it is fixed when a database is created: leave the option out, or copy the data into a new database"
	}
	return "SQLite limits the value: ask for the one in force, or leave the option out"
}
