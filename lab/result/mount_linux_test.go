package result

import "testing"

func TestFindMount(t *testing.T) {
	const mountinfo = `22 1 259:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw
30 22 0:25 / /tmp rw,nosuid shared:9 - tmpfs tmpfs rw
31 22 0:40 / /home rw - btrfs /dev/sdb rw
32 22 0:41 / /home rw - xfs /dev/sdc rw
33 22 0:42 / /mnt/two\040words rw master:1 propagate_from:2 - fuse.sshfs me@host: rw
broken line
`
	for path, want := range map[string]mount{
		"/var/lib":        {"/", "ext4", "/dev/nvme0n1p1"},
		"/tmp":            {"/tmp", "tmpfs", "tmpfs"},
		"/tmpfiles":       {"/", "ext4", "/dev/nvme0n1p1"},
		"/home/me":        {"/home", "xfs", "/dev/sdc"},
		"/mnt/two words/": {"/mnt/two words", "fuse.sshfs", "me@host:"},
	} {
		if got, ok := findMount([]byte(mountinfo), path); !ok || got != want {
			t.Errorf("%s lies in %+v, want %+v", path, got, want)
		}
	}
	if _, ok := findMount(nil, "/"); ok {
		t.Error("a mount was found in nothing")
	}
}
