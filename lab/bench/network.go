package bench

import (
	"cmp"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/assaydb/assay/kv/driver"
)

// networks says how the stores of entries that are on servers are reached: "pg: Unix socket".
func networks(entries []Entry) (all []string) {
	for _, e := range entries {
		if d, ok := driver.Lookup(e.Engine); ok && d.Info().Caps.Remote {
			all = append(all, cmp.Or(e.Name, e.Engine)+": "+networkOf(e.Options))
		}
	}
	return all
}

// networkOf says by which network the servers are reached that a URL's options name, without what
// else is in there: it may be a password.
func networkOf(options string) string {
	var names []string
	values, _ := url.ParseQuery(options) // opening it says what is wrong
	for _, key := range slices.Sorted(maps.Keys(values)) {
		for _, host := range hosts(values.Get(key)) {
			name := host
			switch ip := net.ParseIP(host); {
			case strings.HasPrefix(host, "/"):
				name = "Unix socket"
			case host == "localhost" || ip != nil && ip.IsLoopback():
				name = "loopback"
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return "as the environment says"
	}
	return strings.Join(names, ", ")
}

// hosts returns the hosts that an option names: in a URL, as words "host=A,B", or as "A:1,B:1".
func hosts(value string) (all []string) {
	if _, rest, ok := strings.Cut(value, "://"); ok { // which may have several hosts, unlike what url.Parse takes
		rest, query, _ := strings.Cut(rest, "?")
		authority, _, _ := strings.Cut(rest, "/")
		params, _ := url.ParseQuery(query)
		return append(addresses(authority[strings.LastIndex(authority, "@")+1:]), addresses(params.Get("host"))...)
	}
	if strings.Contains(value, "=") {
		for word := range strings.FieldsSeq(value) {
			if list, ok := strings.CutPrefix(word, "host="); ok {
				all = append(all, addresses(strings.Trim(list, "'"))...)
			}
		}
		return all
	}
	if strings.Contains(value, ":") {
		return addresses(value)
	}
	return nil
}

// addresses returns the hosts of a list of addresses.
func addresses(list string) (all []string) {
	for address := range strings.SplitSeq(list, ",") {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			host = strings.Trim(address, "[]")
		}
		if host != "" {
			all = append(all, host)
		}
	}
	return all
}
