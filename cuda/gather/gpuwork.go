// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"fmt"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/cuda"
)

// gpuWork is one copy on a GPU.
type gpuWork struct {
	engine    *GPU
	direction direction
	after     []*cuda.Event
	fromPeer  bool // a kernel reads device memory that a NIC may have written
	slot      *slot
	release   func()
	spoilt    bool // a call about the slot failed: it is used no more
}

// list fills the slot's list: runs for the copy engine, tiles for the kernel.
func (w *gpuWork) list(p *plan, memories []*cuda.Memory) error {
	longest := 0 // no limit
	n := len(p.runs)
	if w.engine.method == Kernel {
		longest = tile
		n = 0
		for i := range p.runs {
			n += (p.runs[i].len + tile - 1) / tile
		}
	}
	if err := w.slot.grow(w.engine.context, n, w.engine.method == Kernel); err != nil {
		return err
	}
	if err := w.slot.list.Begin(n); err != nil {
		return err
	}
	for i := range p.runs {
		r := &p.runs[i]
		block, err := memories[r.memory].Range(r.offset, r.len)
		if err != nil {
			return err
		}
		part, err := memories[0].Range(r.buffer, r.len)
		if err != nil {
			return err
		}
		if w.direction == scattering {
			block, part = part, block
		}
		if err := w.slot.list.AppendPieces(part, block, longest); err != nil {
			return err
		}
	}
	return nil
}

// start submits the copy. Until submit is called nothing of it can touch the
// blocks or the buffer, so that every failure before it is proof.
func (w *gpuWork) start() backend.Observation {
	if err := w.before(); err != nil {
		return backend.Observation{Status: backend.NotSubmitted, Err: err}
	}
	err := w.submit()
	if err == nil {
		err = w.slot.event.Record(w.engine.stream)
	}
	if err != nil {
		return backend.Observation{Status: backend.Error, Err: err}
	}
	return backend.Observation{Status: backend.Submitted}
}

// before makes ready what the copy needs.
func (w *gpuWork) before() error {
	g := w.engine
	if w.fromPeer && g.flush {
		if err := g.context.FlushRemoteWrites(); err != nil {
			return fmt.Errorf("gather: what a peer wrote is not visible to the device: %w", err)
		}
	}
	for _, e := range w.after {
		if err := g.stream.Wait(e); err != nil {
			return fmt.Errorf("gather: what the copy waits for: %w", err)
		}
	}
	if g.method != Kernel {
		return nil
	}
	table, err := w.table()
	if err == nil {
		err = g.stream.Copy(table, w.slot.list.Table())
	}
	w.spoilt = err != nil
	return err
}

func (w *gpuWork) table() (cuda.Range, error) {
	return w.slot.table.Range(0, w.slot.list.Table().Len())
}

func (w *gpuWork) submit() error {
	g, list := w.engine, w.slot.list
	if g.method == CopyEngine {
		return g.stream.CopyBatch(list)
	}
	table, err := w.table()
	if err != nil {
		return err
	}
	var params cuda.Params
	return g.stream.Launch(cuda.Launch{
		Function: g.kernel,
		Grid:     cuda.Dim{X: min(g.grid, uint32(list.Len()))},
		Block:    cuda.Dim{X: threads},
		Params:   params.Range(table).Uint32(uint32(list.Len())),
		Uses:     list.Uses(),
	})
}

func (w *gpuWork) poll() backend.Observation { return observe(w.slot.event) }

// free gives the slot back, or gives it up where a call about it failed: then
// the stream may still read its list.
func (w *gpuWork) free() error {
	w.release()
	g := w.engine
	if !w.spoilt {
		g.put(w.slot)
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.copies-- // its place stays taken
	return nil
}
