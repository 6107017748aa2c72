package cli

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/workload"
)

// The names of the commands that assay runs itself with. They are not for users.
const (
	childName  = "lab-child"
	helperName = "lab-helper"
	proveName  = "lab-prove"
	clientName = "lab-client"
)

// childCommand is one engine's process of a run.
func (a *app) childCommand() *cobra.Command {
	var own, recordings []string
	cmd := &cobra.Command{
		Use:    childName,
		Hidden: true,
		Args:   usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, o := range own {
				name, text, _ := strings.Cut(o, "\n")
				if _, err := registerOwn(name, []byte(text)); err != nil {
					return err
				}
			}
			for _, spec := range recordings {
				if err := registerHanded(spec); err != nil {
					return err
				}
			}
			return bench.Child(cmd.Context(), a.stdin, a.stdout)
		},
	}
	cmd.Flags().StringArrayVar(&own, ownFlag, nil,
		"a workload from a file: its name, and behind a line break the file's text")
	cmd.Flags().StringArrayVar(&recordings, recordingFlag, nil,
		"a recording: its name, and behind line breaks its path and how many of its transactions")
	return cmd
}

// helperCommand is a process that a workload starts.
func (a *app) helperCommand() *cobra.Command {
	return &cobra.Command{
		Use:                helperName,
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return workload.Helper(cmd.Context(), args, a.stdin, a.stdout)
		},
	}
}

// self returns the command that runs this program again under another name.
func self(name string) ([]string, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return []string{exe, name}, nil
}
