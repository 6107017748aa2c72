package etcdkv

import (
	"time"

	"github.com/assaydb/assay/kv/driver"
)

// Options are what a URL may say. Endpoints is required there.
type Options struct {
	Endpoints string // HOST:PORT of the nodes, separated by commas
	Timeout   int    // seconds for one request, and for looking for a commit in doubt
	TTL       int    // seconds: of the lease of a handle
}

func defaults() Options { return Options{Timeout: 5, TTL: 10} }

func (o *Options) timeout() time.Duration { return time.Duration(o.Timeout) * time.Second }

var table = driver.Table[Options]{
	driver.Text("endpoints", "HOST:PORT,...", "nodes of the cluster", func(o *Options) *string { return &o.Endpoints }).
		WithDefault("none: it must be given"),
	driver.Whole("timeout", "seconds", 1, "for one request", func(o *Options) *int { return &o.Timeout }),
	driver.Whole("ttl", "seconds", 1, "how long the lock of a program that died holds",
		func(o *Options) *int { return &o.TTL }),
}
