// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"errors"
	"fmt"
)

// ErrUnsupported says that arenas do not exist on this operating system.
var ErrUnsupported = errors.New("memory: arenas need Linux or macOS")

// ErrSize is matched by every *SizeError.
var ErrSize = errors.New("memory: unusable size")

// ErrIndex is matched by every *IndexError.
var ErrIndex = errors.New("memory: no such block")

// ErrHeld is the answer to closing an arena that somebody holds.
var ErrHeld = errors.New("memory: arena is held")

// ErrClosed is the answer to holding a closed arena.
var ErrClosed = errors.New("memory: arena is closed")

// ErrCanary is matched by every *CanaryError.
var ErrCanary = errors.New("memory: canary overwritten")

// SizeError refuses a length that is 0, negative, too large, or not a whole
// number of units.
type SizeError struct {
	What string // what was to have this size: "arena", "block"
	Size int    // bytes, as asked for
	Max  int    // the largest size allowed, in bytes
	Unit int    // when not 0: the length that the size must divide, in bytes
}

// Error says what is wrong with the size, and the limit.
func (e *SizeError) Error() string {
	switch {
	case e.Size <= 0:
		return fmt.Sprintf("memory: %s size %d: must be between 1 and %d bytes", e.What, e.Size, e.Max)
	case e.Size > e.Max:
		return fmt.Sprintf("memory: %s size %d: larger than the limit of %d bytes", e.What, e.Size, e.Max)
	}
	return fmt.Sprintf("memory: %s size %d: does not divide the %d bytes of the range", e.What, e.Size, e.Unit)
}

// Unwrap makes errors.Is match ErrSize.
func (e *SizeError) Unwrap() error { return ErrSize }

// MapError is a refusal of the operating system.
type MapError struct {
	Len  int    // usable bytes of the arena
	Call string // "mmap", "mprotect" or "munmap"
	Err  error  // usually a syscall.Errno
}

// Error names the call, the length and the system's reason.
func (e *MapError) Error() string {
	return fmt.Sprintf("memory: arena of %d bytes: %s: %v", e.Len, e.Call, e.Err)
}

// Unwrap returns the system's reason.
func (e *MapError) Unwrap() error { return e.Err }

// IndexError refuses a block number outside of the view.
type IndexError struct{ Index, Count int }

// Error names the index and how many blocks there are.
func (e *IndexError) Error() string {
	return fmt.Sprintf("memory: block %d: the view has %d blocks", e.Index, e.Count)
}

// Unwrap makes errors.Is match ErrIndex.
func (e *IndexError) Unwrap() error { return ErrIndex }

// CanaryError tells where something wrote outside of an arena.
type CanaryError struct {
	Arena string // Arena.String
	// Offset of the first changed byte, relative to the arena's first byte:
	// negative before the arena, at least its length after it.
	Offset int
	// Changed counts the changed bytes of that canary.
	Changed int
}

// Error names the arena, the first changed byte and how many there are.
func (e *CanaryError) Error() string {
	return fmt.Sprintf("memory: %s: canary overwritten: %d bytes, the first at offset %d", e.Arena, e.Changed, e.Offset)
}

// Unwrap makes errors.Is match ErrCanary.
func (e *CanaryError) Unwrap() error { return ErrCanary }
