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

#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

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

// lock guards everything; changed tells of work that was given or done.
extern pthread_mutex_t lock;
extern pthread_cond_t changed;

struct fake {
	int devices;
	int initialised;
	int mode; // 0: work is done when it is given; 1: by steps; 2: by a thread
	int worker;
	size_t capacity; // bytes that can be allocated
	size_t used;
	int same_address; // of registered memory, on both sides
};
extern struct fake fake;

// note logs a call and says how it has to fail, OK for not.
int note(const char *call);

struct context {
	int device;
	int users;
	int sticky; // what every call answers from now on
};
extern struct context contexts[MAX_DEVICES];
struct context *current(void); // of this thread, NULL for none

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

struct range {
	char *at;
	size_t len;
	int device; // -1: host
	int registered;
};
// range_of finds the live memory that all of a range lies in, or NULL.
struct range *range_of(uint64_t address, size_t len);

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
extern struct stream *streams;

// step does up to n pieces of work, stream by stream in turn.
int step(int n);
// enqueue gives work to a stream of the current context.
int enqueue(void *stream, struct work w);
// wait_for waits until a stream is empty, or an event done.
int wait_for(struct stream *s, struct event *e);
// work_on is the thread of mode 2.
void *work_on(void *unused);

#endif
