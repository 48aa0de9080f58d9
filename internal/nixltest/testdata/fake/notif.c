// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

#include "fake.h"

// The notes of calls about scripted requests, for whoever asks first.
static char noted[64][64];
static size_t notes;

void fake_note(const char *what) {
	if (notes < sizeof(noted) / sizeof(noted[0]))
		snprintf(noted[notes++], sizeof(noted[0]), "%s", what);
}

// The next call of a kind that the test has ordered an answer for.
static char ordered[64];

void fake_order(const char *what, size_t len) {
	snprintf(ordered, sizeof(ordered), "%.*s", (int)len, what);
}

int fake_ordered(const char *key) {
	if (strncmp(ordered, key, strlen(key)) != 0)
		return OK;
	int code = fake_answer(ordered, key, 0);
	ordered[0] = 0;
	return code;
}

void fake_deliver(struct agent *to, const char *from, const void *data, size_t len) {
	struct note *n = calloc(1, sizeof(*n)), **end = &to->inbox;
	snprintf(n->from, sizeof(n->from), "%s", from);
	n->data = malloc(len);
	n->len = len;
	memcpy(n->data, data, len);
	while (*end != NULL)
		end = &(*end)->next;
	*end = n;
}

// struct map is what get_notifs fills: one list, whose agents are found by
// looking.
struct map {
	void *inner;
	struct note *first;
};

API(create_notif_map)(void **out) { *out = fake_new(sizeof(struct map)); return OK; }
API(notif_map_clear)(void *map) {
	struct map *m = map;
	for (struct note *n = m->first, *next; n != NULL; n = next) {
		next = n->next;
		free(n->data);
		free(n);
	}
	m->first = NULL;
	return OK;
}
API(destroy_notif_map)(void *map) {
	nixl_capi_notif_map_clear(map);
	return fake_delete(map);
}

API(get_notifs)(void *handle, void *map, void *args) {
	LOCKED;
	struct agent *a = handle;
	int rc = fake_ordered("notifs=");
	if (rc != OK)
		return rc;
	fake_progress(a);
	for (size_t i = 0; i < notes; i++)
		fake_deliver(a, "fake", noted[i], strlen(noted[i]));
	notes = 0;
	struct note **end = &((struct map *)map)->first;
	while (*end != NULL)
		end = &(*end)->next;
	*end = a->inbox;
	a->inbox = NULL;
	return OK;
}

// is_first tells whether n is the first of its agent.
static bool is_first(struct map *m, struct note *n) {
	for (struct note *o = m->first; o != n; o = o->next)
		if (strcmp(o->from, n->from) == 0)
			return false;
	return true;
}

API(notif_map_size)(void *map, size_t *count) {
	struct map *m = map;
	*count = 0;
	for (struct note *n = m->first; n != NULL; n = n->next)
		*count += is_first(m, n);
	return OK;
}
API(notif_map_get_agent_at)(void *map, size_t i, const char **name) {
	struct map *m = map;
	for (struct note *n = m->first; n != NULL; n = n->next)
		if (is_first(m, n) && i-- == 0) {
			*name = n->from;
			return OK;
		}
	return BAD_PARAM;
}
API(notif_map_get_notifs_size)(void *map, const char *agent, size_t *count) {
	*count = 0;
	for (struct note *n = ((struct map *)map)->first; n != NULL; n = n->next)
		*count += strcmp(n->from, agent) == 0;
	return OK;
}
API(notif_map_get_notif)(void *map, const char *agent, size_t i, const void **data, size_t *len) {
	for (struct note *n = ((struct map *)map)->first; n != NULL; n = n->next)
		if (strcmp(n->from, agent) == 0 && i-- == 0) {
			*data = n->data;
			*len = n->len;
			return OK;
		}
	return BAD_PARAM;
}

#ifndef FAKE_PARTIAL
API(gen_notif)(void *handle, const char *name, const void *msg, size_t len, void *args) {
	LOCKED;
	struct agent *a = handle;
	if (strcmp(name, "fake") == 0) {
		if (len == 5 && memcmp(msg, "break", 5) == 0)
			fake_break();
		else if (len != 4)
			fake_order(msg, len);
		return len == 4 ? fake_live() : OK;
	}
	struct remote *r = fake_remote(a, name);
	struct agent *to = r == NULL ? NULL : fake_agent(r->generation);
	if (r == NULL)
		return NOT_FOUND;
	if (to == NULL)
		return BACKEND;
	fake_deliver(to, a->name, msg, len);
	return OK;
}
#endif
