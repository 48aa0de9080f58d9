// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"cmp"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/files"
)

func (a *app) sendCommand() *cobra.Command {
	var f clientFlags
	var as string
	cmd := &cobra.Command{
		Use:   "send FILE...",
		Short: "Put files into the folder of a kvxfer serve",
		Long: `send puts files where "kvxfer serve" listens, in chunks that NIXL moves, several
at once, each owned on both sides until there is proof. It ends with 0 when all
are in place there, on the disk, each equal to the file here by the SHA-256 of
its chunks. One that fails does not stop the others, and is never there half
done under its name. A folder is sent by the names of its files, as in DIR/*.

When the connection breaks, or either side is killed and started again, the same
command goes on with the chunks that are missing, and passes over files that are in
place and equal. Each process that runs at the same time needs an endpoint's name
of its own.`,
		Example: `  kvxfer send weights.bin --to 127.0.0.1:7300
  kvxfer send model/*.safetensors --to store-0.example:7300 --peer store-0 --certs certs --parallel 8`,
		Args: someFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(notEmpty(cmd, "as"), f.check(cmd, "to")); err != nil {
				return err
			}
			if as != "" && len(args) > 1 {
				return usagef("leave it out", "--as: one name for %d files", len(args))
			}
			for _, path := range args {
				move := fileMove{local: path, remote: cmp.Or(as, filepath.Base(path))}
				if err := cmp.Or(notFolder(path), nameFailure("--as", move.remote)); err != nil {
					return err
				}
				f.moves = append(f.moves, move)
			}
			return a.client(cmd.Context(), &f, client{"send", "--to", files.Send})
		},
	}
	cmd.Flags().StringVar(&f.addr, "to", "", "`address` of the other side: HOST:PORT, unix:/path, unix-abstract:name")
	cmd.Flags().StringVar(&as, "as", "", "`name` of the file there (default: its own); for one file only")
	f.add(cmd)
	return cmd
}
