// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// A driver without a device: what package cuda calls, with device memory that
// is the host's, streams that are queues, and work that is done when the test
// says so. It is as strict as the driver where that shows mistakes: a call
// without a current context, a handle of another context, and work on memory
// that is gone are errors, the last one for good.
//
// FAKE_VERSION      what cuDriverGetVersion says (default 12080)
// FAKE_NO_BATCH     no cuMemcpyBatchAsync
// FAKE_BATCH_V2     the batch call of CUDA 13, which has one argument less
// FAKE_NO_UUID_V2   no cuDeviceGetUuid_v2
// FAKE_MISSING      one required symbol is not exported
// FAKE_KERNEL_FILE  a .cu file to run as the only kernel, kvx_copy

#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef FAKE_VERSION
#define FAKE_VERSION 12080
#endif

#define API __attribute__((visibility("default")))

enum {
	OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101,
	INVALID_IMAGE = 200, INVALID_CONTEXT = 201, INVALID_PTX = 218, INVALID_HANDLE = 400, NOT_FOUND = 500,
	NOT_READY = 600, ILLEGAL_ADDRESS = 700, HOST_REGISTERED = 712
};
enum { MAX_DEVICES = 8, MAX_RANGES = 4096, MAX_RULES = 16, LOG_LEN = 1 << 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static struct {
	int devices;
	int initialised;
	int mode; // 0: work is done when it is given; 1: by steps; 2: by a thread
	int worker;
	size_t capacity; // bytes that can be allocated
	size_t used;
	int same_address; // of registered memory, on both sides
} fake = {.devices = 2, .capacity = 1 << 30, .same_address = 1};

// A rule makes a call fail: after skip calls, count times.
static struct rule {
	char call[48];
	int code, skip, count;
} rules[MAX_RULES];

static int armed; // rules with a count
static char calls[LOG_LEN];
static size_t logged;

// note logs a call and says how it has to fail, 0 for not.
static int note(const char *call) {
	size_t len = strlen(call);
	if (logged + len + 2 < LOG_LEN) {
		memcpy(calls + logged, call, len);
		logged += len;
		calls[logged++] = ' ';
	}
	for (int i = 0; armed > 0 && i < MAX_RULES; i++) {
		struct rule *r = &rules[i];
		if (r->count == 0 || strcmp(r->call, call) != 0)
			continue;
		if (r->skip > 0) {
			r->skip--;
			continue;
		}
		if (--r->count == 0)
			armed--;
		return r->code;
	}
	return OK;
}

struct context {
	int device;
	int users;
	int sticky; // what every call answers from now on
};
static struct context contexts[MAX_DEVICES];
static __thread struct context *stack[16];
static __thread int depth;

static struct context *current(void) { return depth > 0 ? stack[depth - 1] : NULL; }

// ENTER begins a call that needs a context; rc is what a rule says.
#define ENTER(name) \
	pthread_mutex_lock(&lock); \
	int rc = note(name); \
	if (rc == OK && current() == NULL) \
		rc = INVALID_CONTEXT; \
	if (rc == OK && current()->sticky != OK) \
		rc = current()->sticky

#define LEAVE \
	pthread_mutex_unlock(&lock); \
	return rc

// --- memory

static struct range {
	char *at;
	size_t len;
	int device; // -1: host
	int registered;
} ranges[MAX_RANGES];

static struct range *range_of(uint64_t address, size_t len) {
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

// --- streams and events

struct event {
	struct context *ctx;
	uint64_t recorded, done; // numbers of records
};

enum kind { COPY, SET, KERNEL, RECORD, WAIT, HOST };

struct work {
	enum kind kind;
	uint64_t dst, src;
	size_t len;
	unsigned char value;
	unsigned grid, block;
	struct event *event;
	uint64_t number; // of the record
	void (*fn)(void *);
	struct work *next;
};

struct stream {
	struct context *ctx;
	struct work *first, **last;
	struct stream *next;
};
static struct stream *streams;

#ifdef FAKE_KERNEL_FILE
struct fake_dim {
	unsigned x, y, z;
};
static struct fake_dim blockIdx, threadIdx, gridDim, blockDim;
typedef struct __attribute__((aligned(16))) {
	unsigned x, y, z, w;
} uint4;
#define __global__
#define __device__
#include FAKE_KERNEL_FILE

// Blocks and threads one after the other: right for a kernel whose threads do
// not wait for each other.
static void run_kernel(struct work *w) {
	gridDim = (struct fake_dim){w->grid, 1, 1};
	blockDim = (struct fake_dim){w->block, 1, 1};
	for (blockIdx.x = 0; blockIdx.x < w->grid; blockIdx.x++)
		for (threadIdx.x = 0; threadIdx.x < w->block; threadIdx.x++)
			kvx_copy((const unsigned long long *)w->src, (unsigned)w->len);
}

static int kernel_in_bounds(struct work *w) {
	uint64_t n = w->len, *table = (uint64_t *)w->src;
	if (range_of(w->src, 24 * n) == NULL)
		return 0;
	for (uint64_t i = 0; i < n; i++)
		if (range_of(table[i], table[2 * n + i]) == NULL || range_of(table[n + i], table[2 * n + i]) == NULL)
			return 0;
	return 1;
}
#else
static void run_kernel(struct work *w) { (void)w; }
static int kernel_in_bounds(struct work *w) { (void)w; return 1; }
#endif

// in_bounds looks at what work touches: a device would fault on it.
static int in_bounds(struct work *w) {
	switch (w->kind) {
	case COPY: return range_of(w->dst, w->len) != NULL && range_of(w->src, w->len) != NULL;
	case SET: return range_of(w->dst, w->len) != NULL;
	case KERNEL: return kernel_in_bounds(w);
	default: return 1;
	}
}

// perform does the first work of a stream; 0 where there is none, or it waits.
static int perform(struct stream *s) {
	struct work *w = s->first;
	if (w == NULL || s->ctx->sticky != OK)
		return 0;
	if (w->kind == WAIT && w->event->done < w->number)
		return 0;
	if (!in_bounds(w)) {
		s->ctx->sticky = ILLEGAL_ADDRESS;
		return 1;
	}
	switch (w->kind) {
	case COPY: memmove((void *)w->dst, (void *)w->src, w->len); break;
	case SET: memset((void *)w->dst, w->value, w->len); break;
	case KERNEL: run_kernel(w); break;
	case RECORD: w->event->done = w->number; break;
	case HOST: w->fn((void *)w->src); break;
	case WAIT: break;
	}
	s->first = w->next;
	if (s->first == NULL)
		s->last = &s->first;
	free(w);
	pthread_cond_broadcast(&changed);
	return 1;
}

// step does up to n pieces of work, stream by stream in turn.
static int step(int n) {
	int done = 0, moved = 1;
	while (moved && done < n) {
		moved = 0;
		for (struct stream *s = streams; s != NULL && done < n; s = s->next)
			if (perform(s))
				moved = 1, done++;
	}
	return done;
}

static void *work_on(void *unused) {
	(void)unused;
	pthread_mutex_lock(&lock);
	for (;;) {
		if (fake.mode != 2 || step(1) == 0)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock); // let somebody look in between
		pthread_mutex_lock(&lock);
	}
	return NULL;
}

static int enqueue(void *stream, struct work w) {
	struct stream *s = stream;
	if (s == NULL || s->ctx != current())
		return INVALID_HANDLE;
	struct work *copy = malloc(sizeof(w));
	if (copy == NULL)
		return OUT_OF_MEMORY;
	*copy = w;
	copy->next = NULL;
	*s->last = copy;
	s->last = &copy->next;
	if (fake.mode == 0)
		step(1 << 30);
	pthread_cond_broadcast(&changed);
	return OK;
}

// --- the driver

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

API int cuStreamCreate(void **out, unsigned flags) {
	(void)flags;
	ENTER("cuStreamCreate");
	if (rc == OK) {
		struct stream *s = calloc(1, sizeof(*s));
		s->ctx = current();
		s->last = &s->first;
		s->next = streams;
		streams = s;
		*out = s;
	}
	LEAVE;
}

API int cuStreamDestroy_v2(void *stream) {
	ENTER("cuStreamDestroy");
	if (rc == OK && ((struct stream *)stream)->ctx != current())
		rc = INVALID_HANDLE;
	LEAVE; // it stays in the list until its work is done, as a real one
}

// wait_for waits until a stream is empty, or an event done.
static int wait_for(struct stream *s, struct event *e) {
	struct context *c = current();
	while (c->sticky == OK && (s != NULL ? s->first != NULL : e->done < e->recorded)) {
		if (fake.mode != 2 && step(1) == 0)
			return NOT_READY; // a real one would hang
		if (fake.mode == 2)
			pthread_cond_wait(&changed, &lock);
	}
	return c->sticky;
}

API int cuStreamSynchronize(void *stream) {
	ENTER("cuStreamSynchronize");
	if (rc == OK)
		rc = wait_for(stream, NULL);
	LEAVE;
}

API int cuCtxSynchronize(void) {
	ENTER("cuCtxSynchronize");
	for (struct stream *s = streams; rc == OK && s != NULL; s = s->next)
		if (s->ctx == current())
			rc = wait_for(s, NULL);
	LEAVE;
}

API int cuMemcpyAsync(uint64_t dst, uint64_t src, size_t n, void *stream) {
	ENTER("cuMemcpyAsync");
	if (rc == OK)
		rc = enqueue(stream, (struct work){.kind = COPY, .dst = dst, .src = src, .len = n});
	LEAVE;
}

struct attributes {
	int order, hints[4];
	unsigned flags;
};

static int batch(uint64_t *dst, uint64_t *src, size_t *len, size_t n, struct attributes *attrs, size_t *first,
		 size_t attr_count, void *stream) {
	ENTER("cuMemcpyBatchAsync");
	if (rc == OK && (n == 0 || attr_count != 1 || *first != 0 || attrs->order != 1 || attrs->flags != 0))
		rc = INVALID_VALUE;
	for (size_t i = 0; rc == OK && i < n; i++)
		rc = enqueue(stream, (struct work){.kind = COPY, .dst = dst[i], .src = src[i], .len = len[i]});
	LEAVE;
}

#ifdef FAKE_BATCH_V2
API int cuMemcpyBatchAsync_v2(uint64_t *dst, uint64_t *src, size_t *len, size_t n, struct attributes *attrs,
			      size_t *first, size_t attr_count, void *stream) {
	return batch(dst, src, len, n, attrs, first, attr_count, stream);
}
#elif defined(FAKE_NO_BATCH)
void *fake_unused = (void *)batch;
#else
API int cuMemcpyBatchAsync(uint64_t *dst, uint64_t *src, size_t *len, size_t n, struct attributes *attrs,
			   size_t *first, size_t attr_count, size_t *failed, void *stream) {
	*failed = n;
	return batch(dst, src, len, n, attrs, first, attr_count, stream);
}
#endif

API int cuMemsetD8Async(uint64_t dst, unsigned char value, size_t n, void *stream) {
	ENTER("cuMemsetD8Async");
	if (rc == OK)
		rc = enqueue(stream, (struct work){.kind = SET, .dst = dst, .value = value, .len = n});
	LEAVE;
}

API int cuModuleLoadDataEx(void **module, const void *image, unsigned n, int *options, void **values) {
	ENTER("cuModuleLoadDataEx");
	if (rc == OK && strstr(image, ".version") == NULL)
		rc = INVALID_PTX;
	if (rc == INVALID_PTX && n == 2 && options[0] == 5)
		snprintf(values[0], (size_t)values[1], "ptxas error: no .version directive\n");
	if (rc == OK)
		*module = strdup(image);
	LEAVE;
}

API int cuModuleUnload(void *module) {
	ENTER("cuModuleUnload");
	if (rc == OK)
		free(module);
	LEAVE;
}

API int cuModuleGetFunction(void **function, void *module, const char *name) {
	ENTER("cuModuleGetFunction");
	char entry[128];
	snprintf(entry, sizeof(entry), ".entry %s(", name);
	if (rc == OK && strstr(module, entry) == NULL)
		rc = NOT_FOUND;
	*function = module;
	LEAVE;
}

API int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		       unsigned shared, void *stream, void **params, void **extra) {
	ENTER("cuLaunchKernel");
	if (rc == OK && (function == NULL || gx * gy * gz == 0 || bx * by * bz == 0 || bx > 1024 || shared != 0 ||
			 params != NULL || extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4] != NULL))
		rc = INVALID_VALUE;
	if (rc == OK && *(size_t *)extra[3] != 12)
		rc = INVALID_VALUE; // kvx_copy takes an address and a number of 32 bits
	if (rc == OK) {
		struct work w = {.kind = KERNEL, .grid = gx, .block = bx};
		uint32_t n;
		memcpy(&w.src, extra[1], 8);
		memcpy(&n, (char *)extra[1] + 8, 4);
		w.len = n;
		rc = enqueue(stream, w);
	}
	LEAVE;
}

API int cuLaunchHostFunc(void *stream, void (*fn)(void *), void *data) {
	ENTER("cuLaunchHostFunc");
	if (rc == OK)
		rc = enqueue(stream, (struct work){.kind = HOST, .fn = fn, .src = (uint64_t)data});
	LEAVE;
}

API int cuEventCreate(void **out, unsigned flags) {
	(void)flags;
	ENTER("cuEventCreate");
	if (rc == OK) {
		struct event *e = calloc(1, sizeof(*e));
		e->ctx = current();
		*out = e;
	}
	LEAVE;
}

API int cuEventDestroy_v2(void *event) {
	ENTER("cuEventDestroy");
	if (rc == OK)
		((struct event *)event)->ctx = NULL; // kept: work may name it
	LEAVE;
}

static int check_event(struct event *e) { return e == NULL || e->ctx == NULL ? INVALID_HANDLE : OK; }

API int cuEventRecord(void *event, void *stream) {
	struct event *e = event;
	ENTER("cuEventRecord");
	if (rc == OK)
		rc = e->ctx != current() ? INVALID_HANDLE : check_event(e);
	if (rc == OK)
		rc = enqueue(stream, (struct work){.kind = RECORD, .event = e, .number = ++e->recorded});
	LEAVE;
}

API int cuEventQuery(void *event) {
	struct event *e = event;
	ENTER("cuEventQuery");
	if (rc == OK)
		rc = check_event(e);
	if (rc == OK && e->done < e->recorded)
		rc = NOT_READY;
	LEAVE;
}

API int cuEventSynchronize(void *event) {
	ENTER("cuEventSynchronize");
	if (rc == OK)
		rc = check_event(event);
	if (rc == OK)
		rc = wait_for(NULL, event);
	LEAVE;
}

API int cuEventElapsedTime(float *ms, void *from, void *to) {
	ENTER("cuEventElapsedTime");
	struct event *a = from, *b = to;
	*ms = (float)(b->done - a->done) + 1.5f;
	LEAVE;
}

API int cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
	(void)flags;
	struct event *e = event;
	ENTER("cuStreamWaitEvent");
	if (rc == OK)
		rc = check_event(e);
	if (rc == OK)
		rc = enqueue(stream, (struct work){.kind = WAIT, .event = e, .number = e->recorded});
	LEAVE;
}

// --- what the test calls

// fake_fail makes a call fail with code: after skip calls, count times.
API void fake_fail(const char *call, long code, long skip, long count) {
	pthread_mutex_lock(&lock);
	for (int i = 0; i < MAX_RULES; i++)
		if (rules[i].count == 0) {
			struct rule *r = &rules[i];
			snprintf(r->call, sizeof(r->call), "%s", call);
			r->code = (int)code, r->skip = (int)skip, r->count = (int)count;
			armed++;
			break;
		}
	pthread_mutex_unlock(&lock);
}

API long fake_set(const char *what, long value) {
	pthread_mutex_lock(&lock);
	long rc = 0;
	if (strcmp(what, "devices") == 0)
		fake.devices = (int)value;
	else if (strcmp(what, "capacity") == 0)
		fake.capacity = (size_t)value;
	else if (strcmp(what, "same address") == 0)
		fake.same_address = (int)value;
	else if (strcmp(what, "sticky 0") == 0)
		contexts[0].sticky = (int)value;
	else if (strcmp(what, "sticky 1") == 0)
		contexts[1].sticky = (int)value;
	else if (strcmp(what, "step") == 0)
		rc = step((int)value);
	else if (strcmp(what, "mode") == 0) {
		fake.mode = (int)value;
		pthread_t t;
		if (value == 2 && !fake.worker && pthread_create(&t, NULL, work_on, NULL) == 0)
			fake.worker = pthread_detach(t) == 0;
		if (value == 0)
			step(1 << 30);
	} else if (strcmp(what, "in use") == 0)
		rc = (long)fake.used;
	else if (strcmp(what, "current") == 0)
		rc = depth;
	else
		rc = -1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return rc;
}

// fake_calls copies the log of calls and empties it.
API long fake_calls(char *out, long len) {
	pthread_mutex_lock(&lock);
	snprintf(out, (size_t)len, "%.*s", (int)logged, calls);
	logged = 0;
	pthread_mutex_unlock(&lock);
	return (long)strlen(out);
}
