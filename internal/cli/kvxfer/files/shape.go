// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"fmt"
	"math"
)

// Limits of a file's shape.
const (
	MinChunk  = 4 << 10
	MaxChunk  = 1 << 30
	maxChunks = 1 << 20
)

// Shape is how a file is cut.
type Shape struct {
	Size  int64 `json:"size"`  // of the file, in bytes
	Chunk int64 `json:"chunk"` // of each chunk but the last
	// Version changes when the file does: chunks of two versions are never mixed.
	Version string `json:"version"`
}

// check refuses what a peer may not say.
func (s Shape) check() error {
	switch {
	case s.Size < 0 || s.Size > math.MaxInt64-MaxChunk:
		return fmt.Errorf("a file of %d bytes", s.Size)
	case s.Chunk < MinChunk || s.Chunk > MaxChunk:
		return fmt.Errorf("chunks of %d bytes, limits %d and %d", s.Chunk, MinChunk, MaxChunk)
	case s.chunks() > maxChunks:
		return fmt.Errorf("%d chunks, limit %d", s.chunks(), maxChunks)
	case s.Version == "" || len(s.Version) > 64:
		return fmt.Errorf("a version of %d bytes", len(s.Version))
	}
	return nil
}

func (s Shape) chunks() int64 { return (s.Size + s.Chunk - 1) / s.Chunk }

// at returns where chunk i is.
func (s Shape) at(i int64) (offset, n int64) {
	offset = i * s.Chunk
	return offset, min(s.Chunk, s.Size-offset)
}
