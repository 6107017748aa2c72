package driver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

var registry = struct {
	sync.RWMutex
	drivers map[string]Driver
}{drivers: map[string]Driver{}}

// Register makes d available under the name in its Info. It panics if the name is taken or not a
// URL scheme: both are mistakes in the program, found when it starts.
func Register(d Driver) {
	name := d.Info().Name
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789+-.") != "" {
		panic(fmt.Sprintf("driver: register %q: not a URL scheme", name))
	}
	registry.Lock()
	defer registry.Unlock()
	if _, ok := registry.drivers[name]; ok {
		panic(fmt.Sprintf("driver: register %q: registered twice", name))
	}
	registry.drivers[name] = d
}

// Lookup returns the driver registered under name.
func Lookup(name string) (Driver, bool) {
	registry.RLock()
	defer registry.RUnlock()
	d, ok := registry.drivers[name]
	return d, ok
}

// Names returns the names of the registered drivers, sorted.
func Names() []string {
	registry.RLock()
	defer registry.RUnlock()
	return slices.Sorted(maps.Keys(registry.drivers))
}
