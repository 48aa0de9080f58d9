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

_Static_assert(sizeof(struct kvxcu_driver) == sizeof(names), "one field a symbol");

size_t kvxcu_symbol_count(void) { return REQUIRED; }

size_t kvxcu_optional_count(void) { return OPTIONAL; }

const char *kvxcu_symbol_name(size_t i) { return names[i]; }

void kvxcu_set_symbol(struct kvxcu_driver *d, size_t i, void *address) {
	memcpy((char *)d + i * sizeof(void *), &address, sizeof(address));
}

int kvxcu_driver_version(void *symbol, int *version) { return ((int (*)(int *))symbol)(version); }

int kvxcu_init(const struct kvxcu_driver *d) { return d->Init(0); }

const char *kvxcu_error_name(const struct kvxcu_driver *d, int result) {
	const char *text = NULL;
	return d->GetErrorName(result, &text) == 0 && text != NULL ? text : "";
}

const char *kvxcu_error_text(const struct kvxcu_driver *d, int result) {
	const char *text = NULL;
	return d->GetErrorString(result, &text) == 0 && text != NULL ? text : "";
}

int kvxcu_device_count(const struct kvxcu_driver *d, int *n) { return d->DeviceGetCount(n); }

int kvxcu_device(const struct kvxcu_driver *d, int ordinal, int *device) { return d->DeviceGet(device, ordinal); }

int kvxcu_device_name(const struct kvxcu_driver *d, int device, char *text, int len) {
	return d->DeviceGetName(text, len, device);
}

int kvxcu_device_pci(const struct kvxcu_driver *d, int device, char *text, int len) {
	return d->DeviceGetPCIBusId(text, len, device);
}

// The later version tells a MIG slice from the whole device.
int kvxcu_device_uuid(const struct kvxcu_driver *d, int device, unsigned char *uuid) {
	return d->DeviceGetUuid_v2 != NULL ? d->DeviceGetUuid_v2(uuid, device) : d->DeviceGetUuid(uuid, device);
}

int kvxcu_device_memory(const struct kvxcu_driver *d, int device, uint64_t *bytes) {
	size_t n = 0;
	int rc = d->DeviceTotalMem_v2(&n, device);
	*bytes = n;
	return rc;
}

int kvxcu_device_attribute(const struct kvxcu_driver *d, int device, int attribute, int *value) {
	return d->DeviceGetAttribute(value, attribute, device);
}

int kvxcu_device_peer(const struct kvxcu_driver *d, int device, int peer, int *can) {
	return d->DeviceCanAccessPeer(can, device, peer);
}

int kvxcu_retain(const struct kvxcu_driver *d, int device, uintptr_t *ctx) {
	return d->DevicePrimaryCtxRetain((void **)ctx, device);
}

int kvxcu_release(const struct kvxcu_driver *d, int device) { return d->DevicePrimaryCtxRelease_v2(device); }
