// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// What Go calls. Each function does one whole job in one crossing. A CUDA
// context is current per thread, and a goroutine may change threads between
// two calls: therefore each function here makes its context current, works,
// and gives the thread back as it found it. Handles cross as integers, because
// they are no memory that Go knows.

#ifndef KVX_CUDA_SHIM_H
#define KVX_CUDA_SHIM_H

#include "abi.h"

size_t kvx_symbol_count(void);
size_t kvx_optional_count(void);
const char *kvx_symbol_name(size_t i); // optional ones follow the others
void kvx_set_symbol(struct kvx_cuda *d, size_t i, void *address);
int kvx_driver_version(void *symbol, int *version);

int kvx_init(const struct kvx_cuda *d);
const char *kvx_error_name(const struct kvx_cuda *d, int result);
const char *kvx_error_text(const struct kvx_cuda *d, int result);
int kvx_device_count(const struct kvx_cuda *d, int *n);
int kvx_device(const struct kvx_cuda *d, int ordinal, int *device);
int kvx_device_name(const struct kvx_cuda *d, int device, char *text, int len);
int kvx_device_pci(const struct kvx_cuda *d, int device, char *text, int len);
int kvx_device_uuid(const struct kvx_cuda *d, int device, unsigned char *uuid);
int kvx_device_memory(const struct kvx_cuda *d, int device, uint64_t *bytes);
int kvx_device_attribute(const struct kvx_cuda *d, int device, int attribute, int *value);
int kvx_device_peer(const struct kvx_cuda *d, int device, int peer, int *can);
int kvx_retain(const struct kvx_cuda *d, int device, uintptr_t *ctx);
int kvx_release(const struct kvx_cuda *d, int device);

int kvx_synchronize(const struct kvx_cuda *d, uintptr_t ctx);
int kvx_flush_writes(const struct kvx_cuda *d, uintptr_t ctx);
int kvx_mem_info(const struct kvx_cuda *d, uintptr_t ctx, uint64_t *unused, uint64_t *total);
int kvx_alloc(const struct kvx_cuda *d, uintptr_t ctx, size_t n, uint64_t *address);
int kvx_free(const struct kvx_cuda *d, uintptr_t ctx, uint64_t address);
int kvx_alloc_host(const struct kvx_cuda *d, uintptr_t ctx, size_t n, unsigned flags, uint64_t *address);
int kvx_free_host(const struct kvx_cuda *d, uintptr_t ctx, uint64_t address);
int kvx_register_host(const struct kvx_cuda *d, uintptr_t ctx, uint64_t address, size_t n, unsigned flags);
int kvx_unregister_host(const struct kvx_cuda *d, uintptr_t ctx, uint64_t address);
int kvx_pointer_attribute(const struct kvx_cuda *d, uintptr_t ctx, int attribute, uint64_t address, uint64_t *value);

int kvx_stream_create(const struct kvx_cuda *d, uintptr_t ctx, unsigned flags, uintptr_t *stream);
int kvx_stream_destroy(const struct kvx_cuda *d, uintptr_t ctx, uintptr_t stream);
int kvx_stream_synchronize(const struct kvx_cuda *d, uintptr_t ctx, uintptr_t stream);
int kvx_stream_wait(const struct kvx_cuda *d, uintptr_t ctx, uintptr_t stream, uintptr_t event);
int kvx_copy(const struct kvx_cuda *d, uintptr_t ctx, uint64_t dst, uint64_t src, size_t n, uintptr_t stream);
// kvx_copy_batch reads three arrays of count entries each at these addresses.
// Without a batch call in the driver it makes one call an entry and stops at
// the first that fails.
int kvx_copy_batch(const struct kvx_cuda *d, uintptr_t ctx, uint64_t dst, uint64_t src, uint64_t len,
		   size_t count, uintptr_t stream);
int kvx_set(const struct kvx_cuda *d, uintptr_t ctx, uint64_t dst, unsigned char value, size_t n, uintptr_t stream);
int kvx_module_load(const struct kvx_cuda *d, uintptr_t ctx, const char *image, char *log, size_t log_len,
		    uintptr_t *module);
int kvx_module_unload(const struct kvx_cuda *d, uintptr_t ctx, uintptr_t module);
int kvx_function(const struct kvx_cuda *d, uintptr_t ctx, uintptr_t module, const char *name, uintptr_t *function);
// kvx_launch copies the parameters before the driver sees them.
int kvx_launch(const struct kvx_cuda *d, uintptr_t ctx, uintptr_t function, const unsigned *grid,
	       const unsigned *block, unsigned shared, uintptr_t stream, const void *params, size_t len);

int kvx_event_create(const struct kvx_cuda *d, uintptr_t ctx, unsigned flags, uintptr_t *event);
int kvx_event_destroy(const struct kvx_cuda *d, uintptr_t ctx, uintptr_t event);
int kvx_event_record(const struct kvx_cuda *d, uintptr_t ctx, uintptr_t event, uintptr_t stream);
int kvx_event_synchronize(const struct kvx_cuda *d, uintptr_t ctx, uintptr_t event);
int kvx_event_elapsed(const struct kvx_cuda *d, uintptr_t ctx, uintptr_t from, uintptr_t to, float *ms);
// kvx_event_query asks for count events. Where the context cannot be made
// current, every answer is the reason.
void kvx_event_query(const struct kvx_cuda *d, uintptr_t ctx, const uintptr_t *events, int32_t *results,
		     size_t count);

// A signal lives in C memory: the driver's threads write to it.
struct kvx_signal;
struct kvx_signal *kvx_signal_new(void);
int kvx_signal_fd(const struct kvx_signal *s);
uint64_t kvx_signal_count(const struct kvx_signal *s);
void kvx_signal_free(struct kvx_signal *s);
int kvx_launch_signal(const struct kvx_cuda *d, uintptr_t ctx, uintptr_t stream, struct kvx_signal *s);

#endif
