// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package interop has the tests of package nixl with a foreign client, the
// official Python package of NIXL: install.sh puts it into a folder of its own,
// peer.py is the other process.
package interop
