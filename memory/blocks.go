// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package memory

// Blocks is a view of bytes as blocks of one size, numbered from 0: what a
// key-value cache calls its pages. It copies nothing and owns nothing.
type Blocks struct {
	data []byte
	size int
}

// Blocks views the arena as blocks of size bytes; the arena's length must be a
// multiple of it, otherwise *SizeError.
func (a *Arena) Blocks(size int) (Blocks, error) {
	data := a.Bytes()
	if size <= 0 || size > len(data) || len(data)%size != 0 {
		return Blocks{}, &SizeError{What: "block", Size: size, Max: len(data), Unit: len(data)}
	}
	return Blocks{data: data, size: size}, nil
}

// Count is how many blocks there are.
func (b Blocks) Count() int {
	if b.size == 0 {
		return 0
	}
	return len(b.data) / b.size
}

// Size is the length of each block in bytes.
func (b Blocks) Size() int { return b.size }

// Offset is where block i starts, in bytes from the start of the arena; an
// unknown block is *IndexError.
func (b Blocks) Offset(i int) (int, error) {
	if i < 0 || i >= b.Count() {
		return 0, &IndexError{Index: i, Count: b.Count()}
	}
	return i * b.size, nil
}

// Bytes is block i without copying; its capacity ends with it. An unknown
// block is *IndexError.
func (b Blocks) Bytes(i int) ([]byte, error) {
	at, err := b.Offset(i)
	if err != nil {
		return nil, err
	}
	return b.data[at : at+b.size : at+b.size], nil
}
