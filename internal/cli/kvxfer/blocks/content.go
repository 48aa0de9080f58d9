// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package blocks

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
)

// Fill writes fresh content into the blocks of a pool: every byte depends on
// the seed, the request and its logical place, so that nothing left over from
// an earlier request can pass for this one.
func Fill(pool []byte, order []Block, seed, request uint64) {
	rng := rand.NewPCG(seed, request) // content, not a secret
	for _, b := range order {
		fillWith(pool[b.Offset:b.Offset+b.Len], rng.Uint64, 0, ^uint64(0))
	}
}

// Marks tell two requests' bytes apart, one by one: every byte of the first
// lies in 0x40–0x7f, every byte of the second in 0x80–0xff, and cleared memory
// is neither.
const (
	ownMark, ownBits         = 0x4040404040404040, 0x3f3f3f3f3f3f3f3f
	foreignMark, foreignBits = 0x8080808080808080, 0x7f7f7f7f7f7f7f7f
)

// FillOwn writes random bytes that each say "this request".
func FillOwn(dst []byte, seed uint64) {
	fillWith(dst, rand.NewPCG(seed, 1).Uint64, ownMark, ownBits) // content, not a secret
}

// FillForeign writes random bytes that each say "another request".
func FillForeign(dst []byte, seed uint64) {
	fillWith(dst, rand.NewPCG(seed, 2).Uint64, foreignMark, foreignBits) // content, not a secret
}

// Origins counts the bytes of each kind that a buffer holds.
type Origins struct {
	Own     int64 `json:"own"`     // written by FillOwn
	Foreign int64 `json:"foreign"` // written by FillForeign
	Other   int64 `json:"other"`   // neither: never arrived
}

// CountOrigins looks at every byte.
func CountOrigins(buf []byte) Origins {
	var o Origins
	for _, b := range buf {
		switch {
		case b >= 0x80:
			o.Foreign++
		case b >= 0x40:
			o.Own++
		default:
			o.Other++
		}
	}
	return o
}

func fillWith(dst []byte, next func() uint64, mark, bits uint64) {
	for len(dst) >= 8 {
		binary.LittleEndian.PutUint64(dst, mark|next()&bits)
		dst = dst[8:]
	}
	if len(dst) > 0 {
		var last [8]byte
		binary.LittleEndian.PutUint64(last[:], mark|next()&bits)
		copy(dst, last[:])
	}
}

// ReadFrom fills the blocks of a pool from r and returns how many bytes there
// were; fewer than the order holds only at the end of r.
func ReadFrom(pool []byte, order []Block, r io.Reader) (int64, error) {
	var total int64
	for _, b := range order {
		n, err := io.ReadFull(r, pool[b.Offset:b.Offset+b.Len])
		total += int64(n)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return total, nil
		}
		if err != nil {
			return total, fmt.Errorf("blocks: read input: %w", err)
		}
	}
	return total, nil
}

// WriteTo writes the logical sequence to w.
func WriteTo(w io.Writer, pool []byte, order []Block) error {
	for _, b := range order {
		if _, err := w.Write(pool[b.Offset : b.Offset+b.Len]); err != nil {
			return fmt.Errorf("blocks: write output: %w", err)
		}
	}
	return nil
}

// Clear zeroes the blocks of a pool.
func Clear(pool []byte, order []Block) {
	for _, b := range order {
		clear(pool[b.Offset : b.Offset+b.Len])
	}
}

// Digest is the SHA-256 of the logical sequence, in hexadecimal.
func Digest(pool []byte, order []Block) string {
	h := sha256.New()
	_ = WriteTo(h, pool, order) // a hash never fails
	return hex.EncodeToString(h.Sum(nil))
}
