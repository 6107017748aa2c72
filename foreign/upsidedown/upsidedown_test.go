package upsidedown_test

import (
	"testing"

	"github.com/assaydb/assay/foreign/internal/stores"
	"github.com/assaydb/assay/foreign/internal/suites"
)

func TestCommon(t *testing.T) { stores.Each(t, suites.Upsidedown) }
func TestBatchBesideAnOpenReader(t *testing.T) {
	stores.Each(t, suites.UpsidedownBatchBesideAnOpenReader)
}
func TestMergeIntoWhatIsThere(t *testing.T) { stores.Each(t, suites.UpsidedownMergeIntoWhatIsThere) }
