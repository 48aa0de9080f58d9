// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

#include "shim.h"

#include <stdlib.h>
#include <string.h>

enum { OK = 0, NO_MEMORY = -4 };

int kvx_create_notif_map(const struct kvx_api *api, uintptr_t *map) {
	return api->create_notif_map((void **)map);
}

int kvx_destroy_notif_map(const struct kvx_api *api, uintptr_t map) {
	return api->destroy_notif_map((void *)map);
}

// struct buffer grows as records are appended; data is NULL while empty.
struct buffer {
	char *data;
	size_t len, cap;
};

static int append(struct buffer *b, const char *agent, const void *msg, size_t len) {
	uint32_t sizes[2] = {(uint32_t)strlen(agent), (uint32_t)len};
	size_t need = b->len + sizeof(sizes) + sizes[0] + len;
	if (need > b->cap) {
		size_t cap = need * 2;
		char *grown = realloc(b->data, cap);
		if (grown == NULL)
			return NO_MEMORY;
		b->data = grown;
		b->cap = cap;
	}
	memcpy(b->data + b->len, sizes, sizeof(sizes));
	memcpy(b->data + b->len + sizeof(sizes), agent, sizes[0]);
	memcpy(b->data + b->len + sizeof(sizes) + sizes[0], msg, len);
	b->len = need;
	return OK;
}

static int append_agent(const struct kvx_api *api, void *map, const char *agent,
			struct buffer *b) {
	size_t count = 0;
	int rc = api->notif_map_get_notifs_size(map, agent, &count);
	for (size_t j = 0; rc == OK && j < count; j++) {
		const void *msg = NULL;
		size_t len = 0;
		rc = api->notif_map_get_notif(map, agent, j, &msg, &len);
		if (rc == OK)
			rc = append(b, agent, msg, len);
	}
	return rc;
}

int kvx_take_notifs(const struct kvx_api *api, uintptr_t agent, uintptr_t handle, char **data,
		    size_t *len) {
	void *map = (void *)handle;
	struct buffer b = {NULL, 0, 0};
	size_t agents = 0;
	int rc = api->get_notifs((void *)agent, map, NULL);
	if (rc == OK)
		rc = api->notif_map_size(map, &agents);
	for (size_t i = 0; rc == OK && i < agents; i++) {
		const char *name = NULL;
		rc = api->notif_map_get_agent_at(map, i, &name);
		if (rc == OK)
			rc = append_agent(api, map, name, &b);
	}
	// Only what was copied out is cleared: get_notifs appends, so a copy that
	// failed is tried again by the next call.
	if (rc == OK && agents != 0)
		rc = api->notif_map_clear(map);
	if (rc != OK) {
		free(b.data);
		return rc;
	}
	*data = b.data;
	*len = b.len;
	return OK;
}

int kvx_gen_notif(const struct kvx_api *api, uintptr_t agent, const char *name,
		  const void *msg, size_t len) {
	return api->gen_notif((void *)agent, name, msg, len, NULL);
}
