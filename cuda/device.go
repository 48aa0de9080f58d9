// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cuda

import (
	"encoding/hex"
	"fmt"
	"strings"
	"sync"

	"github.com/kvxfer/kvxfer/internal/cudac"
)

// Attribute is a number by which the driver tells a property of a device
// (CUdevice_attribute).
type Attribute int

// Attributes, with CUDA's numbers.
const (
	AttrWarpSize            Attribute = 10
	AttrMultiprocessors     Attribute = 16
	AttrCanMapHostMemory    Attribute = 19
	AttrECCEnabled          Attribute = 32
	AttrMemoryClockRate     Attribute = 36 // kHz
	AttrMemoryBusWidth      Attribute = 37 // bits
	AttrThreadsPerMP        Attribute = 39
	AttrAsyncEngines        Attribute = 40
	AttrUnifiedAddressing   Attribute = 41
	AttrCapabilityMajor     Attribute = 75
	AttrCapabilityMinor     Attribute = 76
	AttrHostPointerInDevice Attribute = 91  // registered host memory has one address for both sides
	AttrRDMASupported       Attribute = 116 // GPUDirect RDMA
	AttrRDMAFlushOptions    Attribute = 117 // bit 0: FlushRemoteWrites works
	AttrRDMAWritesOrdering  Attribute = 118 // 0 none, 100 owner, 200 all devices
)

// UUID names a device, or a slice of one (MIG), for good.
type UUID [16]byte

// String returns the form that nvidia-smi prints: "GPU-xxxxxxxx-xxxx-...".
func (u UUID) String() string {
	h := hex.EncodeToString(u[:])
	return "GPU-" + strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

// Device is one GPU. What it says of itself was read by Open.
type Device struct {
	driver  *Driver
	handle  cudac.Device
	ordinal int
	name    string
	pci     string
	uuid    UUID
	memory  uint64

	mu      sync.Mutex
	primary *Context // guarded by mu; nil while nobody has it
	users   int      // guarded by mu
}

// device reads what is needed of device number i.
func (d *Driver) device(i int) (*Device, error) {
	g := &Device{driver: d, ordinal: i}
	var rc cudac.Result
	for _, step := range []struct {
		call string
		read func()
	}{
		{"cuDeviceGet", func() { g.handle, rc = d.api.DeviceGet(i) }},
		{"cuDeviceGetName", func() { g.name, rc = d.api.DeviceName(g.handle) }},
		{"cuDeviceGetPCIBusId", func() { g.pci, rc = d.api.DevicePCI(g.handle) }},
		{"cuDeviceGetUuid", func() { g.uuid, rc = d.api.DeviceUUID(g.handle) }},
		{"cuDeviceTotalMem", func() { g.memory, rc = d.api.DeviceMemory(g.handle) }},
	} {
		step.read()
		if err := d.check(step.call, rc); err != nil {
			return nil, fmt.Errorf("device %d: %w", i, err)
		}
	}
	return g, nil
}

// Driver is the driver that the device was found by.
func (g *Device) Driver() *Driver { return g.driver }

// Ordinal is the device's place in the driver's order, from 0. It depends on
// CUDA_VISIBLE_DEVICES; PCI and UUID do not.
func (g *Device) Ordinal() int { return g.ordinal }

// Name is the product's name.
func (g *Device) Name() string { return g.name }

// PCI is the bus address, as in "0000:1b:00.0".
func (g *Device) PCI() string { return g.pci }

// UUID names the device for good.
func (g *Device) UUID() UUID { return g.uuid }

// Memory is the size of the device's memory in bytes.
func (g *Device) Memory() uint64 { return g.memory }

// String names the device in logs.
func (g *Device) String() string { return fmt.Sprintf("GPU %d (%s, %s)", g.ordinal, g.name, g.pci) }

// Attribute asks the driver for a property.
func (g *Device) Attribute(a Attribute) (int, error) {
	v, rc := g.driver.api.DeviceAttribute(g.handle, int(a))
	return v, g.driver.check("cuDeviceGetAttribute", rc)
}

// CanAccessPeer reports whether kernels of g could reach the memory of peer.
func (g *Device) CanAccessPeer(peer *Device) (bool, error) {
	if peer == nil || peer.driver != g.driver {
		return false, fmt.Errorf("%w: no device of the same driver", ErrArgument)
	}
	can, rc := g.driver.api.DevicePeer(g.handle, peer.handle)
	return can, g.driver.check("cuDeviceCanAccessPeer", rc)
}

// Primary retains the device's primary context, which all libraries of the
// process share. Each Primary needs a [Context.Close].
func (g *Device) Primary() (*Context, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.primary == nil {
		h, rc := g.driver.api.Retain(g.handle)
		if err := g.driver.check("cuDevicePrimaryCtxRetain", rc); err != nil {
			return nil, err
		}
		g.primary = &Context{device: g, api: g.driver.api, handle: h}
	}
	g.users++
	return g.primary, nil
}
