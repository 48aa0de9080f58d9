// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

#include "fake.h"

struct agent *agents;
static uint64_t generations;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int live;

void fake_lock(void) { pthread_mutex_lock(&lock); }
void fake_unlock(const int *unused) {
	(void)unused;
	pthread_mutex_unlock(&lock);
}

void *fake_new(size_t size) {
	__atomic_add_fetch(&live, 1, __ATOMIC_SEQ_CST);
	void **p = calloc(1, size);
	*p = p; // every handle points at something
	return p;
}
int fake_delete(void *p) {
	if (p != NULL)
		__atomic_sub_fetch(&live, 1, __ATOMIC_SEQ_CST);
	free(p);
	return OK;
}
int fake_live(void) { return __atomic_load_n(&live, __ATOMIC_SEQ_CST); }

struct config {
	bool progress_thread, listen_thread;
	int port, sync;
	unsigned workers;
	uint64_t progress_delay, listen_delay;
	bool telemetry;
};

API(create_configured_agent)(const char *name, const struct config *c, void **out) {
	LOCKED;
	struct agent *a = fake_new(sizeof(*a));
	snprintf(a->name, sizeof(a->name), "%s", name);
	a->generation = ++generations;
	a->progresses = c->progress_thread;
	a->telemetry = c->telemetry;
	a->next = agents;
	agents = a;
	*out = a;
	return OK;
}

static void free_remote(struct remote *r) {
	free(r->memory.d);
	free(r);
}

API(destroy_agent)(void *handle) {
	LOCKED;
	struct agent *a = handle;
	int rc = fake_ordered("destroy=");
	if (rc != OK)
		return rc;
	fake_end_ops(a);
	for (struct agent **p = &agents; *p != NULL; p = &(*p)->next)
		if (*p == a) {
			*p = a->next;
			break;
		}
	for (struct remote *r = a->remotes, *next; r != NULL; r = next) {
		next = r->next;
		free_remote(r);
	}
	for (struct note *n = a->inbox, *next; n != NULL; n = next) {
		next = n->next;
		free(n->data);
		free(n);
	}
	free(a->memory.d);
	return fake_delete(a);
}

struct agent *fake_agent(uint64_t generation) {
	for (struct agent *a = agents; a != NULL; a = a->next)
		if (a->generation == generation)
			return a;
	return NULL;
}

struct remote *fake_remote(struct agent *a, const char *name) {
	for (struct remote *r = a->remotes; r != NULL; r = r->next)
		if (strcmp(r->name, name) == 0)
			return r;
	return NULL;
}

// Metadata: a head, then the memory.
struct head {
	char magic[8];
	char name[256];
	uint64_t generation, count;
};

API(get_local_md)(void *handle, void **data, size_t *len) {
	LOCKED;
	struct agent *a = handle;
	struct head h = {"FAKEMD", "", a->generation, a->memory.n};
	memcpy(h.name, a->name, sizeof(h.name));
	*len = sizeof(h) + a->memory.n * sizeof(struct desc);
	*data = malloc(*len);
	memcpy(*data, &h, sizeof(h));
	if (a->memory.n != 0)
		memcpy((char *)*data + sizeof(h), a->memory.d, a->memory.n * sizeof(struct desc));
	return OK;
}

API(load_remote_md)(void *handle, const void *data, size_t len, char **name) {
	LOCKED;
	struct agent *a = handle;
	struct head h = {.generation = 0};
	struct remote fresh = {.generation = 0};
	if (len >= sizeof(h) && memcmp(data, "FAKEMD", 7) == 0) {
		memcpy(&h, data, sizeof(h));
		if (len != sizeof(h) + h.count * sizeof(struct desc))
			return BACKEND;
		memcpy(fresh.name, h.name, sizeof(fresh.name));
		for (size_t i = 0; i < h.count; i++)
			fake_add(&fresh.memory, ((const struct desc *)((const char *)data + sizeof(h)))[i]);
	} else if (len < sizeof(fresh.name)) {
		memcpy(fresh.name, data, len);
	} else {
		return BACKEND;
	}
	fresh.generation = h.generation;
	struct remote *old = fake_remote(a, fresh.name);
	if (strcmp(fresh.name, a->name) == 0 || (old != NULL && old->generation != fresh.generation)) {
		free(fresh.memory.d);
		return old == NULL ? BAD_PARAM : BACKEND;
	}
	if (old == NULL) {
		old = calloc(1, sizeof(*old));
		fresh.next = a->remotes;
		a->remotes = old;
	} else {
		free(old->memory.d);
		fresh.next = old->next;
	}
	*old = fresh;
	*name = strdup(fresh.name);
	return OK;
}

API(invalidate_remote_md)(void *handle, const char *name) {
	LOCKED;
	fake_note("invalidate");
	int rc = fake_ordered("invalidate=");
	if (rc != OK)
		return rc;
	for (struct remote **p = &((struct agent *)handle)->remotes; *p != NULL; p = &(*p)->next)
		if (strcmp((*p)->name, name) == 0) {
			struct remote *r = *p;
			*p = r->next;
			free_remote(r);
			return OK;
		}
	return NOT_FOUND;
}

API(check_remote_md)(void *handle, const char *name, void *list) {
	LOCKED;
	struct remote *r = fake_remote(handle, name);
	if (r == NULL)
		return NOT_FOUND;
	struct list *l = list;
	return l == NULL || fake_covers(&r->memory, l->mem, l) ? OK : NOT_FOUND;
}
API(agent_make_connection)(void *handle, const char *name, void *args) {
	LOCKED;
	return fake_remote(handle, name) == NULL ? NOT_FOUND : OK;
}

API(get_local_partial_md)(void *a, void *list, void **data, size_t *len, void *args) {
	return nixl_capi_get_local_md(a, data, len);
}
API(send_local_md)(void *a, void *args) { return args == NULL ? BACKEND : OK; }
API(send_local_partial_md)(void *a, void *list, void *args) { return args == NULL ? BACKEND : OK; }
API(fetch_remote_md)(void *a, const char *name, void *args) { return args == NULL ? BACKEND : OK; }
API(invalidate_local_md)(void *a, void *args) { return args == NULL ? BACKEND : OK; }
