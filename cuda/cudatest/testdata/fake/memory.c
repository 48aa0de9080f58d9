// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

#include "fake.h"

static struct range ranges[MAX_RANGES];

struct range *range_of(uint64_t address, size_t len) {
	for (int i = 0; i < MAX_RANGES; i++) {
		uint64_t at = (uint64_t)ranges[i].at;
		if (at != 0 && address >= at && address + len <= at + ranges[i].len)
			return &ranges[i];
	}
	return NULL;
}

static int add_range(void *at, size_t len, int device, int registered) {
	for (int i = 0; i < MAX_RANGES; i++)
		if (ranges[i].at == NULL) {
			ranges[i] = (struct range){at, len, device, registered};
			return OK;
		}
	return OUT_OF_MEMORY;
}

static int allocate(void **at, size_t len, int device) {
	if (len == 0)
		return INVALID_VALUE;
	if (fake.used + len > fake.capacity)
		return OUT_OF_MEMORY;
	*at = aligned_alloc(256, (len + 255) / 256 * 256);
	if (*at == NULL)
		return OUT_OF_MEMORY;
	memset(*at, 0xEE, len); // nobody may count on zeros
	fake.used += len;
	return add_range(*at, len, device, 0);
}

static int release(uint64_t address, int registered) {
	struct range *r = range_of(address, 0);
	if (r == NULL || (uint64_t)r->at != address || r->registered != registered)
		return INVALID_VALUE;
	if (!registered) {
		memset(r->at, 0xDD, r->len);
		free(r->at);
		fake.used -= r->len;
	}
	r->at = NULL;
	return OK;
}

API int cuMemGetInfo_v2(size_t *unused, size_t *total) {
	ENTER("cuMemGetInfo");
	*unused = fake.capacity - fake.used;
	*total = fake.capacity;
	LEAVE;
}

API int cuMemAlloc_v2(uint64_t *out, size_t n) {
	ENTER("cuMemAlloc");
	if (rc == OK)
		rc = allocate((void **)out, n, current()->device);
	LEAVE;
}

API int cuMemFree_v2(uint64_t address) {
	ENTER("cuMemFree");
	if (rc == OK)
		rc = release(address, 0);
	LEAVE;
}

API int cuMemHostAlloc(void **out, size_t n, unsigned flags) {
	(void)flags;
	ENTER("cuMemHostAlloc");
	if (rc == OK)
		rc = allocate(out, n, -1);
	LEAVE;
}

API int cuMemFreeHost(void *address) {
	ENTER("cuMemFreeHost");
	if (rc == OK)
		rc = release((uint64_t)address, 0);
	LEAVE;
}

API int cuMemHostRegister_v2(void *address, size_t n, unsigned flags) {
	(void)flags;
	ENTER("cuMemHostRegister");
	if (rc == OK)
		rc = range_of((uint64_t)address, n) != NULL ? HOST_REGISTERED : add_range(address, n, -1, 1);
	LEAVE;
}

API int cuMemHostUnregister(void *address) {
	ENTER("cuMemHostUnregister");
	if (rc == OK)
		rc = release((uint64_t)address, 1);
	LEAVE;
}

API int cuPointerGetAttribute(void *out, int attribute, uint64_t address) {
	ENTER("cuPointerGetAttribute");
	struct range *r = range_of(address, 1);
	if (rc == OK && r == NULL)
		rc = INVALID_VALUE;
	if (rc == OK && attribute == 1)
		*(void **)out = r->device < 0 ? NULL : &contexts[r->device];
	if (rc == OK && attribute == 2)
		*(unsigned *)out = r->device < 0 ? 1 : 2;
	LEAVE;
}

API int cuFlushGPUDirectRDMAWrites(int target, int scope) {
	(void)target, (void)scope;
	ENTER("cuFlushGPUDirectRDMAWrites");
	LEAVE;
}
