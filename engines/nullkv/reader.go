package nullkv

import "github.com/assaydb/assay/kv/driver"

// reader reads nothing.
type reader struct{}

var _ driver.Reader = reader{}

// Get finds no key.
func (reader) Get(dst, _ []byte) ([]byte, error) { return dst, driver.NotFound }

// Cursor returns a cursor at its end.
func (reader) Cursor(driver.Range) (driver.Cursor, error) { return cursor{}, nil }

// Close does nothing.
func (reader) Close() error { return nil }

// cursor is always at its end.
type cursor struct{}

var _ driver.Cursor = cursor{}

// Next is the end.
func (cursor) Next() (key, value []byte, err error) { return nil, nil, nil }

// Close does nothing.
func (cursor) Close() error { return nil }
