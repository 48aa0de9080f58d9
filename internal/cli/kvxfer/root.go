// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// root builds the command tree. Cobra prints nothing by itself: every error
// comes back to main, which prints one line.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "kvxfer",
		Short: "Move memory between processes, and give it back only on proof",
		Long: `kvxfer moves KV-cache-shaped memory between two processes over NIXL and keeps
it owned: memory that hardware may still touch is not reused, not unmapped and
not given back until there is proof that the access has ended.`,
		Example: `  kvxfer run
  kvxfer hazard`,
		Args:              noArguments,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
	}
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(a.helpCommand(root))
	root.AddCommand(a.runCommand(), a.serveCommand(), a.sendCommand(), a.recvCommand(), a.certsCommand(), a.hazardCommand(), a.chaosCommand(), a.replayCommand(), a.checkTraceCommand(), a.explainCommand(), a.reopenCommand(), a.fenceCommand(), a.ranksCommand(), a.etcdCommand(), a.doctorCommand(), a.nixlCommand(), a.versionCommand(), a.completionCommand(root), a.peerCommand())
	return root
}

// flagError names the flag, what is wrong with it, and where to read about it.
func flagError(cmd *cobra.Command, err error) error {
	do := fmt.Sprintf("see %q", cmd.CommandPath()+" --help")
	var value *pflag.InvalidValueError
	switch {
	case !errors.As(err, &value):
		return usagef(do, "%w", err)
	case errors.Is(err, strconv.ErrSyntax):
		return usagef(do, "--%s: %q is not a number", value.GetFlag().Name, value.GetValue())
	case errors.Is(err, strconv.ErrRange):
		return usagef(do, "--%s: %s is out of range", value.GetFlag().Name, value.GetValue())
	}
	return usagef(do, "--%s: %w", value.GetFlag().Name, value.Unwrap())
}

// noArguments refuses words that are not flags, and offers the command that
// was probably meant.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	do := fmt.Sprintf("see %q", cmd.CommandPath()+" --help")
	if !cmd.HasSubCommands() {
		return usagef(do, "unexpected argument %q", args[0])
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		do = fmt.Sprintf("did you mean %q?", cmd.CommandPath()+" "+strings.Join(near, `" or "`))
	}
	return usagef(do, "unknown command %q", args[0])
}

func (a *app) helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Show help for a command",
		Example: `  kvxfer help run
  kvxfer help hazard`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, c := range root.Commands() {
				if len(args) == 0 && c.IsAvailableCommand() {
					names = append(names, c.Name())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return noArguments(root, args)
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// completionCommand prints completion scripts for the usual shells.
func (a *app) completionCommand(root *cobra.Command) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion " + strings.Join(shells, "|"),
		Short: "Print a completion script for a shell",
		Example: `  source <(kvxfer completion bash)
  kvxfer completion zsh > "${fpath[1]}/_kvxfer"`,
		ValidArgs: shells,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("give one of "+strings.Join(shells, ", "), "%d shells named", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.stdout, true)
			case "zsh":
				return root.GenZshCompletion(a.stdout)
			case "fish":
				return root.GenFishCompletion(a.stdout, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.stdout)
			}
			return usagef("give one of "+strings.Join(shells, ", "), "unknown shell %q", args[0])
		},
	}
}
