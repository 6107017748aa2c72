package driver

import "time"

// OnSync is told of a sync of a store's files when it has returned: how long it took, and its
// error. It may be called by any goroutine, and by several at once, until Close has returned. A nil
// one is that nobody asks, and the store then does nothing for it.
type OnSync func(took time.Duration, err error)

// Dir is SyncDir, told of.
func (tell OnSync) Dir(path string) error { return tell.Time(func() error { return SyncDir(path) }) }

// Time runs sync and tells of it.
func (tell OnSync) Time(sync func() error) error {
	if tell == nil {
		return sync()
	}
	began := time.Now()
	err := sync()
	tell(time.Since(began), err)
	return err
}
