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

size_t kvxcu_symbol_count(void);
size_t kvxcu_optional_count(void);
const char *kvxcu_symbol_name(size_t i); // optional ones follow the others
void kvxcu_set_symbol(struct kvxcu_driver *d, size_t i, void *address);
int kvxcu_driver_version(void *symbol, int *version);

int kvxcu_init(const struct kvxcu_driver *d);
const char *kvxcu_error_name(const struct kvxcu_driver *d, int result);
const char *kvxcu_error_text(const struct kvxcu_driver *d, int result);
int kvxcu_device_count(const struct kvxcu_driver *d, int *n);
int kvxcu_device(const struct kvxcu_driver *d, int ordinal, int *device);
int kvxcu_device_name(const struct kvxcu_driver *d, int device, char *text, int len);
int kvxcu_device_pci(const struct kvxcu_driver *d, int device, char *text, int len);
int kvxcu_device_uuid(const struct kvxcu_driver *d, int device, unsigned char *uuid);
int kvxcu_device_memory(const struct kvxcu_driver *d, int device, uint64_t *bytes);
int kvxcu_device_attribute(const struct kvxcu_driver *d, int device, int attribute, int *value);
int kvxcu_device_peer(const struct kvxcu_driver *d, int device, int peer, int *can);
int kvxcu_retain(const struct kvxcu_driver *d, int device, uintptr_t *ctx);
int kvxcu_release(const struct kvxcu_driver *d, int device);

int kvxcu_synchronize(const struct kvxcu_driver *d, uintptr_t ctx);
int kvxcu_flush_writes(const struct kvxcu_driver *d, uintptr_t ctx);
int kvxcu_mem_info(const struct kvxcu_driver *d, uintptr_t ctx, uint64_t *unused, uint64_t *total);
int kvxcu_alloc(const struct kvxcu_driver *d, uintptr_t ctx, size_t n, uint64_t *address);
int kvxcu_free(const struct kvxcu_driver *d, uintptr_t ctx, uint64_t address);
int kvxcu_alloc_host(const struct kvxcu_driver *d, uintptr_t ctx, size_t n, unsigned flags, uint64_t *address);
int kvxcu_free_host(const struct kvxcu_driver *d, uintptr_t ctx, uint64_t address);
int kvxcu_register_host(const struct kvxcu_driver *d, uintptr_t ctx, uint64_t address, size_t n, unsigned flags);
int kvxcu_unregister_host(const struct kvxcu_driver *d, uintptr_t ctx, uint64_t address);
int kvxcu_pointer_attribute(const struct kvxcu_driver *d, uintptr_t ctx, int attribute, uint64_t address, uint64_t *value);

int kvxcu_stream_create(const struct kvxcu_driver *d, uintptr_t ctx, unsigned flags, uintptr_t *stream);
int kvxcu_stream_destroy(const struct kvxcu_driver *d, uintptr_t ctx, uintptr_t stream);
int kvxcu_stream_synchronize(const struct kvxcu_driver *d, uintptr_t ctx, uintptr_t stream);
int kvxcu_stream_wait(const struct kvxcu_driver *d, uintptr_t ctx, uintptr_t stream, uintptr_t event);
int kvxcu_copy(const struct kvxcu_driver *d, uintptr_t ctx, uint64_t dst, uint64_t src, size_t n, uintptr_t stream);
// kvxcu_copy_batch reads three arrays of count entries each at these addresses.
// Without a batch call in the driver it makes one call an entry and stops at
// the first that fails.
int kvxcu_copy_batch(const struct kvxcu_driver *d, uintptr_t ctx, uint64_t dst, uint64_t src, uint64_t len,
		   size_t count, uintptr_t stream);
int kvxcu_set(const struct kvxcu_driver *d, uintptr_t ctx, uint64_t dst, unsigned char value, size_t n, uintptr_t stream);
int kvxcu_module_load(const struct kvxcu_driver *d, uintptr_t ctx, const char *image, char *log, size_t log_len,
		    uintptr_t *module);
int kvxcu_module_unload(const struct kvxcu_driver *d, uintptr_t ctx, uintptr_t module);
int kvxcu_function(const struct kvxcu_driver *d, uintptr_t ctx, uintptr_t module, const char *name, uintptr_t *function);
// kvxcu_launch copies the parameters before the driver sees them.
int kvxcu_launch(const struct kvxcu_driver *d, uintptr_t ctx, uintptr_t function, const unsigned *grid,
	       const unsigned *block, unsigned shared, uintptr_t stream, const void *params, size_t len);

int kvxcu_event_create(const struct kvxcu_driver *d, uintptr_t ctx, unsigned flags, uintptr_t *event);
int kvxcu_event_destroy(const struct kvxcu_driver *d, uintptr_t ctx, uintptr_t event);
int kvxcu_event_record(const struct kvxcu_driver *d, uintptr_t ctx, uintptr_t event, uintptr_t stream);
int kvxcu_event_synchronize(const struct kvxcu_driver *d, uintptr_t ctx, uintptr_t event);
int kvxcu_event_elapsed(const struct kvxcu_driver *d, uintptr_t ctx, uintptr_t from, uintptr_t to, float *ms);
// kvxcu_event_query asks for count events. Where the context cannot be made
// current, every answer is the reason.
void kvxcu_event_query(const struct kvxcu_driver *d, uintptr_t ctx, const uintptr_t *events, int32_t *results,
		     size_t count);

// A signal lives in C memory: the driver's threads write to it.
struct kvxcu_signal;
struct kvxcu_signal *kvxcu_signal_new(void);
int kvxcu_signal_fd(const struct kvxcu_signal *s);
uint64_t kvxcu_signal_count(const struct kvxcu_signal *s);
void kvxcu_signal_free(struct kvxcu_signal *s);
int kvxcu_launch_signal(const struct kvxcu_driver *d, uintptr_t ctx, uintptr_t stream, struct kvxcu_signal *s);

#endif
