// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// A library with NIXL's symbols, for answers that the real one cannot be
// brought to and for machines where it is not. It has two kinds of peers.
//
// A scripted peer answers what its name says, and moves nothing:
//
//     post=-2,0;status=1,1,0;release=-1
//
// Each call takes the next number of its list and then repeats the last; a
// call without a list answers 0. Its metadata is just its name.
//
// Another agent of the same process is a real peer. Bytes move when the target
// makes progress, or at once when it has a progress thread; a release cancels
// nothing; an error leaves bytes that land later; the end of an agent ends what
// it posted. That is what NIXL was measured to do.
//
// A test speaks to the fake itself by a notification to the peer "fake": "break"
// breaks every connection, "live" answers the number of objects alive, and one
// of destroy=N, deregister=N, invalidate=N and notifs=N orders what the next such
// call answers.
//
// Every call about a scripted request is noted, and the notes come back as
// notifications: that is how a test sees what never reached the library.
// FAKE_OLD leaves out what came with 1.5, FAKE_PARTIAL a symbol.

#ifndef FAKE_H
#define FAKE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API(name) int nixl_capi_##name

enum { OK, IN_PROGRESS, BAD_PARAM = -1, BACKEND = -2, BAD_STATE = -3, NO_TELEMETRY = -5, NOT_FOUND = -6 };

struct desc {
	uint64_t addr, len, dev;
	const char *agent; // of remote lists
};

struct list {
	int mem;
	size_t n, cap;
	struct desc *d;
	char blob[64]; // of the last one
};

struct backend {
	struct backend *inner;
	char plugin[16];
};

struct note {
	char from[256];
	size_t len;
	char *data;
	struct note *next;
};

struct remote { // metadata of a peer
	char name[256];
	uint64_t generation; // 0: scripted
	struct list memory;
	struct remote *next;
};

struct agent {
	void *inner;
	char name[256];
	uint64_t generation;
	bool progresses, telemetry;
	struct list memory;
	struct remote *remotes;
	struct note *inbox;
	struct agent *next;
};

struct op { // what was posted; it outlives its handle
	struct agent *from;
	uint64_t to; // generation of the target
	bool write, moved, broken;
	struct list local, remote;
	char *note;
	size_t note_len;
	int status;
	bool orphan; // its handle was released
	struct op *next;
};

struct request {
	void *inner; // NULL once released
	char peer[256];
	uint64_t generation;
	int posts, statuses, releases;
	int op;
	struct list local, remote;
	char *note;
	size_t note_len;
	struct op *active;
	struct backend *backend;
};

struct options {
	void *inner;
	struct backend *backend;
	char *note;
	size_t note_len;
	bool has_note;
};

struct prepared {
	void *inner;
	char peer[256];
	struct list list;
};

extern struct agent *agents;
extern struct op *ops;

// LOCKED holds the one lock of the library until the function ends.
void fake_lock(void);
void fake_unlock(const int *unused);
#define LOCKED                                                                                 \
	fake_lock();                                                                           \
	__attribute__((cleanup(fake_unlock))) const int unlock = 0;                            \
	(void)unlock

// Objects are counted, so that a test sees what was not given back.
void *fake_new(size_t size);
int fake_delete(void *p);
int fake_live(void);

int fake_answer(const char *script, const char *key, int n);
bool fake_scripted(const char *name);
void fake_note(const char *what);
void fake_order(const char *what, size_t len);
int fake_ordered(const char *key);

bool fake_covers(const struct list *have, int mem, const struct list *want);
void fake_copy_list(struct list *to, const struct list *from);
void fake_add(struct list *l, struct desc d);
struct remote *fake_remote(struct agent *a, const char *name);
struct agent *fake_agent(uint64_t generation);
void fake_deliver(struct agent *to, const char *from, const void *data, size_t len);

// fake_progress moves what is in flight towards an agent.
void fake_progress(struct agent *a);
void fake_break(void);
void fake_end_ops(struct agent *a);

#endif
