// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

#include "fake.h"

struct context contexts[MAX_DEVICES];
static __thread struct context *stack[16];
static __thread int depth;

struct context *current(void) { return depth > 0 ? stack[depth - 1] : NULL; }

API int cuDriverGetVersion(int *version) {
	*version = FAKE_VERSION;
	return OK;
}

API int cuInit(unsigned flags) {
	(void)flags;
	pthread_mutex_lock(&lock);
	int rc = note("cuInit");
	if (rc == OK && fake.devices == 0)
		rc = NO_DEVICE;
	fake.initialised = rc == OK;
	LEAVE;
}

static const struct {
	int code;
	const char *name, *text;
} errors[] = {
	{OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	{NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
	{INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
	{ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
};

static int look_up(int code, const char **out, int text) {
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].code == code) {
			*out = text ? errors[i].text : errors[i].name;
			return OK;
		}
	*out = NULL;
	return INVALID_VALUE;
}

API int cuGetErrorName(int code, const char **out) { return look_up(code, out, 0); }

API int cuGetErrorString(int code, const char **out) { return look_up(code, out, 1); }

// DEVICE begins a call about a device.
#define DEVICE(name) \
	pthread_mutex_lock(&lock); \
	int rc = note(name); \
	if (rc == OK && !fake.initialised) \
		rc = NOT_INITIALIZED; \
	if (rc == OK && (device < 0 || device >= fake.devices)) \
		rc = INVALID_DEVICE; \
	if (rc != OK) { \
		LEAVE; \
	}

API int cuDeviceGetCount(int *n) {
	pthread_mutex_lock(&lock);
	int rc = note("cuDeviceGetCount");
	*n = fake.devices;
	LEAVE;
}

API int cuDeviceGet(int *out, int device) {
	DEVICE("cuDeviceGet")
	*out = device;
	LEAVE;
}

API int cuDeviceGetName(char *text, int len, int device) {
	DEVICE("cuDeviceGetName")
	snprintf(text, len, "Fake GPU %d", device);
	LEAVE;
}

API int cuDeviceGetPCIBusId(char *text, int len, int device) {
	DEVICE("cuDeviceGetPCIBusId")
	snprintf(text, len, "0000:%02x:00.0", 0x1b + device);
	LEAVE;
}

static int uuid(const char *name, unsigned char *out, int device, int version) {
	DEVICE(name)
	for (int i = 0; i < 16; i++)
		out[i] = (unsigned char)(16 * device + i);
	out[0] = (unsigned char)version;
	LEAVE;
}

API int cuDeviceGetUuid(unsigned char *out, int device) { return uuid("cuDeviceGetUuid", out, device, 1); }

#ifndef FAKE_NO_UUID_V2
API int cuDeviceGetUuid_v2(unsigned char *out, int device) { return uuid("cuDeviceGetUuid_v2", out, device, 2); }
#endif

API int cuDeviceTotalMem_v2(size_t *bytes, int device) {
	DEVICE("cuDeviceTotalMem")
	*bytes = fake.capacity;
	LEAVE;
}

API int cuDeviceGetAttribute(int *value, int attribute, int device) {
	DEVICE("cuDeviceGetAttribute")
	switch (attribute) {
	case 16: *value = 4; break; // multiprocessors
	case 75: *value = 9; break; // capability
	case 41: *value = 1; break; // unified addressing
	case 91: *value = fake.same_address; break;
	default: *value = 0;
	}
	LEAVE;
}

API int cuDeviceCanAccessPeer(int *can, int device, int peer) {
	DEVICE("cuDeviceCanAccessPeer")
	*can = device != peer;
	LEAVE;
}

API int cuDevicePrimaryCtxRetain(void **ctx, int device) {
	DEVICE("cuDevicePrimaryCtxRetain")
	contexts[device].device = device;
	contexts[device].users++;
	*ctx = &contexts[device];
	LEAVE;
}

API int cuDevicePrimaryCtxRelease_v2(int device) {
	DEVICE("cuDevicePrimaryCtxRelease")
	if (contexts[device].users-- <= 0)
		rc = INVALID_CONTEXT;
	LEAVE;
}

API int cuCtxPushCurrent_v2(void *ctx) {
	struct context *c = ctx;
	if (c == NULL || c->users == 0 || depth == 16)
		return INVALID_CONTEXT;
	stack[depth++] = c;
	return OK;
}

#ifndef FAKE_MISSING
API int cuCtxPopCurrent_v2(void **ctx) {
	if (depth == 0)
		return INVALID_CONTEXT;
	*ctx = stack[--depth];
	return OK;
}
#endif
