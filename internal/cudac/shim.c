// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

#include "shim.h"

#include <string.h>

static const char *const names[] = {
#define KVX_NAME(name, args) "cu" #name,
	KVX_SYMBOLS(KVX_NAME) KVX_OPTIONAL(KVX_NAME)
#undef KVX_NAME
};

#define KVX_ONE(name, args) +1
enum { REQUIRED = 0 KVX_SYMBOLS(KVX_ONE), OPTIONAL = 0 KVX_OPTIONAL(KVX_ONE) };

_Static_assert(sizeof(struct kvx_cuda) == sizeof(names), "one field a symbol");

size_t kvx_symbol_count(void) { return REQUIRED; }

size_t kvx_optional_count(void) { return OPTIONAL; }

const char *kvx_symbol_name(size_t i) { return names[i]; }

void kvx_set_symbol(struct kvx_cuda *d, size_t i, void *address) {
	memcpy((char *)d + i * sizeof(void *), &address, sizeof(address));
}

int kvx_driver_version(void *symbol, int *version) { return ((int (*)(int *))symbol)(version); }

int kvx_init(const struct kvx_cuda *d) { return d->Init(0); }

const char *kvx_error_name(const struct kvx_cuda *d, int result) {
	const char *text = NULL;
	return d->GetErrorName(result, &text) == 0 && text != NULL ? text : "";
}

const char *kvx_error_text(const struct kvx_cuda *d, int result) {
	const char *text = NULL;
	return d->GetErrorString(result, &text) == 0 && text != NULL ? text : "";
}

int kvx_device_count(const struct kvx_cuda *d, int *n) { return d->DeviceGetCount(n); }

int kvx_device(const struct kvx_cuda *d, int ordinal, int *device) { return d->DeviceGet(device, ordinal); }

int kvx_device_name(const struct kvx_cuda *d, int device, char *text, int len) {
	return d->DeviceGetName(text, len, device);
}

int kvx_device_pci(const struct kvx_cuda *d, int device, char *text, int len) {
	return d->DeviceGetPCIBusId(text, len, device);
}

// The later version tells a MIG slice from the whole device.
int kvx_device_uuid(const struct kvx_cuda *d, int device, unsigned char *uuid) {
	return d->DeviceGetUuid_v2 != NULL ? d->DeviceGetUuid_v2(uuid, device) : d->DeviceGetUuid(uuid, device);
}

int kvx_device_memory(const struct kvx_cuda *d, int device, uint64_t *bytes) {
	size_t n = 0;
	int rc = d->DeviceTotalMem_v2(&n, device);
	*bytes = n;
	return rc;
}

int kvx_device_attribute(const struct kvx_cuda *d, int device, int attribute, int *value) {
	return d->DeviceGetAttribute(value, attribute, device);
}

int kvx_device_peer(const struct kvx_cuda *d, int device, int peer, int *can) {
	return d->DeviceCanAccessPeer(can, device, peer);
}

int kvx_retain(const struct kvx_cuda *d, int device, uintptr_t *ctx) {
	return d->DevicePrimaryCtxRetain((void **)ctx, device);
}

int kvx_release(const struct kvx_cuda *d, int device) { return d->DevicePrimaryCtxRelease_v2(device); }
