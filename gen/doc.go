// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package gen is the parent of the generated packages, one for each file of spec/.
// Do not edit below this folder: change the spec and run make generate.
package gen

//go:generate go run github.com/kvxfer/kvxfer/cmd/fsmgen generate
