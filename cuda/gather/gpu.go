// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/cuda"
)

//go:embed copy.ptx
var kernelPTX string

// kernelName is the entry in copy.cu.
const kernelName = "kvx_copy"

const (
	// tile is the longest piece of a copy that one block of threads takes: four
	// loads of 16 bytes a thread.
	tile    = 16 << 10
	threads = 256
	// perMultiprocessor is how many blocks of threads fill one.
	perMultiprocessor = 8
)

// Method is how a GPU copies.
type Method uint8

// Methods.
const (
	_          Method = iota
	Kernel            // one launch a copy, all multiprocessors together
	CopyEngine        // asynchronous copies, batched where the driver can
)

// String names the method.
func (m Method) String() string {
	switch m {
	case Kernel:
		return "kernel"
	case CopyEngine:
		return "copy engine"
	}
	return fmt.Sprintf("invalid method %d", uint8(m))
}

// DefaultCopies is how many copies an engine has at once by default.
const DefaultCopies = 256

// Config describes an engine on a GPU.
type Config struct {
	// Method is required: which is faster depends on the blocks.
	Method Method
	// Copies bounds the copies that are not released; 0 is DefaultCopies.
	Copies int

	_ struct{}
}

// GPU is an engine on one device, with a stream of its own.
type GPU struct {
	context *cuda.Context
	method  Method
	stream  *cuda.Stream
	module  *cuda.Module   // nil but for Kernel
	kernel  *cuda.Function // likewise
	grid    uint32
	flush   bool // a NIC's writes need to be made visible to kernels

	mu     sync.Mutex
	idle   []*slot // guarded by mu
	left   int     // guarded by mu; copies that may be built
	copies int     // guarded by mu; not released
	why    error   // guarded by mu; quarantined
	closed bool    // guarded by mu
}

// NewGPU creates an engine in a context, which must stay open longer.
func NewGPU(ctx *cuda.Context, c Config) (*GPU, error) {
	if c.Method != Kernel && c.Method != CopyEngine || c.Copies < 0 {
		return nil, fmt.Errorf("%w: gather: method %v, %d copies", backend.ErrInvalid, c.Method, c.Copies)
	}
	if c.Copies == 0 {
		c.Copies = DefaultCopies
	}
	g := &GPU{context: ctx, method: c.Method, left: c.Copies}
	if err := g.prepare(); err != nil {
		return nil, errors.Join(err, g.dispose())
	}
	return g, nil
}

func (g *GPU) prepare() (err error) {
	device := g.context.Device()
	multiprocessors, err := device.Attribute(cuda.AttrMultiprocessors)
	if err != nil {
		return err
	}
	ordering, err := device.Attribute(cuda.AttrRDMAWritesOrdering)
	if err != nil {
		return err
	}
	g.grid = uint32(multiprocessors * perMultiprocessor)
	g.flush = ordering < orderedForOwner
	if g.stream, err = g.context.NewStream(); err != nil || g.method != Kernel {
		return err
	}
	if g.module, err = g.context.LoadModule(kernelPTX); err != nil {
		return err
	}
	g.kernel, err = g.module.Function(kernelName)
	return err
}

// orderedForOwner is the least [cuda.AttrRDMAWritesOrdering] with which the
// device sees a NIC's writes in order by itself.
const orderedForOwner = 100

// Gather builds a copy of the blocks into the buffer. Every memory must be a
// *[cuda.Memory], and for a kernel the host's or of the engine's device.
func (g *GPU) Gather(s Spec) (backend.Local, error) { return g.build(s, gathering) }

// Scatter builds a copy of the buffer into the blocks.
func (g *GPU) Scatter(s Spec) (backend.Local, error) { return g.build(s, scattering) }

// Quarantine makes the engine refuse new copies, with this reason; nil opens it
// again. Copies that were built before go on.
func (g *GPU) Quarantine(why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.why = why
}

// Doubt puts the engine's context in doubt, as [cuda.Context.Doubt]: every copy
// that is not done is in doubt from now on.
func (g *GPU) Doubt(reason error) { g.context.Doubt(reason) }

func (g *GPU) build(s Spec, d direction) (backend.Local, error) {
	p, err := newPlan(&s, d)
	if err != nil {
		return nil, err
	}
	defer p.forget()
	w := &gpuWork{engine: g, direction: d, after: slices.Clone(s.After)}
	memories, err := g.reach(p)
	if err != nil {
		return nil, err
	}
	w.fromPeer = d == scattering && memories[0].Kind().OnDevice()
	if w.release, err = p.hold(); err != nil {
		return nil, err
	}
	if w.slot, err = g.take(); err != nil {
		w.release()
		return nil, err
	}
	if err := w.list(p, memories); err != nil {
		g.put(w.slot)
		w.release()
		return nil, err
	}
	return &copied{stage: built, work: w}, nil
}

// reach refuses memory that the engine's method does not reach.
func (g *GPU) reach(p *plan) ([]*cuda.Memory, error) {
	memories := make([]*cuda.Memory, len(p.memories))
	for i, memory := range p.memories {
		what := "memory"
		if i == 0 {
			what = "buffer"
		}
		m, ok := memory.(*cuda.Memory)
		switch {
		case !ok:
			return nil, &ExtentError{what, i, "is not memory that CUDA knows: register it"}
		case g.method == Kernel && m.Kind().OnDevice() && m.Context() != g.context:
			return nil, &ExtentError{what, i, fmt.Sprintf("is of %s, the engine is on %s", m.Context().Device(), g.context.Device())}
		}
		memories[i] = m
	}
	return memories, nil
}

// Close frees the engine; [backend.ErrInFlight] while a copy of it was not
// released, which a copy in doubt never is.
func (g *GPU) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return nil
	case g.copies > 0:
		return fmt.Errorf("%w: %d copies", backend.ErrInFlight, g.copies)
	}
	if err := g.dispose(); err != nil {
		return err
	}
	g.closed = true
	return nil
}

// dispose frees everything, or as much as it can; again goes on.
func (g *GPU) dispose() error {
	var errs []error
	for len(g.idle) > 0 {
		if err := g.idle[len(g.idle)-1].free(); err != nil {
			errs = append(errs, err)
			break
		}
		g.idle = g.idle[:len(g.idle)-1]
	}
	if g.stream != nil {
		errs = append(errs, g.stream.Close())
	}
	if g.module != nil {
		errs = append(errs, g.module.Close())
	}
	return errors.Join(errs...)
}
