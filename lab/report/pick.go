package report

import "github.com/assaydb/assay/lab/result"

// Facts are what is known of an engine without measuring it.
type Facts struct {
	Processes string // "shared", "exclusive"
	OnDisk    string // "a file", "a folder"
	SQL       bool   // its files can be queried with SQL
}

// pick prints which engine a run of one workload is for.
func (p *page) pick(run *result.Run, workload string, m matrix) {}
