// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package cudac reaches the functions of the CUDA driver, libcuda.so.1, which
// it opens while the program runs and never links.
//
// It adds nothing to them but the thread's context: CUDA's current context is
// a property of a thread, goroutines change threads, so each call takes its
// context and makes it current for as long as it runs. It decides nothing and
// retains nothing: package cuda does.
//
// Every address here is of memory that Go does not manage. The only Go memory
// that reaches the driver is read or written before the call returns.
package cudac

import "fmt"

// Handles of the driver. None is an address that Go may follow.
type (
	Context  uintptr
	Stream   uintptr
	Event    uintptr
	Module   uintptr
	Function uintptr
	Signal   uintptr
)

// Device is the driver's number of a device, which is not its ordinal.
type Device int32

// Result is a CUresult. Zero is CUDA_SUCCESS, as the driver has it; a Result
// that was never assigned must not be read.
type Result int32

// Results that callers of this package decide on.
const (
	Success      Result = 0
	InvalidValue Result = 1
	NotReady     Result = 600
)

// Dim is a number of blocks of a grid, or of threads of a block, for x, y, z.
type Dim [3]uint32

// API is an open driver. Each method is one call of the C function in its
// comment and may be made from any goroutine; a Result that is not Success
// leaves the other results without meaning.
type API interface {
	// Version is 1000*major + 10*minor of the newest CUDA that the driver knows.
	Version() int
	// Has reports whether an optional symbol was found.
	Has(symbol string) bool
	// Origin is the file that the library was loaded from.
	Origin() string

	ErrorName(Result) string // cuGetErrorName; empty for one that it does not know
	ErrorText(Result) string // cuGetErrorString

	Init() Result // cuInit
	DeviceCount() (int, Result)
	DeviceGet(ordinal int) (Device, Result)
	DeviceName(Device) (string, Result)
	DevicePCI(Device) (string, Result) // cuDeviceGetPCIBusId
	DeviceUUID(Device) ([16]byte, Result)
	DeviceMemory(Device) (uint64, Result) // cuDeviceTotalMem, bytes
	DeviceAttribute(d Device, attribute int) (int, Result)
	DevicePeer(d, peer Device) (bool, Result) // cuDeviceCanAccessPeer
	Retain(Device) (Context, Result)          // cuDevicePrimaryCtxRetain
	Release(Device) Result                    // cuDevicePrimaryCtxRelease

	Synchronize(Context) Result                            // cuCtxSynchronize
	FlushWrites(Context) Result                            // cuFlushGPUDirectRDMAWrites, optional
	MemInfo(Context) (unused, total uint64, result Result) // cuMemGetInfo, bytes
	Alloc(c Context, n uint64) (uint64, Result)            // cuMemAlloc
	Free(c Context, address uint64) Result                 // cuMemFree
	AllocHost(c Context, n uint64, flags uint32) (uint64, Result)
	FreeHost(c Context, address uint64) Result
	RegisterHost(c Context, address, n uint64, flags uint32) Result
	UnregisterHost(c Context, address uint64) Result
	PointerAttribute(c Context, attribute int, address uint64) (uint64, Result)

	StreamCreate(c Context, flags uint32) (Stream, Result)
	StreamDestroy(Context, Stream) Result
	StreamSynchronize(Context, Stream) Result
	StreamWait(Context, Stream, Event) Result // cuStreamWaitEvent
	Copy(c Context, dst, src, n uint64, s Stream) Result
	// CopyBatch is cuMemcpyBatchAsync, and where the driver has none a loop of
	// cuMemcpyAsync that stops at the first failure: how many were submitted is
	// then not known. The addresses are of C arrays with count entries.
	CopyBatch(c Context, dst, src, len uint64, count int, s Stream) Result
	Set(c Context, dst uint64, value byte, n uint64, s Stream) Result // cuMemsetD8Async
	// LoadModule is cuModuleLoadDataEx; log holds the compiler's words after a failure.
	LoadModule(c Context, image string) (m Module, log string, result Result)
	UnloadModule(Context, Module) Result
	Function(c Context, m Module, name string) (Function, Result)
	// Launch is cuLaunchKernel with packed parameters, which are copied.
	Launch(c Context, f Function, grid, block Dim, shared uint32, s Stream, params []byte) Result

	EventCreate(c Context, flags uint32) (Event, Result)
	EventDestroy(Context, Event) Result
	EventRecord(Context, Event, Stream) Result
	EventSynchronize(Context, Event) Result
	EventElapsed(c Context, from, to Event) (milliseconds float32, result Result)
	// EventQuery asks for all events in one crossing and writes an answer for
	// each into results, which must be as long.
	EventQuery(c Context, events []Event, results []Result)

	// NewSignal allocates a signal and its event descriptor, or returns 0.
	NewSignal() (s Signal, fd uintptr)
	SignalCount(Signal) uint64 // how many raises have ended for good
	FreeSignal(Signal)         // not the descriptor; only when no raise is under way
	// LaunchSignal is cuLaunchHostFunc of a C function that raises the signal.
	LaunchSignal(Context, Stream, Signal) Result
}

// OldDriverError says that the driver lacks a symbol that every supported
// version exports.
type OldDriverError struct {
	Version int   // as [API.Version], 0 where even that was not to be had
	Err     error // a *dl.SymbolError
}

// Error names the version and the symbol.
func (e *OldDriverError) Error() string {
	return fmt.Sprintf("cudac: driver for CUDA %d.%d: %v", e.Version/1000, e.Version%1000/10, e.Err)
}

// Unwrap returns the loader's error.
func (e *OldDriverError) Unwrap() error { return e.Err }
