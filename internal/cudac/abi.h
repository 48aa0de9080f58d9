// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// The binary interface of libcuda.so.1 as far as this package calls it:
// argument types and struct layouts, nothing else. Every handle is opaque to
// us, so it is a plain pointer here; a device address is 64 bits wide. Every
// function returns a CUresult, which is an int.
//
// A name here is the symbol's name without its prefix "cu", version suffix
// included: the suffix is part of the interface.

#ifndef KVX_CUDA_ABI_H
#define KVX_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

// How CUDA 12.8 and later describe a copy of a batch.
struct kvxcu_copy_location {
	int type;
	int id;
};
struct kvxcu_copy_attributes {
	int source_order; // 1: in the order of the stream
	struct kvxcu_copy_location source_hint, destination_hint;
	unsigned int flags;
};
_Static_assert(sizeof(struct kvxcu_copy_attributes) == 24, "copy attributes layout");

// KVX_SYMBOLS lists what every supported driver exports. The order is the
// order of the fields of struct kvxcu_driver.
#define KVX_SYMBOLS(X) \
	X(Init, (unsigned int)) \
	X(GetErrorName, (int, const char **)) \
	X(GetErrorString, (int, const char **)) \
	X(DeviceGetCount, (int *)) \
	X(DeviceGet, (int *, int)) \
	X(DeviceGetName, (char *, int, int)) \
	X(DeviceGetUuid, (unsigned char *, int)) \
	X(DeviceTotalMem_v2, (size_t *, int)) \
	X(DeviceGetAttribute, (int *, int, int)) \
	X(DeviceGetPCIBusId, (char *, int, int)) \
	X(DeviceCanAccessPeer, (int *, int, int)) \
	X(DevicePrimaryCtxRetain, (void **, int)) \
	X(DevicePrimaryCtxRelease_v2, (int)) \
	X(CtxPushCurrent_v2, (void *)) \
	X(CtxPopCurrent_v2, (void **)) \
	X(CtxSynchronize, (void)) \
	X(MemGetInfo_v2, (size_t *, size_t *)) \
	X(MemAlloc_v2, (uint64_t *, size_t)) \
	X(MemFree_v2, (uint64_t)) \
	X(MemHostAlloc, (void **, size_t, unsigned int)) \
	X(MemFreeHost, (void *)) \
	X(MemHostRegister_v2, (void *, size_t, unsigned int)) \
	X(MemHostUnregister, (void *)) \
	X(PointerGetAttribute, (void *, int, uint64_t)) \
	X(MemcpyAsync, (uint64_t, uint64_t, size_t, void *)) \
	X(MemsetD8Async, (uint64_t, unsigned char, size_t, void *)) \
	X(StreamCreate, (void **, unsigned int)) \
	X(StreamDestroy_v2, (void *)) \
	X(StreamSynchronize, (void *)) \
	X(StreamWaitEvent, (void *, void *, unsigned int)) \
	X(EventCreate, (void **, unsigned int)) \
	X(EventDestroy_v2, (void *)) \
	X(EventRecord, (void *, void *)) \
	X(EventQuery, (void *)) \
	X(EventSynchronize, (void *)) \
	X(EventElapsedTime, (float *, void *, void *)) \
	X(ModuleLoadDataEx, (void **, const void *, unsigned int, int *, void **)) \
	X(ModuleUnload, (void *)) \
	X(ModuleGetFunction, (void **, void *, const char *)) \
	X(LaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **)) \
	X(LaunchHostFunc, (void *, void (*)(void *), void *))

// KVX_OPTIONAL lists what only some drivers export; absent ones are NULL.
#define KVX_OPTIONAL(X) \
	X(DeviceGetUuid_v2, (unsigned char *, int)) \
	X(MemcpyBatchAsync, (uint64_t *, uint64_t *, size_t *, size_t, struct kvxcu_copy_attributes *, size_t *, size_t, size_t *, void *)) \
	X(MemcpyBatchAsync_v2, (uint64_t *, uint64_t *, size_t *, size_t, struct kvxcu_copy_attributes *, size_t *, size_t, void *)) \
	X(FlushGPUDirectRDMAWrites, (int, int))

// struct kvxcu_driver holds one resolved address for each symbol.
struct kvxcu_driver {
#define KVX_FIELD(name, args) int(*name) args;
	KVX_SYMBOLS(KVX_FIELD)
	KVX_OPTIONAL(KVX_FIELD)
#undef KVX_FIELD
};

#endif
