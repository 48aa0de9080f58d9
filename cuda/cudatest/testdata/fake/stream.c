// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

#include "fake.h"

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

int wait_for(struct stream *s, struct event *e) {
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
