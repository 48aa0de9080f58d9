// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"fmt"
	"strconv"
)

// MemoryKind is whose memory it is. The numbers are NIXL's, so DRAM is the zero value.
type MemoryKind uint8

// The kinds of memory.
const (
	DRAM MemoryKind = iota // the host's
	VRAM                   // a GPU's
)

// String returns DRAM or VRAM.
func (k MemoryKind) String() string {
	switch k {
	case DRAM:
		return "DRAM"
	case VRAM:
		return "VRAM"
	}
	return "invalid kind of memory " + strconv.Itoa(int(k))
}

// IsValid reports whether k is one of the kinds.
func (k MemoryKind) IsValid() bool { return k <= VRAM }

// Space is what memory is in: the host's, which is the zero value, or a device's. An
// address means something together with its space only.
type Space struct {
	Kind   MemoryKind
	Device uint32 // the GPU's ordinal in its process; 0 for DRAM
}

// String returns DRAM, or VRAM with the device.
func (s Space) String() string {
	if s.Kind == VRAM {
		return fmt.Sprintf("VRAM of device %d", s.Device)
	}
	return s.Kind.String()
}

// Check returns an error that matches ErrInvalid for what is no space at all, and
// ErrMemoryKind for a device's where vram is false: where a backend serves the host's
// memory only.
func (s Space) Check(vram bool) error {
	switch {
	case !s.Kind.IsValid(), s.Kind == DRAM && s.Device != 0:
		return fmt.Errorf("%w: %v, device %d", ErrInvalid, s.Kind, s.Device)
	case s.Kind == VRAM && !vram:
		return fmt.Errorf("%w: %v", ErrMemoryKind, s)
	}
	return nil
}
