package workload

import "github.com/assaydb/assay/lab/workload/encodings"

// recordsParams is what can be varied in records.
var recordsParams = []Param{
	{Name: "n", Default: "100,10k", Usage: "records that the store is loaded with"},
	{Name: "insert", Default: "bulk", Usage: "how it is loaded: bulk, 1,000 records a transaction, or single, one each"},
}

// bulk is how many records one transaction of a bulk insert holds. The published comparison had all
// in one, which not every engine can commit; the cost of a record is the same from a few hundred
// on.
const bulk = 1000

// records is a published comparison of ways to lay a record out in bbolt: codecs in one pair, a
// pair for each field, a bucket for each record. There the latter two lost the fractions of floats;
// here every form must return what was put, and the same sum. The form of an operation is the codec
// or layout.
var records = Workload{
	Name:    "records",
	Summary: "typed records: insert, read, add up a field, update a field, size; a form for each codec and layout",
	Params:  recordsParams,
	Forms:   recordFormList,
	Ops: []Op{
		recordOp(Op{Name: "write_single", Summary: "insert one record", Commits: true, Items: 1},
			(*recordsRunner).write),
		recordOp(Op{Name: "write_bulk", Summary: "insert 1,000 records in one transaction", Commits: true, Items: bulk},
			(*recordsRunner).write),
		recordOp(Op{Name: "read", Summary: "read one record, anywhere"}, (*recordsRunner).readOne),
		recordOp(Op{Name: "read_many", Summary: "read a third of the records, from the middle on"},
			(*recordsRunner).readMany),
		recordOp(Op{Name: "field_sum", Summary: "add up the balances of all records"}, (*recordsRunner).fieldSum),
		recordOp(Op{Name: "update", Summary: "set the balance of one record, anywhere", Commits: true},
			(*recordsRunner).update),
		recordOp(Op{Name: "size", Summary: "read one record, anywhere; the space that all take", Sized: true},
			(*recordsRunner).readOne),
	},
}

// recordOp completes an operation with what an iteration does.
func recordOp(op Op, do func(*recordsRunner, iteration) error) Op {
	op.Forms = recordForms
	op.CoreForms = []string{encodings.Binary}
	inserts := 0 // an iteration
	if op.Commits {
		inserts = op.Items
	}
	op.New = func(env Env) (Runner, error) { return newRecordsRunner(env, op.Name, inserts, do) }
	return op
}

// recordForms are the codecs and the layouts; buckets within buckets where the engine is bbolt as
// it comes.
func recordForms(engine, options string) (forms []string) {
	for _, f := range recordFormList {
		if f.Name != nestedForm || engine == "bbolt" && options == "" {
			forms = append(forms, f.Name)
		}
	}
	return forms
}

// nestedForm is a bucket for each record.
const nestedForm = "nested"

var recordFormList = func() (forms []Form) {
	for _, f := range encodings.Forms {
		forms = append(forms, Form{f.Name, f.Summary})
	}
	return append(forms, Form{nestedForm, "a bucket for each record, bbolt's own"})
}()
