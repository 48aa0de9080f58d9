// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

#include "shim_buffer.h"

int kvx_create_notif_map(const struct kvx_api *api, uintptr_t *map) {
	return api->create_notif_map((void **)map);
}

int kvx_destroy_notif_map(const struct kvx_api *api, uintptr_t map) {
	return api->destroy_notif_map(PTR(map));
}

static int append(struct kvx_buffer *b, const char *agent, const void *msg, size_t len) {
	uint32_t sizes[2] = {(uint32_t)strlen(agent), (uint32_t)len};
	int rc = kvx_append(b, sizes, sizeof(sizes));
	if (rc == KVX_OK)
		rc = kvx_append(b, agent, sizes[0]);
	if (rc == KVX_OK)
		rc = kvx_append(b, msg, len);
	return rc;
}

static int append_agent(const struct kvx_api *api, void *map, const char *agent,
			struct kvx_buffer *b) {
	size_t count = 0;
	int rc = api->notif_map_get_notifs_size(map, agent, &count);
	for (size_t j = 0; rc == KVX_OK && j < count; j++) {
		const void *msg = NULL;
		size_t len = 0;
		rc = api->notif_map_get_notif(map, agent, j, &msg, &len);
		if (rc == KVX_OK)
			rc = append(b, agent, msg, len);
	}
	return rc;
}

int kvx_take_notifs(const struct kvx_api *api, uintptr_t agent, uintptr_t handle, char **data,
		    size_t *len) {
	void *map = PTR(handle);
	struct kvx_buffer b = {NULL, 0, 0};
	size_t agents = 0;
	int rc = api->get_notifs(PTR(agent), map, NULL);
	if (rc == KVX_OK)
		rc = api->notif_map_size(map, &agents);
	for (size_t i = 0; rc == KVX_OK && i < agents; i++) {
		const char *name = NULL;
		rc = api->notif_map_get_agent_at(map, i, &name);
		if (rc == KVX_OK)
			rc = append_agent(api, map, name, &b);
	}
	// Only what was copied out is cleared: get_notifs appends, so a copy that
	// failed is tried again by the next call.
	if (rc == KVX_OK && agents != 0)
		rc = api->notif_map_clear(map);
	return kvx_give(rc, &b, data, len);
}

int kvx_gen_notif(const struct kvx_api *api, uintptr_t agent, const char *name,
		  const void *msg, size_t len) {
	return api->gen_notif(PTR(agent), name, msg, len, NULL);
}
