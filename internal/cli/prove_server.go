package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/prove"
	"github.com/assaydb/assay/lab/result"
)

// allFaults returns the faults of stores in files, and then those of servers alone.
func allFaults() []string {
	all := slices.Clone(prove.Faults)
	for _, fault := range prove.ServerFaults {
		if !slices.Contains(all, fault) {
			all = append(all, fault)
		}
	}
	return all
}

// ownServer returns how to run servers for an entry: nil if the binary does not know, or the entry
// names a server that is there already.
func (a *app) ownServer(e bench.Entry) *prove.Servers {
	i := slices.IndexFunc(a.catalog, func(c Contender) bool { return c.Engine == e.Engine && c.Servers != nil })
	if i < 0 {
		return nil
	}
	servers := a.catalog[i].Servers
	if said, err := url.ParseQuery(e.Options); err == nil && said.Has(servers.Address) {
		return nil
	}
	return servers
}

// servers returns how to run servers of the engines that are to be proved, nil if their stores are
// in files. It refuses both in one proof, and flags that say nothing of servers.
func (a *app) servers(o prove.Options, f proveFlags) (map[string]prove.Servers, error) {
	all := map[string]prove.Servers{}
	var on, beside []string
	for _, e := range o.Entries {
		if s := a.ownServer(e); s != nil {
			all[e.Engine], on = *s, append(on, e.Name)
		} else {
			beside = append(beside, e.Name)
		}
	}
	faults := prove.Faults
	if len(on) > 0 {
		faults = prove.ServerFaults
	}
	for _, fault := range f.faults {
		if !slices.Contains(faults, fault) {
			return nil, usage(fmt.Errorf("%s does not suffer the fault %q", o.Entries[0].Name, fault), "use %s",
				strings.Join(faults, ", "))
		}
	}
	switch {
	case len(on) == 0:
		return nil, nil
	case len(beside) > 0:
		return nil, usage(fmt.Errorf("%s beside %s, whose stores are on servers of the proof's own",
			strings.Join(beside, ", "), strings.Join(on, ", ")), "prove them one after the other: assay prove --engines %s",
			strings.Join(on, ","))
	case len(f.rules) > 0 || f.ship != "" || f.resume != "":
		return nil, usage(errors.New("--rule, --ship and --resume are for stores in files"), "leave them out")
	}
	return all, nil
}

// disturb runs the lab for servers under a progress display.
func (a *app) disturb(ctx context.Context, o prove.Options, servers map[string]prove.Servers) (*result.Proof, error) {
	client, err := self(clientName)
	if err != nil {
		return nil, err
	}
	p, step := a.proofProgress(o, "histories amid faults checked")
	defer p.end()
	o.Progress = step
	return prove.RunServers(ctx, o, servers, client)
}

// proveClientCommand is a client process of a proof of servers.
func (a *app) proveClientCommand() *cobra.Command {
	return &cobra.Command{
		Use:    clientName,
		Hidden: true,
		Args:   usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return prove.Client(cmd.Context(), a.stdin, a.stdout)
		},
	}
}
