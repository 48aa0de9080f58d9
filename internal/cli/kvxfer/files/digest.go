// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"crypto/sha256"
	"encoding/hex"
	"hash/crc32"
)

// Digest is the SHA-256 of a file, as sha256sum prints it.
type Digest [sha256.Size]byte

// String returns 64 hexadecimal digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// Checksum is the CRC-32C of a chunk, big endian. It finds bytes that were damaged, or
// did not get to the disk, at a twentieth of the cost of a Digest, which has the last
// word on the whole file.
type Checksum [crc32.Size]byte

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(data []byte) Checksum {
	h := crc32.New(castagnoli)
	_, _ = h.Write(data) // never fails
	return Checksum(h.Sum(nil))
}

// String returns 8 hexadecimal digits.
func (c Checksum) String() string { return hex.EncodeToString(c[:]) }
