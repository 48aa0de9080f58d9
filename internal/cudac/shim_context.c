// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

#include "context.h"

#include <stdlib.h>
#include <string.h>

int kvxcu_synchronize(const struct kvxcu_driver *d, uintptr_t ctx) { IN_CONTEXT(d->CtxSynchronize()); }

enum { TARGET_CURRENT_CONTEXT = 0, TO_OWNER = 100, NOT_SUPPORTED = 801 };

int kvxcu_flush_writes(const struct kvxcu_driver *d, uintptr_t ctx) {
	if (d->FlushGPUDirectRDMAWrites == NULL)
		return NOT_SUPPORTED;
	IN_CONTEXT(d->FlushGPUDirectRDMAWrites(TARGET_CURRENT_CONTEXT, TO_OWNER));
}

int kvxcu_mem_info(const struct kvxcu_driver *d, uintptr_t ctx, uint64_t *unused, uint64_t *total) {
	size_t *f = (size_t *)unused, *t = (size_t *)total;
	IN_CONTEXT(d->MemGetInfo_v2(f, t));
}

int kvxcu_alloc(const struct kvxcu_driver *d, uintptr_t ctx, size_t n, uint64_t *address) {
	IN_CONTEXT(d->MemAlloc_v2(address, n));
}

int kvxcu_free(const struct kvxcu_driver *d, uintptr_t ctx, uint64_t address) { IN_CONTEXT(d->MemFree_v2(address)); }

int kvxcu_alloc_host(const struct kvxcu_driver *d, uintptr_t ctx, size_t n, unsigned flags, uint64_t *address) {
	IN_CONTEXT(d->MemHostAlloc((void **)address, n, flags));
}

int kvxcu_free_host(const struct kvxcu_driver *d, uintptr_t ctx, uint64_t address) {
	IN_CONTEXT(d->MemFreeHost(PTR(address)));
}

int kvxcu_register_host(const struct kvxcu_driver *d, uintptr_t ctx, uint64_t address, size_t n, unsigned flags) {
	IN_CONTEXT(d->MemHostRegister_v2(PTR(address), n, flags));
}

int kvxcu_unregister_host(const struct kvxcu_driver *d, uintptr_t ctx, uint64_t address) {
	IN_CONTEXT(d->MemHostUnregister(PTR(address)));
}

int kvxcu_pointer_attribute(const struct kvxcu_driver *d, uintptr_t ctx, int attribute, uint64_t address, uint64_t *value) {
	IN_CONTEXT(d->PointerGetAttribute(value, attribute, address));
}

int kvxcu_stream_create(const struct kvxcu_driver *d, uintptr_t ctx, unsigned flags, uintptr_t *stream) {
	IN_CONTEXT(d->StreamCreate((void **)stream, flags));
}

int kvxcu_stream_destroy(const struct kvxcu_driver *d, uintptr_t ctx, uintptr_t stream) {
	IN_CONTEXT(d->StreamDestroy_v2(PTR(stream)));
}

int kvxcu_stream_synchronize(const struct kvxcu_driver *d, uintptr_t ctx, uintptr_t stream) {
	IN_CONTEXT(d->StreamSynchronize(PTR(stream)));
}

int kvxcu_stream_wait(const struct kvxcu_driver *d, uintptr_t ctx, uintptr_t stream, uintptr_t event) {
	IN_CONTEXT(d->StreamWaitEvent(PTR(stream), PTR(event), 0));
}

int kvxcu_copy(const struct kvxcu_driver *d, uintptr_t ctx, uint64_t dst, uint64_t src, size_t n, uintptr_t stream) {
	IN_CONTEXT(d->MemcpyAsync(dst, src, n, PTR(stream)));
}

static int copy_batch(const struct kvxcu_driver *d, uint64_t *dst, uint64_t *src, size_t *len, size_t count,
		      uintptr_t stream) {
	struct kvxcu_copy_attributes in_order = {.source_order = 1};
	size_t first = 0, failed = 0;
	if (d->MemcpyBatchAsync_v2 != NULL)
		return d->MemcpyBatchAsync_v2(dst, src, len, count, &in_order, &first, 1, PTR(stream));
	if (d->MemcpyBatchAsync != NULL)
		return d->MemcpyBatchAsync(dst, src, len, count, &in_order, &first, 1, &failed, PTR(stream));
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = d->MemcpyAsync(dst[i], src[i], len[i], PTR(stream));
	return rc;
}

int kvxcu_copy_batch(const struct kvxcu_driver *d, uintptr_t ctx, uint64_t dst, uint64_t src, uint64_t len,
		   size_t count, uintptr_t stream) {
	IN_CONTEXT(copy_batch(d, PTR(dst), PTR(src), PTR(len), count, stream));
}

int kvxcu_set(const struct kvxcu_driver *d, uintptr_t ctx, uint64_t dst, unsigned char value, size_t n, uintptr_t stream) {
	IN_CONTEXT(d->MemsetD8Async(dst, value, n, PTR(stream)));
}

enum { JIT_ERROR_LOG = 5, JIT_ERROR_LOG_LEN = 6 };

int kvxcu_module_load(const struct kvxcu_driver *d, uintptr_t ctx, const char *image, char *log, size_t log_len,
		    uintptr_t *module) {
	int options[] = {JIT_ERROR_LOG, JIT_ERROR_LOG_LEN};
	void *values[] = {log, PTR(log_len)};
	IN_CONTEXT(d->ModuleLoadDataEx((void **)module, image, 2, options, values));
}

int kvxcu_module_unload(const struct kvxcu_driver *d, uintptr_t ctx, uintptr_t module) {
	IN_CONTEXT(d->ModuleUnload(PTR(module)));
}

int kvxcu_function(const struct kvxcu_driver *d, uintptr_t ctx, uintptr_t module, const char *name, uintptr_t *function) {
	IN_CONTEXT(d->ModuleGetFunction((void **)function, PTR(module), name));
}

enum { INVALID_VALUE = 1, PARAM_END = 0, PARAM_BUFFER = 1, PARAM_BUFFER_LEN = 2, PARAM_MAX = 4096 };

int kvxcu_launch(const struct kvxcu_driver *d, uintptr_t ctx, uintptr_t function, const unsigned *grid,
	       const unsigned *block, unsigned shared, uintptr_t stream, const void *params, size_t len) {
	char copy[PARAM_MAX] __attribute__((aligned(16)));
	if (len > sizeof(copy))
		return INVALID_VALUE;
	memcpy(copy, params, len);
	void *extra[] = {PTR(PARAM_BUFFER), copy, PTR(PARAM_BUFFER_LEN), &len, PTR(PARAM_END)};
	IN_CONTEXT(d->LaunchKernel(PTR(function), grid[0], grid[1], grid[2], block[0], block[1], block[2], shared,
				   PTR(stream), NULL, extra));
}
