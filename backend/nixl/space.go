// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"errors"
	"fmt"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/nixl"
)

// mems are NIXL's names of the kinds of memory.
var mems = map[backend.MemoryKind]nixl.MemType{backend.DRAM: nixl.DRAM, backend.VRAM: nixl.VRAM}

// registerIn registers memory with the one plugin. A device's goes with what UCX
// chooses by itself only: a transport that was named has no way to reach it, and
// would take its addresses for the host's.
func (b *Backend) registerIn(m backend.Memory) (*nixl.Registration, error) {
	if err := m.Check(b.limits.VRAM); err != nil {
		return nil, err
	}
	regs, err := b.agent.RegisterAll(nixl.RegisterConfig{
		Mem: mems[m.Kind], Backend: b.plugin,
		Segments: []nixl.Segment{{Addr: uint64(m.Addr), Len: m.Len, Dev: uint64(m.Device)}},
	})
	if e := (*nixl.Error)(nil); m.Kind == backend.VRAM && errors.As(err, &e) {
		return nil, fmt.Errorf("%w: %v: without a GPU's driver, or with a UCX that was built without CUDA, NIXL refuses it: %w", backend.ErrMemoryKind, m.Space, err)
	}
	if err != nil {
		return nil, translate(err)
	}
	return regs[0], nil
}

// place says which memory the segments of a request are in.
func (b *Backend) place(cfg *nixl.RequestConfig, local, remote backend.Space) error {
	for _, side := range []struct {
		space    backend.Space
		mem      *nixl.MemType
		segments []nixl.Segment
	}{{local, &cfg.LocalMem, cfg.Local}, {remote, &cfg.RemoteMem, cfg.Remote}} {
		if err := side.space.Check(b.limits.VRAM); err != nil {
			return err
		}
		*side.mem = mems[side.space.Kind]
		for i := range side.segments {
			side.segments[i].Dev = uint64(side.space.Device)
		}
	}
	return nil
}
