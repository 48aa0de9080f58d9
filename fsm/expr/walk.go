// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package expr

// Walk calls f for n and every node below it; bodies of definitions are not entered.
func Walk(n *Node, f func(*Node)) {
	if n == nil {
		return
	}
	f(n)
	for _, a := range n.Args {
		Walk(a, f)
	}
}
