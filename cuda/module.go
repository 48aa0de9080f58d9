// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cuda

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/kvxfer/kvxfer/internal/cudac"
)

// Module is compiled code in a context.
type Module struct {
	context *Context
	handle  cudac.Module

	mu     sync.Mutex
	closed bool // guarded by mu
}

// LoadModule compiles PTX for the device and loads it. The error has the
// compiler's words; [ErrorUnsupportedPTX] says that the driver is older than
// the PTX.
func (c *Context) LoadModule(ptx string) (*Module, error) {
	if ptx == "" || strings.ContainsRune(ptx, 0) {
		return nil, fmt.Errorf("%w: PTX is empty or has a zero byte", ErrArgument)
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	h, log, rc := c.api.LoadModule(c.handle, ptx)
	if err := c.check("cuModuleLoadDataEx", rc); err != nil {
		if e := (*Error)(nil); errors.As(err, &e) {
			e.Log = strings.TrimSpace(log)
		}
		return nil, err
	}
	c.live.Add(1)
	return &Module{context: c, handle: h}, nil
}

// Close unloads the module: its functions must have ended and be used no more.
// Closing twice is fine.
func (m *Module) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	if err := m.context.Err(); err != nil {
		return err
	}
	if err := m.context.check("cuModuleUnload", m.context.api.UnloadModule(m.context.handle, m.handle)); err != nil {
		return err
	}
	m.closed = true
	m.context.live.Add(-1)
	return nil
}

// Function is a kernel of a module.
type Function struct {
	module *Module
	handle cudac.Function
	name   string
}

// Function finds a kernel by its name in the PTX; [ErrorNotFound] where there
// is none.
func (m *Module) Function(name string) (*Function, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, fmt.Errorf("%w: module", ErrClosed)
	}
	h, rc := m.context.api.Function(m.context.handle, m.handle, name)
	if err := m.context.check("cuModuleGetFunction", rc); err != nil {
		return nil, fmt.Errorf("kernel %q: %w", name, err)
	}
	return &Function{module: m, handle: h, name: name}, nil
}

// Dim counts the blocks of a grid, or the threads of a block, for x, y and z; 0
// means 1.
type Dim struct{ X, Y, Z uint32 }

func (d Dim) raw() cudac.Dim { return cudac.Dim{max(d.X, 1), max(d.Y, 1), max(d.Z, 1)} }

// Params are a kernel's parameters, in its order. The zero value has none.
type Params struct {
	buf  []byte
	uses []*Memory
}

// maxParams is what every device takes, in bytes.
const maxParams = 4096

func (p *Params) align(n int) {
	for len(p.buf)%n != 0 {
		p.buf = append(p.buf, 0)
	}
}

// Uint32 adds a parameter of 32 bits.
func (p *Params) Uint32(v uint32) *Params {
	p.align(4)
	p.buf = binary.NativeEndian.AppendUint32(p.buf, v)
	return p
}

// Uint64 adds a parameter of 64 bits.
func (p *Params) Uint64(v uint64) *Params {
	p.align(8)
	p.buf = binary.NativeEndian.AppendUint64(p.buf, v)
	return p
}

// Range adds the address of a range, whose memory is then held for the kernel.
func (p *Params) Range(r Range) *Params {
	p.uses = append(p.uses, r.memory)
	return p.Uint64(r.Addr())
}

// Launch is one launch of a kernel.
type Launch struct {
	Function    *Function
	Grid, Block Dim
	Shared      uint32 // bytes of dynamic shared memory
	Params      *Params
	// Uses lists the memory that the kernel touches and that Params does not
	// name: what it finds through a table.
	Uses []*Memory
}

// Launch submits a kernel. The parameters are copied.
func (s *Stream) Launch(l Launch) error {
	var params Params
	if l.Params != nil {
		params = *l.Params
	}
	switch {
	case l.Function == nil:
		return fmt.Errorf("%w: launch of no function", ErrArgument)
	case l.Function.module.context != s.context:
		return fmt.Errorf("%w: kernel %q of %s, stream of %s", ErrWrongContext, l.Function.name, l.Function.module.context.device, s.context.device)
	case len(params.buf) > maxParams:
		return fmt.Errorf("%w: %d bytes of parameters, at most %d", ErrArgument, len(params.buf), maxParams)
	}
	uses := append(append([]*Memory(nil), params.uses...), l.Uses...)
	return s.submit("cuLaunchKernel", uses, func() cudac.Result {
		return s.context.api.Launch(s.context.handle, l.Function.handle, l.Grid.raw(), l.Block.raw(), l.Shared, s.handle, params.buf)
	})
}
