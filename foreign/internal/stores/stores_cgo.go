//go:build cgo

package stores

import _ "github.com/assaydb/assay/engines/sqliteckv"

func init() { all = append(all, store{name: "sqlite-c", engine: "sqlite-c"}) }
