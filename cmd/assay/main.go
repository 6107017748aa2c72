// Command assay finds the embedded storage engine that fits a Go program: it measures engines on
// the work that applications do, each at a promise that it really makes. Run "assay help".
package main

import "github.com/assaydb/assay"

func main() { assay.Main(assay.Config{Engines: catalog, Absent: absent}) }
