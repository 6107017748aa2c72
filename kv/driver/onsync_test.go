package driver_test

import (
	"errors"
	"testing"
	"time"

	"github.com/assaydb/assay/kv/driver"
)

func TestASyncIsToldWithItsTimeAndError(t *testing.T) {
	broken := errors.New("broken")
	var took time.Duration
	var told error
	tell := driver.OnSync(func(d time.Duration, err error) { took, told = d, err })
	err := tell.Time(func() error {
		for began := time.Now(); time.Since(began) < time.Microsecond; {
		}
		return broken
	})
	if err != broken || told != broken || took < time.Microsecond {
		t.Errorf("got %v, and was told %v after %v", err, told, took)
	}
	if err := driver.OnSync(nil).Time(func() error { return broken }); err != broken {
		t.Errorf("where nobody asks: %v", err)
	}
	if err := tell.Dir(t.TempDir()); err != nil || told != nil {
		t.Errorf("a folder: %v, told %v", err, told)
	}
}
