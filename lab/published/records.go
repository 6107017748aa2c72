package published

import (
	"strings"
	"time"
)

// records is a comparison of ways to lay a record out in bbolt.
func records() Publication {
	return Publication{
		Name: "records", System: "boltdb-benchmarks",
		Summary: "codecs and layouts of one record in bbolt",
		Setup: "Published: 1,000,000 records, machine, versions and settings not said. An insert of 32 µs cannot hold two syncs of a disk, so commits are not " +
			"synced here either, except at the same promise. It is measured at 10,000 records: assay run --like-published 'records?n=1M' --budget 2h has as many. " +
			"The ratio is to the binary codec.",
		Parts: []Part{
			{Name: "many", Engines: []string{"bbolt"}, Work: []string{"records/write_bulk,read?n=10k"},
				Forms: map[string][]string{"bbolt": {"binary", "json", "gob", "multikv", "nested"}},
				Share: 45 * time.Second},
			{Name: "one-by-one", Engines: []string{"bbolt"}, Work: []string{"records/write_single,update?n=10k"},
				Forms: map[string][]string{"bbolt": {"binary", "gob"}}, Share: 30 * time.Second},
			{Name: "sums", Engines: []string{"bbolt"}, Work: []string{"records/field_sum?n=10k"},
				Forms: map[string][]string{"bbolt": {"binary", "json", "gob"}}, Share: 25 * time.Second},
		},
		claims: []claim{
			recordClaim("binary_single_write_1M",
				"one transaction each: what is measured is the commit, not the codec"),
			recordClaim("binary_bulk_write_1M",
				"1,000 records a transaction here, all of them in one there, into a smaller tree"),
			recordClaim("json_bulk_write_1M", "encoding, and twice the bytes, on top of the same insert"),
			recordClaim("gob_bulk_write_1M", "an encoder for each record writes its type definition each time"),
			recordClaim("multikv_bulk_write_1M",
				"15 pairs for each record, each found and put into the tree by itself"),
			recordClaim("nested_bulk_write_1M",
				"a bucket for each record, which is made, filled with 15 pairs and written by itself"),
			recordClaim("binary_read_1M", "one descent and one decoding: what is left is the machine"),
			recordClaim("json_read_1M", "decoding JSON outweighs the tree"),
			recordClaim("gob_read_1M", "a decoder for each record compiles the type anew"),
			recordClaim("binary_field_sum_1M",
				"assay reads the one field where it lies, the published code decoded the whole record"),
			recordClaim("json_field_sum_1M",
				"names have to be looked for; assay skips the other values without decoding them"),
			recordClaim("gob_field_sum_1M", "a stream can only be decoded as a whole"),
			recordClaim("binary_update_1M", "the commit, as in an insert of one record"),
			recordClaim("gob_update_1M", "decoding and encoding the whole record on top of the commit"),
			recordClaim("binary_size_1M", "space is a matter of the format: a page of bbolt that is full is split in half, and keys in order never fill the left half again"),
			recordClaim("json_size_1M", "as binary, with the names in every record"),
			recordClaim("multikv_size_1M", "the key and a name before each of 15 values"),
			recordClaim("nested_size_1M", "each bucket has a header, and every name once more"),
		},
	}
}

// recordParts are the parts that operations are measured in.
var recordParts = map[string]string{"write_bulk": "many", "read": "many", "write_single": "one-by-one",
	"update": "one-by-one", "field_sum": "sums"}

// recordOperations are ours by the published names.
var recordOperations = map[string]string{"single_write": "write_single", "bulk_write": "write_bulk"}

func recordClaim(row, why string) claim {
	form, published, _ := strings.Cut(row, "_")
	operation := strings.TrimSuffix(published, "_1M")
	if own, ok := recordOperations[operation]; ok {
		operation = own
	}
	at := func(class string) pair {
		p := pair{part: recordParts[operation], operation: operation, first: "bbolt/" + form + class}
		if form != "binary" {
			p.second = "bbolt/binary" + class
		}
		if operation == "size" {
			p.part, p.operation, p.size = recordParts["read"], "read", true
		}
		return p
	}
	c := claim{row: "bbolt " + row, published: at("@flushed"), why: why}
	if form != "binary" {
		c.baseline = "bbolt binary_" + published
	}
	switch operation {
	case "write_single", "write_bulk", "update":
		c.matched = at("@synced")
	}
	return c
}
