package etcdkv

import (
	"errors"
	"time"

	"github.com/assaydb/assay/kv/driver"
)

var table = driver.Table[Options]{
	driver.Text("endpoints", "HOST:PORT,...", "nodes of the cluster", func(o *Options) *string { return &o.Endpoints }).
		WithDefault("none: it must be given"),
	duration("timeout", "of one request", time.Millisecond, func(o *Options) *time.Duration { return &o.Timeout }),
	duration("ttl", "how long the lock of a program that died holds", time.Second,
		func(o *Options) *time.Duration { return &o.TTL }),
}

// duration is an option that is a duration of at least least.
func duration(name, usage string, least time.Duration, at func(*Options) *time.Duration) driver.Field[Options] {
	return driver.Field[Options]{
		Option: driver.Option{Name: name, Values: "duration", Usage: usage},
		Set: func(o *Options, value string) error {
			d, err := time.ParseDuration(value)
			if err != nil || d < least {
				return errors.New("use a duration of at least " + least.String())
			}
			*at(o) = d
			return nil
		},
		Get: func(o *Options) string { return at(o).String() },
	}
}
