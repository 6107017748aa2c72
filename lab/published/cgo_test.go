//go:build cgo

package published

import (
	_ "github.com/assaydb/assay/engines/sqliteckv"
	_ "github.com/assaydb/assay/sqlite/sqldriver" // "sqlite-c" of database/sql
)
