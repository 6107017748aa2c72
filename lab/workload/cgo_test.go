//go:build cgo

package workload_test

import _ "github.com/assaydb/assay/engines/sqliteckv"
