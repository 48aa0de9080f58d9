// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

#include "shim_buffer.h"

static int local_view(const struct kvx_api *api, uintptr_t agent, int mem,
		      const struct kvx_desc *descs, size_t count, void *args, void **view) {
	void *list = NULL;
	int rc = kvx_transfer_list(api, mem, descs, count, &list);
	if (rc == KVX_OK)
		rc = api->prep_mem_view_local(PTR(agent), list, view, args);
	if (list != NULL)
		api->destroy_xfer_dlist(list);
	return rc;
}

static int remote_view(const struct kvx_api *api, uintptr_t agent, int mem,
		       const struct kvx_desc *descs, const char *const *names, size_t count,
		       void *args, void **view) {
	void *list = NULL;
	int rc = api->create_remote_dlist(mem, &list);
	for (size_t i = 0; rc == KVX_OK && i < count; i++)
		rc = api->remote_dlist_add_desc(list, descs[i].addr, descs[i].len, descs[i].dev,
						names[i]);
	if (rc == KVX_OK)
		rc = api->prep_mem_view_remote(PTR(agent), list, view, args);
	if (list != NULL)
		api->destroy_remote_dlist(list);
	return rc;
}

int kvx_view(const struct kvx_api *api, uintptr_t agent, int mem, const struct kvx_desc *descs,
	     const char *const *names, size_t count, uintptr_t backend, uintptr_t *view) {
	struct kvx_options o = {.backend = backend};
	void *args = NULL, *handle = NULL;
	int rc = kvx_make_options(api, &o, &args);
	if (rc == KVX_OK && names == NULL)
		rc = local_view(api, agent, mem, descs, count, args, &handle);
	else if (rc == KVX_OK)
		rc = remote_view(api, agent, mem, descs, names, count, args, &handle);
	kvx_drop_options(api, args);
	*view = (uintptr_t)handle;
	return rc;
}

int kvx_release_view(const struct kvx_api *api, uintptr_t agent, uintptr_t view) {
	return api->release_mem_view(PTR(agent), PTR(view));
}
