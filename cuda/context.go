// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cuda

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/kvxfer/kvxfer/internal/cudac"
)

// Context is the primary context of one device.
type Context struct {
	device *Device
	api    cudac.API
	handle cudac.Context
	doubt  atomic.Pointer[doubt]
	live   atomic.Int64 // streams, events, memory and modules not closed
	asking sync.RWMutex // read while the driver is asked about events, so that none is destroyed
}

// doubt is why a context's answers count no more.
type doubt struct{ err error }

// Device is the device of the context.
func (c *Context) Device() *Device { return c.device }

// Doubt puts the context in doubt: from now on no event of it proves anything.
// It is for what the driver does not tell by itself, such as an Xid. The first
// reason stays; there is no way back in this process.
func (c *Context) Doubt(reason error) {
	if reason == nil {
		reason = errors.New("no reason given")
	}
	c.doubt.CompareAndSwap(nil, &doubt{reason})
}

// Err is nil while the context can be believed, and otherwise matches
// [ErrInDoubt] and the reason.
func (c *Context) Err() error {
	if d := c.doubt.Load(); d != nil {
		return fmt.Errorf("%w: %s: %w", ErrInDoubt, c.device, d.err)
	}
	return nil
}

// check turns a result into an error. One that is not the refusal of this very
// call puts the context in doubt.
func (c *Context) check(call string, r cudac.Result) error {
	if r == cudac.Success {
		return nil
	}
	err := c.device.driver.newError(call, r)
	if !refusals[err.Result] {
		c.Doubt(err)
		return fmt.Errorf("%w: %w", ErrInDoubt, err)
	}
	return err
}

// Close gives the context back. While a stream, event, module or memory of it
// is open the last user's Close is [ErrInFlight], and nothing changes.
func (c *Context) Close() error {
	g := c.device
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.primary != c:
		return ErrClosed
	case g.users > 1:
		g.users--
		return nil
	case c.live.Load() > 0:
		return fmt.Errorf("%w: %s: %d streams, events, modules and memory ranges are open", ErrInFlight, g, c.live.Load())
	}
	if err := c.check("cuDevicePrimaryCtxRelease", c.api.Release(g.handle)); err != nil {
		return err
	}
	g.primary, g.users = nil, 0
	return nil
}

// MemInfo tells how many bytes of the device's memory are unused, and how many
// there are.
func (c *Context) MemInfo() (unused, total uint64, err error) {
	unused, total, rc := c.api.MemInfo(c.handle)
	return unused, total, c.check("cuMemGetInfo", rc)
}

// FlushRemoteWrites makes what a NIC has written into the device's memory
// visible to the device's kernels. Needed before a kernel reads it, where
// [AttrRDMAWritesOrdering] is below 100. An error that matches
// [ErrorNotSupported] says that this driver or device has no such call.
func (c *Context) FlushRemoteWrites() error {
	return c.check("cuFlushGPUDirectRDMAWrites", c.api.FlushWrites(c.handle))
}
