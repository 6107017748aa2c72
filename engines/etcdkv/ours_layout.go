package etcdkv

// keys are where a store lies in the cluster.
type keys struct {
	data   string // before every key of the program
	head   string // put by every commit; its value is the version of this layout
	lock   string // of the Exclusive handle
	handle string // before the mark of each handle
}

func keysOf(name string) keys {
	name += "\x00"
	return keys{data: name + "d", head: name + "head", lock: name + "lock", handle: name + "handle/"}
}

// layout is the version of the layout.
const layout = "assay 1"
