// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

#include "shim_buffer.h"

int kvx_local_md(const struct kvx_api *api, uintptr_t agent, void **data, size_t *len) {
	return api->get_local_md(PTR(agent), data, len);
}

int kvx_local_partial_md(const struct kvx_api *api, uintptr_t agent, int mem,
			 const struct kvx_desc *descs, size_t count, uintptr_t backend,
			 void **data, size_t *len) {
	struct kvx_options o = {.backend = backend};
	void *list = NULL, *args = NULL;
	int rc = kvx_registration_list(api, mem, descs, count, NULL, NULL, &list);
	if (rc == KVX_OK)
		rc = kvx_make_options(api, &o, &args);
	if (rc == KVX_OK)
		rc = api->get_local_partial_md(PTR(agent), list, data, len, args);
	kvx_drop_options(api, args);
	if (list != NULL)
		api->destroy_reg_dlist(list);
	return rc;
}

int kvx_load_remote_md(const struct kvx_api *api, uintptr_t agent, const void *data,
		       size_t len, char **name) {
	return api->load_remote_md(PTR(agent), data, len, name);
}

int kvx_invalidate_remote_md(const struct kvx_api *api, uintptr_t agent, const char *name) {
	return api->invalidate_remote_md(PTR(agent), name);
}

int kvx_check_remote_md(const struct kvx_api *api, uintptr_t agent, const char *name, int mem,
			const struct kvx_desc *descs, size_t count) {
	void *list = NULL;
	int rc = count == 0 ? KVX_OK : kvx_transfer_list(api, mem, descs, count, &list);
	if (rc == KVX_OK)
		rc = api->check_remote_md(PTR(agent), name, list);
	if (list != NULL)
		api->destroy_xfer_dlist(list);
	return rc;
}

int kvx_make_connection(const struct kvx_api *api, uintptr_t agent, const char *name) {
	return api->agent_make_connection(PTR(agent), name, NULL);
}

int kvx_send_local_md(const struct kvx_api *api, uintptr_t agent, const char *ip, uint16_t port) {
	struct kvx_options o = {.ip = ip, .port = port};
	void *args = NULL;
	int rc = kvx_make_options(api, &o, &args);
	if (rc == KVX_OK)
		rc = api->send_local_md(PTR(agent), args);
	kvx_drop_options(api, args);
	return rc;
}

int kvx_send_local_partial_md(const struct kvx_api *api, uintptr_t agent, int mem,
			      const struct kvx_desc *descs, size_t count, const char *ip,
			      uint16_t port) {
	struct kvx_options o = {.ip = ip, .port = port};
	void *list = NULL, *args = NULL;
	int rc = kvx_registration_list(api, mem, descs, count, NULL, NULL, &list);
	if (rc == KVX_OK)
		rc = kvx_make_options(api, &o, &args);
	if (rc == KVX_OK)
		rc = api->send_local_partial_md(PTR(agent), list, args);
	kvx_drop_options(api, args);
	if (list != NULL)
		api->destroy_reg_dlist(list);
	return rc;
}

int kvx_fetch_remote_md(const struct kvx_api *api, uintptr_t agent, const char *name,
			const char *ip, uint16_t port) {
	struct kvx_options o = {.ip = ip, .port = port};
	void *args = NULL;
	int rc = kvx_make_options(api, &o, &args);
	if (rc == KVX_OK)
		rc = api->fetch_remote_md(PTR(agent), name, args);
	kvx_drop_options(api, args);
	return rc;
}

int kvx_invalidate_local_md(const struct kvx_api *api, uintptr_t agent, const char *ip,
			    uint16_t port) {
	struct kvx_options o = {.ip = ip, .port = port};
	void *args = NULL;
	int rc = kvx_make_options(api, &o, &args);
	if (rc == KVX_OK)
		rc = api->invalidate_local_md(PTR(agent), args);
	kvx_drop_options(api, args);
	return rc;
}
