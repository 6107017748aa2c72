package bench

import "testing"

func TestTheNetworkOfAServerIsNamedWithoutItsSecrets(t *testing.T) {
	for options, want := range map[string]string{
		"dsn=host%3D/tmp/pg+user%3Da":                                     "Unix socket",
		"dsn=postgres://app:secret@db.example.com:5432/app&timeout=3":     "db.example.com",
		"dsn=postgres://app:secret@10.0.0.1:5432,10.0.0.2:5432/app":       "10.0.0.1, 10.0.0.2",
		"dsn=postgres:///app%3Fhost=/run/postgresql":                      "Unix socket",
		"endpoints=127.0.0.1:2379,127.0.0.1:2380&ttl=2":                   "loopback",
		"endpoints=[::1]:2379,etcd.example.com:2379":                      "loopback, etcd.example.com",
		"dsn=host%3Dlocalhost+password%3Dsecret+dbname%3Dx&synced=remote": "loopback",
		"":          "as the environment says",
		"synced=on": "as the environment says",
	} {
		if got := networkOf(options); got != want {
			t.Errorf("%q: got %q, want %q", options, got, want)
		}
	}
}
