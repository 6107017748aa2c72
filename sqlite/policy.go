//go:build cgo

package sqlite

// #include "cross.h"
import "C"

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/assaydb/assay/kv"
)

// A Policy says what holds of a database for everyone who opens it with this package. It is kept in
// the database. When a connection opens, the structure is checked, and what breaks the policy is
// one error that lists all; the settings are made, whatever Options say, and the program's PRAGMA
// cannot change them.
//
// It binds connections that open after SetPolicy. Other programs of SQLite do not know it.
type Policy struct {
	SchemaVersion int              `json:"schema_version,omitempty"` // PRAGMA user_version is that; 0: any
	LeastDriver   int              `json:"least_driver,omitempty"`   // DriverVersion is at least that
	Strict        bool             `json:"strict,omitempty"`         // every table is STRICT
	Tables        map[string]Table `json:"tables,omitempty"`         // are there, with exactly that; others may be, too
	ForeignKeys   bool             `json:"foreign_keys,omitempty"`   // are enforced
	Journal       string           `json:"journal,omitempty"`        // the journal mode: "wal" or "delete"; "": any
	Sync          string           `json:"sync,omitempty"`           // a Level's name, instead of Options.Sync; "": any
	MaxBytes      int64            `json:"max_bytes,omitempty"`      // of the database, without its log; 0: any
	ReadOnly      bool             `json:"read_only,omitempty"`      // nothing is written but by SetPolicy; the journal mode stays
	Trace         bool             `json:"trace,omitempty"`          // connections that have no ring get one: Conn.Ring
}

var policyFields = []string{"schema_version", "least_driver", "strict", "tables", "foreign_keys", "journal", "sync", "max_bytes",
	"read_only", "trace"}

// DriverVersion is what Policy.LeastDriver is held against. It rises when a policy can say more.
const DriverVersion = 1

// hiddenTable keeps the policy, a row for each field. SQLite keeps names that begin with "sqlite_"
// for itself: nobody can drop, alter or create such a table, tools leave it out, and programs of
// SQLite open the file as ever. Connections of this package do not see it at all.
const hiddenTable = "sqlite_assay"

// Policy returns the database's policy as it was when the connection opened, or nil.
func (c *Conn) Policy() *Policy { return c.policy }

// Ring returns the ring that takes the connection's traces: that of Options, or one that the policy
// asks for; or nil.
func (c *Conn) Ring() *Ring { return c.ring }

// SetPolicy keeps p in the database; nil is none. A database that breaks p is refused as Open
// would, and keeps the policy that it has. The connection itself goes on as it was opened.
func (c *Conn) SetPolicy(ctx context.Context, p *Policy) error {
	if p == nil {
		p = &Policy{}
	}
	if err := c.checkPolicy(p); err != nil {
		return err
	}
	return c.unguarded(func() error {
		set := []string{"writable_schema = on"}
		if c.policy != nil && c.policy.ReadOnly {
			set = append(set, "query_only = off")
			defer func() { _ = c.Exec(context.Background(), "PRAGMA query_only = on") }()
		}
		defer func() { _ = c.Exec(context.Background(), "PRAGMA writable_schema = off") }()
		for _, text := range set {
			if err := c.Exec(ctx, "PRAGMA "+text); err != nil {
				return err
			}
		}
		return c.Update(ctx, func() error {
			if err := c.violations(ctx, p, nil, true); err != nil {
				return err
			}
			return c.writePolicy(ctx, p)
		})
	})
}

// unguarded runs fn with the policy's table in sight, and one that can be made: SQLite's defensive
// mode refuses such a name.
func (c *Conn) unguarded(fn func() error) error {
	set := func(guarded, defensive C.int) error {
		if err := c.enter("policy"); err != nil {
			return err
		}
		defer c.leave()
		c.c.guarded = guarded
		C.assay_hooks(c.c)
		if c.c.defensive != 0 {
			if rc := C.assay_defend(c.c, defensive); rc != rcOK {
				return c.failure(context.Background(), "policy", rc)
			}
		}
		return nil
	}
	was := truth(c.policy != nil)
	if err := set(0, 0); err != nil {
		return err
	}
	err := fn()
	return errors.Join(err, set(was, 1))
}

func (c *Conn) writePolicy(ctx context.Context, p *Policy) error {
	fields, err := json.Marshal(p)
	if err != nil {
		return err
	}
	var rows map[string]json.RawMessage
	if err := json.Unmarshal(fields, &rows); err != nil {
		return err
	}
	err = c.Exec(ctx, "CREATE TABLE IF NOT EXISTS "+hiddenTable+"(name TEXT NOT NULL, value TEXT NOT NULL) STRICT;"+
		"DELETE FROM "+hiddenTable)
	if err != nil {
		return err
	}
	s, err := c.Prepare(ctx, "INSERT INTO "+hiddenTable+" VALUES (?, ?)")
	if err != nil {
		return err
	}
	defer s.Close()
	for name, value := range rows {
		s.BindText(1, name)
		s.BindText(2, string(value))
		if err := s.Run(ctx); err != nil {
			return err
		}
	}
	return nil
}

// readPolicy returns the policy of the database, or nil, and what it asks for that this driver does
// not know. Any program may have written it: what SetPolicy would not take is not a policy.
func (c *Conn) readPolicy(ctx context.Context) (p *Policy, unknown []string, err error) {
	there, err := c.hasPolicy(ctx)
	if err != nil || !there {
		return nil, nil, err
	}
	s, err := c.Prepare(ctx, "SELECT name, value FROM "+hiddenTable)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	rows := map[string]json.RawMessage{}
	for {
		ok, err := s.Next(ctx)
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			break
		}
		switch name, value := s.Text(0), s.Text(1); {
		case !slices.Contains(policyFields, name):
			unknown = append(unknown, fmt.Sprintf("it asks for %q, which this driver (%d) does not know", name, DriverVersion))
		case s.Type(1) != Text || value == "null":
			return nil, nil, c.noPolicy(fmt.Errorf("%s has no value", name))
		default:
			rows[name] = json.RawMessage(value)
		}
	}
	fields, err := json.Marshal(rows)
	p = &Policy{}
	if err == nil {
		err = json.Unmarshal(fields, p)
	}
	if err == nil && unknown == nil && p.LeastDriver <= DriverVersion {
		err = c.checkPolicy(p)
	}
	if err != nil {
		return nil, nil, c.noPolicy(err)
	}
	return p, unknown, nil
}

// noPolicy is the error of a policy that cannot be one.
func (c *Conn) noPolicy(err error) error {
	return &kv.Error{Op: "open", Engine: engine, Path: c.path, Kind: kv.Corrupt, Err: fmt.Errorf("the database's policy: %v", err),
		Hint: "another program wrote it: mend the table " + hiddenTable + " by a program of SQLite that does not know the policy"}
}

// hasPolicy reports whether the table is there; it reads the schema, and so waits for locks.
func (c *Conn) hasPolicy(ctx context.Context) (bool, error) {
	if err := c.enter("open"); err != nil {
		return false, err
	}
	defer c.leave()
	if err := c.begin(ctx, "open"); err != nil {
		return false, err
	}
	defer c.finish(ctx)
	schema, table := C.CString("main"), C.CString(hiddenTable)
	defer C.free(unsafe.Pointer(schema))
	defer C.free(unsafe.Pointer(table))
	switch rc := C.sqlite3_table_column_metadata(c.c.db, schema, table, nil, nil, nil, nil, nil, nil); Code(rc) {
	case rcOK:
		return true, nil
	case Failed:
		return false, nil
	default:
		return false, c.failure(ctx, "open", rc)
	}
}

// enforce holds the database against its policy, and makes the settings that p asks for, for good.
func (c *Conn) enforce(ctx context.Context, p *Policy, unknown []string) error {
	if err := c.violations(ctx, p, unknown, false); err != nil {
		return err
	}
	kept, err := c.settle(ctx, p)
	if err != nil {
		return err
	}
	if p.Trace && c.ring == nil {
		c.ring = NewRing(1024)
		if err := c.ring.hold(); err != nil {
			return err
		}
		c.ring.Close() // freed with the connection
		c.c.ring = c.ring.c
	}
	if err := c.enter("open"); err != nil {
		return err
	}
	defer c.leave()
	c.policy, c.keeping = p, append(kept, "writable_schema") // by which the policy could be removed
	c.frozen = C.CString("," + strings.Join(c.keeping, ",") + ",")
	c.c.kept, c.c.guarded = c.frozen, 1
	C.assay_hooks(c.c)
	return nil
}

// keeps reports whether the policy keeps a setting.
func (c *Conn) keeps(name string) bool { return slices.Contains(c.keeping, name) }

// settle makes the settings of p and returns their names.
func (c *Conn) settle(ctx context.Context, p *Policy) (kept []string, err error) {
	set := func(name, value string) {
		kept = append(kept, name)
		if err == nil {
			err = c.Exec(ctx, "PRAGMA "+name+" = "+value)
		}
	}
	if p.Journal != "" {
		kept = append(kept, "journal_mode")
		if now, failed := c.pragmaText(ctx, "journal_mode"); failed != nil || !strings.EqualFold(now, p.Journal) {
			if err = errors.Join(failed, c.setJournal(ctx, p.Journal)); err != nil {
				return nil, err
			}
		}
	}
	if p.ForeignKeys {
		set("foreign_keys", "on")
	}
	if p.Sync != "" {
		set("synchronous", p.Sync)
	}
	if p.MaxBytes > 0 {
		size, failed := c.pragmaInt(ctx, "page_size")
		if failed != nil {
			return nil, failed
		}
		set("max_page_count", fmt.Sprint(max(p.MaxBytes/size, 1)))
		kept = append(kept, "page_size") // of which VACUUM would make larger ones
	}
	if p.ReadOnly {
		set("query_only", "on")
		kept = append(kept, "journal_mode") // which is written in the file
	}
	return kept, err
}

// readOnly reports whether the file was opened for reading alone.
func (c *Conn) readOnly() bool {
	if c.enter("open") != nil {
		return false
	}
	defer c.leave()
	return C.sqlite3_db_readonly(c.c.db, nil) == 1
}

// pragmaInt returns the number that a pragma returns.
func (c *Conn) pragmaInt(ctx context.Context, text string) (int64, error) {
	s, err := c.Prepare(ctx, "PRAGMA "+text)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	_, err = s.Next(ctx)
	return s.Int(0), err
}
