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
	spec      Spec
	direction direction
	slot      *slot
	release   func()
	spoilt    bool // a call about the slot failed: it is used no more
}

// list fills the slot's list: runs for the copy engine, tiles for the kernel.
func (w *gpuWork) list() error {
	longest := w.spec.Buffer.Len
	if w.engine.method == Kernel {
		longest = tile
	}
	n := 0
	_ = w.direction.runs(&w.spec, func(dst, _ Extent) error { // it has no error to pass on
		n += (dst.Len + longest - 1) / longest
		return nil
	})
	if err := w.slot.grow(w.engine.context, n, w.engine.method == Kernel); err != nil {
		return err
	}
	if err := w.slot.list.Begin(n); err != nil {
		return err
	}
	return w.direction.runs(&w.spec, func(dst, src Extent) error {
		for at := 0; at < dst.Len; at += longest {
			length := min(longest, dst.Len-at)
			to, err := cudaRange(dst, at, length)
			if err != nil {
				return err
			}
			from, err := cudaRange(src, at, length)
			if err != nil {
				return err
			}
			if err := w.slot.list.Append(to, from); err != nil {
				return err
			}
		}
		return nil
	})
}

func cudaRange(e Extent, at, n int) (cuda.Range, error) {
	return e.Memory.(*cuda.Memory).Range(e.Offset+at, n)
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
	if w.direction == scattering && g.flush && w.spec.Buffer.Memory.(*cuda.Memory).Kind().OnDevice() {
		if err := g.context.FlushRemoteWrites(); err != nil {
			return fmt.Errorf("gather: what a peer wrote is not visible to the device: %w", err)
		}
	}
	for _, e := range w.spec.After {
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
