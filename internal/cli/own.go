package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/workload"
)

// ownFlag hands a workload from a file to the processes that measure.
const ownFlag = "workload"

// ownArg is an argument that names a file: my.yaml, my.yaml/OPERATION?PARAM=VALUE.
var ownArg = regexp.MustCompile(`^([^?]*?)\.(?:yaml|yml)([/?].*)?$`)

// owned is the workloads of a command line that come from files.
type owned struct {
	args    []string // the command line, with the workloads' names in place of the files'
	flags   []string // for the processes that measure
	promise string   // that every argument asks for; "" where that is not one
}

// ownWorkloads registers the workloads of files that args name.
func ownWorkloads(args []string) (owned, error) {
	o := owned{args: slices.Clone(args)}
	promises := map[string]string{} // by file
	asked := make([]string, len(args))
	for i, arg := range args {
		parts := ownArg.FindStringSubmatch(arg)
		if parts == nil {
			continue
		}
		name, file := filepath.Base(parts[1]), arg[:len(arg)-len(parts[2])]
		o.args[i] = name + parts[2]
		if _, seen := promises[file]; !seen {
			text, err := os.ReadFile(file)
			if err != nil {
				return o, usage(err, "name a file that can be read; docs/workload.md tells what stands in it")
			}
			if promises[file], err = registerOwn(file, text); err != nil {
				return o, usageError{err}
			}
			o.flags = append(o.flags, "--"+ownFlag, name+"\n"+string(text))
		}
		asked[i] = promises[file]
	}
	if asked = slices.Compact(asked); len(asked) == 1 {
		o.promise = asked[0]
	}
	return o, nil
}

// registerOwn registers the workload of a file, and returns the class that it asks for.
func registerOwn(file string, text []byte) (promise string, err error) {
	w, promise, err := workload.Own(file, text)
	if err != nil {
		return "", err
	}
	if _, taken := workload.Lookup(w.Name); taken {
		return "", &kv.Error{Kind: kv.Invalid, Err: fmt.Errorf("%s: %w", file,
			errors.New("a workload of that name is there")),
			Hint: "give the file another name: the workload has it"}
	}
	workload.Register(w)
	return promise, nil
}
