package transfer_test

import (
	"os"
	"testing"
	"time"

	"github.com/assaydb/assay/transfer"
)

func TestZProf(t *testing.T) {
	phase, began := "", time.Now()
	o := &transfer.Options{Progress: func(p transfer.Progress) {
		if p.Phase != phase {
			t.Log(phase, time.Since(began))
			phase, began = p.Phase, time.Now()
		}
	}}
	_, err := transfer.Copy(t.Context(), os.Getenv("ZFROM"), os.Getenv("ZTO"), o)
	t.Log(phase, time.Since(began), err)
}
