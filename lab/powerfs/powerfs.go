// Package powerfs is a file system that can lose power.
//
// A Disk holds files twice: as processes see them, and as a power cut would leave them. Programs
// that know nothing of it work on a Disk that is mounted (Linux); a Disk without a mount works
// everywhere, through its methods.
//
//	disk, _ := powerfs.New(powerfs.Options{})
//	mount, _ := disk.Mount(dir)
//	disk.CutBefore(1000, func() { mount.Settle(child.Pid) })
//	... a child process works in dir, and reports what it was acknowledged, until <-disk.Down() ...
//	image := disk.Crash().Image(powerfs.Rule{powerfs.Ordered, powerfs.Sectors}, seed)
//	image.Export(folder) // or powerfs.New(powerfs.Options{From: image}): a crash during recovery
//
// A disk that is in use can also be told to fail, and asked what a cut would leave while its power
// stays on:
//
//	disk.Fail(powerfs.Fault{Op: powerfs.OnSync, Nth: 3}) // the third sync from now on
//	image := disk.Image(rule, seed)
//
// And it can record all that is done to it, so that the state before each operation can be made
// again:
//
//	disk, _ := powerfs.New(powerfs.Options{Record: true})
//	player, _ := disk.Tape().Play() // once the work is done
//	player.Forward(1000)
//	for _, state := range player.States(powerfs.Ordered, rng) { image, _ := player.Image(state) }
//
// # Crash model
//
// Every write, truncation, allocation, sync and change of an entry has a number, given under one
// lock; the cut has its place among them. What was durable at the cut is in every image. Of the
// rest, a Rule says what may be there: Survivors which changes, Entries in which order metadata
// becomes durable.
//
// Sync (fsync, fdatasync, msync with MS_SYNC, and every write through O_SYNC, O_DSYNC or RWF_DSYNC,
// which the kernel follows with an fsync) makes the bytes and the size of a file durable. Close,
// munmap, sync_file_range, msync with MS_ASYNC, a write through O_DIRECT and the passing of time
// make nothing durable, nor do sync and syncfs, of which a file system of FUSE does not hear: see
// Use. A sync commits an ordered journal only if its file or folder has metadata that is not
// committed yet: a size or blocks, and of an fsync names or entries as well. An fdatasync is what
// msync and O_DSYNC are to the kernel.
//
// On a disk with Latency a sync takes a while. It is for what there was when it began, all of which
// is durable once it is done. What is written meanwhile is as any other write: it may be on the
// disk before what the sync is for, or never. A cut may come while the sync goes on. On a mount,
// that is of other files: Linux lets a write wait for the sync of its file (fuse_fsync holds the
// inode's lock), which ext4 and xfs do not, unless another does the sync: see HandOverSyncs.
//
// Ordered is ext4 with data=ordered, and xfs. There is one journal. It holds, in
// order, all changes of entries (a rename is one change, of both folders), truncations and
// allocations. A sync that commits it commits all of it until then. Without one a random
// prefix of it survives. Nothing orders data: bytes that were written are there or not, page by
// page. The size of a file that has grown is written late, and on its own, after a write or some
// pages of it: the file may be short, or have zeroes where a page did not survive. It never shows
// what another file left on the disk. What is written after a truncation is there only if the
// truncation is. Where a truncation or a hole begins or ends within a page, that part is cleared as
// data: it may be zeroes though the file is as long as it was, or be what it was in the hole.
//
// A rename is no exception, though it is often taken for one. When it replaces a file, ext4 begins
// to write the new file's data (auto_da_alloc), but as mounted by default it does not wait for that
// before it commits: the name may then lead to zeroes, as the test against a real ext4 has found.
// xfs begins nothing, and may leave an empty file.
//
// This is kinder than ext4 in one point: there, a hole punched into a file that has grown since its
// sync lets the journal carry a size up to the end of the hole. And it is harsher in four: ext4
// commits every five seconds without being asked, writes the data of a file that was truncated
// to nothing and written anew when it is closed, may commit for the fsync of a folder in which
// nothing was changed, and does, as xfs, for that of a file whose time of change was written, which
// happens once in a few milliseconds of overwriting.
//
// PerFile is btrfs and f2fs, where each file has a log of its own beside what is committed as a
// whole now and then. The sync of a file or folder makes durable its bytes, its own names as they
// are (a rename with both its entries), the names of new folders above it, and of a folder what is
// in it; not the names, renames and truncations of others, that were done before. Of these a random
// prefix survives, as under Ordered.
//
// This is kinder than btrfs in one point: there, the sync of a folder carries its own half alone of
// a rename into or out of another, so that the file may have both names, or none. In all else it is
// harsher than either. Both commit all there is where a log does not suffice: btrfs when a
// folder is synced from which a name was removed, f2fs when any folder is synced, or a file with
// several names or a new parent. And btrfs logs other new names of the same folder with it, without
// their data.
//
// The rules rest on these, and are held against real ones by TestRealFileSystems: ext4 and its
// journal, Documentation/filesystems/ext4/journal.rst in Linux, and fs/ext4/fsync.c; xfs,
// Documentation/filesystems/xfs/xfs-delayed-logging-design.rst, and xfs_fsync_flush_log in
// fs/xfs/xfs_file.c, which forces the log up to the last change of the file; btrfs,
// fs/btrfs/tree-log.c (btrfs_log_inode_parent); f2fs, need_do_checkpoint in fs/f2fs/file.c; POSIX,
// fsync() of the Base Specifications, and the notes of fsync(2) on folders.
//
// Strict promises what POSIX does: an entry is durable after a sync of its folder, a file's bytes
// and truncations after a sync of the file; for the rest, any subset of the operations survives, as
// long as operations on one entry keep their order and folders are moved in order. No common file
// system is so unkind; it tells what a program takes for granted.
//
// Nothing is the least that may be left, Everything what a crash of the process alone leaves.
// Prefix is a disk that writes in order: all changes until some moment, of all files, and of the
// write then under way some whole sectors of 512 bytes. Pages is a cache that writes back as it
// likes: each page of 4096 bytes is as it was durable, or as after any of the writes to it since.
// Sectors is the same, where a page that was being written is a mixture, by sector, of two of its
// versions. Sectors are never torn themselves. All choices follow from the seed.
//
// A failed sync loses data as it does on Linux: the pages count as clean, so no later sync writes
// them, though processes go on seeing them. Truncations and allocations are metadata, and are not
// lost with them: those of the file count as committed. Where such a sync takes a while, what is
// written meanwhile is lost with the rest if Fault.Later says so; else the next sync writes it, by
// whole pages, with what else is in them. Each open
// file of a mount is told of it once: the one whose sync it was, and those that were open then when
// they are synced next. On a Lying disk every sync is acknowledged and does nothing.
//
// Permissions, owners and times are not part of the model: an image has the last permissions.
// Extended attributes, devices and sockets are not supported.
//
// # Memory
//
// Pages beyond Options.Memory go to a file. Unsynced writes are remembered one by one, as the rules
// need, up to a quarter of Options.Memory; beyond that the oldest are folded into one change, which
// survives as a whole or not at all. Entry operations that no sync of their folder makes durable
// are remembered up to 131,072; then the older half counts as durable.
package powerfs
