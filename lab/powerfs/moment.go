package powerfs

import (
	"cmp"
	"slices"
)

// Image returns what a power cut at this moment would leave under the rule. The power stays on:
// whoever works on the disk notices nothing. What is mapped, changed and not written back is not in
// it, see Mount.WriteBack.
func (d *Disk) Image(r Rule, seed uint64) *Image {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.image(r, seed)
}

// ImageBefore has an image made as Image does, before operation k is done, the first being 1, or
// before the next one if k is past. It is sent once.
func (d *Disk) ImageBefore(k uint64, r Rule, seed uint64) <-chan *Image {
	d.mu.Lock()
	defer d.mu.Unlock()
	made := make(chan *Image, 1)
	d.wanted = append(d.wanted, wantedImage{k, r, seed, made})
	return made
}

// CallBefore has fn called before operation k is done, the first being 1, or before the next one if
// k is past: to kill the process there. The operation is done all the same. fn is called once,
// while no operation goes on, and must not use the disk.
func (d *Disk) CallBefore(k uint64, fn func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.callBefore(k, fn)
}

func (d *Disk) callBefore(k uint64, fn func()) {
	d.calling = append(d.calling, wantedCall{k, fn})
	slices.SortStableFunc(d.calling, func(a, b wantedCall) int { return cmp.Compare(a.before, b.before) })
}

// CallBehindFault is CallBefore by the first operation that a fault strikes: fn is called before
// the k-th behind it is done, 0 being that one, which fails. What another run does before the fault
// may differ.
func (d *Disk) CallBehindFault(k uint64, fn func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.behind = append(d.behind, wantedCall{k, fn})
}

// struck makes the calls that were waiting for a fault, or has them made.
func (d *Disk) struck() {
	waiting := d.behind
	d.behind = nil
	for _, c := range waiting {
		if c.before == 0 {
			c.fn()
			continue
		}
		d.callBefore(d.ops+c.before, c.fn)
	}
}

type wantedCall struct {
	before uint64
	fn     func()
}

type wantedImage struct {
	before uint64
	rule   Rule
	seed   uint64
	made   chan<- *Image
}

// makeDue makes the images, and the calls, that are wanted before the next operation.
func (d *Disk) makeDue() {
	for len(d.calling) > 0 && d.ops+1 >= d.calling[0].before {
		d.calling[0].fn()
		d.calling = d.calling[1:]
	}
	kept := d.wanted[:0]
	for _, w := range d.wanted {
		if d.ops+1 < w.before {
			kept = append(kept, w)
			continue
		}
		w.made <- d.image(w.rule, w.seed)
	}
	clear(d.wanted[len(kept):])
	d.wanted = kept
}

// image makes an image that shares nothing with the disk, which goes on.
func (d *Disk) image(r Rule, seed uint64) *Image {
	img := (&Crash{d}).Image(r, seed)
	owned := make(map[*node]bool)
	var own func(*node)
	own = func(n *node) {
		if owned[n] {
			return
		}
		owned[n] = true
		pages := make(map[int64]*page, len(n.pages))
		for index, p := range n.pages {
			kept, err := d.pool.copied(p)
			if err != nil && img.err == nil {
				img.err = err
			}
			pages[index] = kept
		}
		n.pages = pages
		for _, child := range n.entries {
			own(child)
		}
	}
	own(img.root)
	return img
}
