// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"hash/fnv"
	"io"
)

// fingerprint adds a step to the sum of all.
func (x *explorer) fingerprint(i int, code uint64) {
	h := x.names[i]
	for c, cl := range x.compOf {
		to := cl.words[x.field(code, c)].bits
		h = (h ^ uint64(x.w[c])<<32 ^ uint64(to)) * golden
		h ^= h >> 29
	}
	x.print += h * golden
}

// hashName makes a number from the name of an instance.
func hashName(name string) uint64 {
	h := fnv.New64a()
	io.WriteString(h, name)
	return h.Sum64()
}
