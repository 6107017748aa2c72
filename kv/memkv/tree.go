package memkv

import (
	"bytes"
	"math/rand/v2"
)

// node is the root of an immutable treap: keys in order, priorities as in a heap. A change copies the path from the
// root to the node that changes and shares everything else, so that whoever holds an old root keeps the old state.
type node struct {
	key, value  []byte
	priority    uint64
	left, right *node
}

func (n *node) get(key []byte) *node {
	for n != nil {
		switch c := bytes.Compare(key, n.key); {
		case c == 0:
			return n
		case c < 0:
			n = n.left
		default:
			n = n.right
		}
	}
	return nil
}

// put returns the tree with key set to value. It keeps both.
func (n *node) put(key, value []byte) *node {
	if n == nil {
		return &node{key: key, value: value, priority: rand.Uint64()}
	}
	m := *n
	switch c := bytes.Compare(key, n.key); {
	case c == 0:
		m.key, m.value = key, value
	case c < 0:
		m.left = n.left.put(key, value)
		if l := m.left; l.priority > m.priority { // l is a fresh copy: it may be changed
			m.left, l.right = l.right, &m
			return l
		}
	default:
		m.right = n.right.put(key, value)
		if r := m.right; r.priority > m.priority {
			m.right, r.left = r.left, &m
			return r
		}
	}
	return &m
}

// delete returns the tree without key; it is n itself if key is absent.
func (n *node) delete(key []byte) *node {
	if n == nil {
		return nil
	}
	c := bytes.Compare(key, n.key)
	if c == 0 {
		return merge(n.left, n.right)
	}
	m := *n
	if c < 0 {
		if m.left = n.left.delete(key); m.left == n.left {
			return n
		}
	} else {
		if m.right = n.right.delete(key); m.right == n.right {
			return n
		}
	}
	return &m
}

// merge joins two trees; every key of l is below every key of r.
func merge(l, r *node) *node {
	switch {
	case l == nil:
		return r
	case r == nil:
		return l
	case l.priority > r.priority:
		m := *l
		m.right = merge(l.right, r)
		return &m
	}
	m := *r
	m.left = merge(l, r.left)
	return &m
}
