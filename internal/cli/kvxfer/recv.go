// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/files"
)

func (a *app) recvCommand() *cobra.Command {
	var f clientFlags
	var out string
	cmd := &cobra.Command{
		Use:   "recv FILE",
		Short: "Get a file from the folder of a kvxfer serve",
		Long: `recv gets a file from where "kvxfer serve" listens, in chunks that NIXL moves,
several at once, each owned on both sides until there is proof. It ends with 0
when the file is in place here, on the disk, with the digest that it has there.

When the connection breaks, or either side is killed and started again, the same
command goes on with the chunks that are missing: a journal beside the unfinished
file says which, and their bytes are compared with it. A file that has changed
meanwhile is begun anew.`,
		Example: `  kvxfer recv weights.bin --from 127.0.0.1:7300
  kvxfer recv weights.bin --from store-0.example:7300 --out /data/weights.bin --certs certs`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.as = args[0]
			f.file = cmp.Or(out, f.as)
			if err := cmp.Or(notEmpty(cmd, "out"), nameFailure("FILE", f.as), f.check(cmd, "from")); err != nil {
				return err
			}
			return a.client(cmd.Context(), &f, client{"recv", "--from", files.Recv}, f.file)
		},
	}
	cmd.Flags().StringVar(&f.addr, "from", "", "`address` of the other side: HOST:PORT, unix:/path, unix-abstract:name")
	cmd.Flags().StringVar(&out, "out", "", "`file` to make here (default: the same name, in this folder)")
	f.add(cmd)
	return cmd
}
