// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package spec embeds the specs of this project, so that programs can read at run
// time what they were generated from.
package spec

import "embed"

// Files holds every *.yaml file of this folder.
//
//go:embed *.yaml
var Files embed.FS
