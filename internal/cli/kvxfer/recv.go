// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/files"
)

func (a *app) recvCommand() *cobra.Command {
	var f clientFlags
	var out string
	cmd := &cobra.Command{
		Use:   "recv FILE...",
		Short: "Get files from the folder of a kvxfer serve",
		Long: `recv gets files from where "kvxfer serve" listens, in chunks that NIXL moves,
several at once, each owned on both sides until there is proof. It ends with 0
when all are in place here, on the disk, each equal to the file there by the
SHA-256 of its chunks. One that fails does not stop the others, and is never
here half done under its name.

When the connection breaks, or either side is killed and started again, the same
command goes on with the chunks that are missing: a journal beside the unfinished
file says which, and their bytes are compared with it. A file that has changed
meanwhile is begun anew, and one that is in place and equal is passed over.`,
		Example: `  kvxfer recv weights.bin --from 127.0.0.1:7300
  kvxfer recv a.bin b.bin --from store-0.example:7300 --out /data --certs certs`,
		Args: someFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(notEmpty(cmd, "out"), f.check(cmd, "from")); err != nil {
				return err
			}
			info, err := os.Stat(out)
			folder := err == nil && info.IsDir()
			if out != "" && !folder && len(args) > 1 {
				return usagef("give a folder that exists", "--out: %s is no folder, for %d files", out, len(args))
			}
			for _, name := range args {
				if err := nameFailure("FILE", name); err != nil {
					return err
				}
				local := cmp.Or(out, name)
				if folder {
					local = filepath.Join(out, name)
				}
				f.moves = append(f.moves, fileMove{local, name})
			}
			return a.client(cmd.Context(), &f, client{"recv", "--from", files.Recv})
		},
	}
	cmd.Flags().StringVar(&f.addr, "from", "", "`address` of the other side: HOST:PORT, unix:/path, unix-abstract:name")
	cmd.Flags().StringVar(&out, "out", "", "`file` to make here, or folder to put them in (default: the same name, in this folder)")
	f.add(cmd)
	return cmd
}
