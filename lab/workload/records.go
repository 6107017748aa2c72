package workload

import (
	"slices"

	recordstore "github.com/assaydb/assay/stores/record"
)

// recordsParams is what can be varied in records.
var recordsParams = []Param{
	{Name: "n", Default: "100,10k", Usage: "records that the store is loaded with"},
	{Name: "insert", Default: "bulk", Usage: "how it is loaded: bulk, 1,000 records a transaction, or single, one each"},
}

// bulk is how many records one transaction of a bulk insert holds. The published comparison had all in one, which not
// every engine can commit; the cost of a record is the same from a few hundred on.
const bulk = 1000

// records is a published comparison of ways to lay a record out in bbolt: codecs in one pair, a pair for each field, a
// bucket for each record. There the latter two lost the fractions of floats; here every form must return what was put,
// and the same sum. The form of an operation is the codec or layout.
var records = Workload{
	Name:    "records",
	Summary: "typed records: insert, read, add up a field, update a field, size; a form for each codec and layout",
	Params:  recordsParams,
	Forms: []Form{
		{recordstore.Binary.String(), "a pair for each record: fields in binary, without names"},
		{recordstore.BinaryNames.String(), "the same, each field behind its name"},
		{recordstore.JSON.String(), "a pair for each record: a JSON object"},
		{recordstore.Gob.String(), "a pair for each record: gob, each with the type's definition"},
		{recordstore.GobShared.String(), "the same, the type's definition kept once"},
		{recordstore.MessagePack.String(), "a pair for each record: a MessagePack map with names"},
		{recordstore.CBOR.String(), "a pair for each record: a CBOR map with names"},
		{recordstore.Protobuf.String(), "a pair for each record: a protobuf message"},
		{recordstore.MultiKV.String(), "a pair for each field, its name in the key"},
		{recordstore.MultiNumbers.String(), "a pair for each field, its number in the key"},
		{nestedForm, "a bucket for each record, bbolt's own"},
	},
	Ops: []Op{
		recordOp(Op{Name: "write_single", Summary: "insert one record", Commits: true, Items: 1}, (*recordsRunner).writeSingle),
		recordOp(Op{Name: "write_bulk", Summary: "insert 1,000 records in one transaction", Commits: true, Items: bulk}, (*recordsRunner).writeBulk),
		recordOp(Op{Name: "read", Summary: "read one record, anywhere"}, (*recordsRunner).readOne),
		recordOp(Op{Name: "read_many", Summary: "read a third of the records, from the middle on"}, (*recordsRunner).readMany),
		recordOp(Op{Name: "field_sum", Summary: "add up the balances of all records"}, (*recordsRunner).fieldSum),
		recordOp(Op{Name: "update", Summary: "set the balance of one record, anywhere", Commits: true}, (*recordsRunner).update),
		recordOp(Op{Name: "size", Summary: "read one record, anywhere; the space that all take", Sized: true}, (*recordsRunner).readOne),
	},
}

// recordOp completes an operation with what an iteration does.
func recordOp(op Op, do func(*recordsRunner, iteration) error) Op {
	op.Forms = recordForms
	op.CoreForms = []string{recordstore.Binary.String()}
	inserts := 0 // an iteration
	if op.Commits {
		inserts = op.Items
	}
	op.New = func(env Env) (Runner, error) { return newRecordsRunner(env, op.Name, inserts, do) }
	return op
}

// recordForms are the codecs and the layouts; buckets within buckets where the engine is bbolt as it comes.
func recordForms(engine, options string) []string {
	forms := slices.Clone(kvRecordForms)
	if engine == "bbolt" && options == "" {
		forms = append(forms, nestedForm)
	}
	return forms
}

// nestedForm is a bucket for each record.
const nestedForm = "nested"

// kvRecordForms are the forms over kv.
var kvRecordForms = func() (forms []string) {
	for _, c := range recordstore.Codecs() {
		forms = append(forms, c.String())
	}
	return append(forms, recordstore.MultiKV.String(), recordstore.MultiNumbers.String())
}()
