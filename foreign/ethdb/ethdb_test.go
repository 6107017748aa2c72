package ethdb_test

import (
	"testing"

	"github.com/assaydb/assay/foreign/internal/stores"
	"github.com/assaydb/assay/foreign/internal/suites"
)

func TestDatabase(t *testing.T) { stores.Each(t, suites.Ethdb) }
