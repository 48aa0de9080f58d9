// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "context.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

int kvxcu_event_create(const struct kvxcu_driver *d, uintptr_t ctx, unsigned flags, uintptr_t *event) {
	IN_CONTEXT(d->EventCreate((void **)event, flags));
}

int kvxcu_event_destroy(const struct kvxcu_driver *d, uintptr_t ctx, uintptr_t event) {
	IN_CONTEXT(d->EventDestroy_v2(PTR(event)));
}

int kvxcu_event_record(const struct kvxcu_driver *d, uintptr_t ctx, uintptr_t event, uintptr_t stream) {
	IN_CONTEXT(d->EventRecord(PTR(event), PTR(stream)));
}

int kvxcu_event_synchronize(const struct kvxcu_driver *d, uintptr_t ctx, uintptr_t event) {
	IN_CONTEXT(d->EventSynchronize(PTR(event)));
}

int kvxcu_event_elapsed(const struct kvxcu_driver *d, uintptr_t ctx, uintptr_t from, uintptr_t to, float *ms) {
	IN_CONTEXT(d->EventElapsedTime(ms, PTR(from), PTR(to)));
}

void kvxcu_event_query(const struct kvxcu_driver *d, uintptr_t ctx, const uintptr_t *events, int32_t *results,
		     size_t count) {
	int rc = d->CtxPushCurrent_v2(PTR(ctx));
	for (size_t i = 0; i < count; i++)
		results[i] = rc != 0 ? rc : d->EventQuery(PTR(events[i]));
	void *popped;
	if (rc == 0)
		d->CtxPopCurrent_v2(&popped);
}

struct kvxcu_signal {
	_Atomic uint64_t count;
	int fd;
};

struct kvxcu_signal *kvxcu_signal_new(void) {
	struct kvxcu_signal *s = calloc(1, sizeof(*s));
	if (s == NULL)
		return NULL;
	s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->fd >= 0)
		return s;
	free(s);
	return NULL;
}

int kvxcu_signal_fd(const struct kvxcu_signal *s) { return s->fd; }

uint64_t kvxcu_signal_count(const struct kvxcu_signal *s) { return atomic_load(&s->count); }

// The descriptor belongs to Go by then.
void kvxcu_signal_free(struct kvxcu_signal *s) { free(s); }

// Runs on a thread of the driver, where no CUDA function may be called. The
// count comes last: once it is right, nobody touches the signal any more.
static void raise_signal(void *data) {
	struct kvxcu_signal *s = data;
	uint64_t one = 1;
	ssize_t written = write(s->fd, &one, sizeof(one));
	(void)written; // a full counter has woken the reader already
	atomic_fetch_add(&s->count, 1);
}

int kvxcu_launch_signal(const struct kvxcu_driver *d, uintptr_t ctx, uintptr_t stream, struct kvxcu_signal *s) {
	IN_CONTEXT(d->LaunchHostFunc(PTR(stream), raise_signal, s));
}
