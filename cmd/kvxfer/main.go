// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Command kvxfer moves memory between two processes under the ownership
// contract, and shows what happens without it.
package main

import (
	"os"

	"github.com/kvxfer/kvxfer/internal/cli/kvxfer"
)

func main() { os.Exit(kvxfer.Main(os.Args, os.Stdin, os.Stdout, os.Stderr)) }
