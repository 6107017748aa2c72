package etcdkv

import clientv3 "go.etcd.io/etcd/client/v3"

// mostRead is how many keys a transaction remembers to have read. With more it meets every commit.
// Conditions count as operations do: see nest.
const mostRead = nested - 8

// conditions say that nothing of what was read has changed.
func (t *txn) conditions() []clientv3.Cmp {
	keys := t.store.keys
	if t.scanned || len(t.read) > mostRead {
		return []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(keys.head), "<", t.revision+1)}
	}
	var all []clientv3.Cmp
	for key, revision := range t.read {
		if revision == 0 {
			all = append(all, clientv3.Compare(clientv3.CreateRevision(keys.data+key), "=", 0))
		} else {
			all = append(all, clientv3.Compare(clientv3.ModRevision(keys.data+key), "=", revision))
		}
	}
	return all
}
