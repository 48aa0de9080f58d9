// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Command fsmgen turns specs of state machines and decision tables into Go code,
// pictures and documents, and checks them.
package main

import (
	"os"

	"github.com/kvxfer/kvxfer/internal/cli/fsmgen"
)

func main() {
	os.Exit(fsmgen.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
