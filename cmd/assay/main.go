// Command assay finds the embedded storage engine that fits a Go program: it measures engines on the work that
// applications do, each at a promise that it really makes. Run "assay help".
package main

import (
	"context"
	"os"

	"github.com/assaydb/assay/internal/cli"
)

func main() {
	os.Exit(cli.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, catalog, absent...))
}
