//go:build cgo

package transfer_test

import _ "github.com/assaydb/assay/engines/sqliteckv"

func init() { engines = append(engines, "sqlite-c") }
