package powerfs

import (
	"maps"
	"slices"
)

// Use is a call that a file system of a Disk takes in a way of its own, and what is not seen of it
// therefore: a sentence that begins behind the name of a program. Of calls that the kernel does not
// pass on to a file system those alone are noticed that are done while a process hands its syncs
// over.
type Use string

const (
	UseDirect  Use = "opens files with O_DIRECT: such a write is one like any other here, aligned or not"
	UseSynced  Use = "opens files with O_SYNC or O_DSYNC: no write call came amid such a write"
	UseFlagged Use = "writes with RWF_SYNC or RWF_DSYNC: no write call came amid such a write"
	UseMsync   Use = "calls msync: no write call came amid it"
	UseRing    Use = "uses io_uring: no write call came amid a sync of it"
	UseRange   Use = "calls sync_file_range, which makes nothing durable here, as on a disk with a cache"
	UseSyncAll Use = "calls sync or syncfs, which make nothing durable here, though they do on ext4 and xfs"
	UseShift   Use = "asks fallocate for what is refused here: what it does where a range is collapsed was not tried"
)

// note notes a use.
func (d *Disk) note(u Use) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.uses == nil {
		d.uses = make(map[Use]bool)
	}
	d.uses[u] = true
}

// Uses returns which of these there were, in order.
func (d *Disk) Uses() []Use {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.uses))
}
