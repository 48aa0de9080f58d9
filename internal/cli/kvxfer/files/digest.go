// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Digest is a SHA-256.
type Digest [sha256.Size]byte

// String returns 64 hexadecimal digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// whole is the digest of a file: of its size, the size of its chunks, and the
// chunks' digests. It is the same only for the same bytes.
func whole(size, chunk int64, chunks []Digest) Digest {
	h := sha256.New()
	var sizes [16]byte
	binary.BigEndian.PutUint64(sizes[:8], uint64(size))
	binary.BigEndian.PutUint64(sizes[8:], uint64(chunk))
	h.Write(sizes[:])
	for i := range chunks {
		h.Write(chunks[i][:])
	}
	return Digest(h.Sum(nil))
}
