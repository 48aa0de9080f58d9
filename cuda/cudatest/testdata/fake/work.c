// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

#include "fake.h"

struct stream *streams;

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

int step(int n) {
	int done = 0, moved = 1;
	while (moved && done < n) {
		moved = 0;
		for (struct stream *s = streams; s != NULL && done < n; s = s->next)
			if (perform(s))
				moved = 1, done++;
	}
	return done;
}

void *work_on(void *unused) {
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

int enqueue(void *stream, struct work w) {
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
