// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

#include "shim_buffer.h"

int kvx_prepare(const struct kvx_api *api, uintptr_t agent, const char *name, int mem,
		const struct kvx_desc *descs, size_t count, uintptr_t backend,
		uintptr_t *prepared) {
	struct kvx_options o = {.backend = backend};
	void *list = NULL, *args = NULL, *handle = NULL;
	int rc = kvx_transfer_list(api, mem, descs, count, &list);
	if (rc == KVX_OK)
		rc = kvx_make_options(api, &o, &args);
	if (rc == KVX_OK)
		rc = api->prep_xfer_dlist(PTR(agent), name, list, &handle, args);
	// Versions before 1.5 set the handle even when they fail.
	*prepared = rc == KVX_OK ? (uintptr_t)handle : 0;
	kvx_drop_options(api, args);
	if (list != NULL)
		api->destroy_xfer_dlist(list);
	return rc;
}

int kvx_release_prepared(const struct kvx_api *api, uintptr_t agent, uintptr_t prepared) {
	return api->release_xfer_dlist_handle(PTR(agent), PTR(prepared));
}

int kvx_create_request(const struct kvx_api *api, uintptr_t agent, int op, int local_mem,
		       const struct kvx_desc *local, size_t local_count, int remote_mem,
		       const struct kvx_desc *remote, size_t remote_count, const char *name,
		       uintptr_t backend, const void *msg, size_t msg_len, const void *custom,
		       size_t custom_len, bool skip_merge, uintptr_t *request) {
	struct kvx_options o = {.backend = backend, .msg = msg, .msg_len = msg_len,
				.custom = custom, .custom_len = custom_len,
				.skip_merge = skip_merge};
	void *from = NULL, *to = NULL, *args = NULL;
	int rc = kvx_transfer_list(api, local_mem, local, local_count, &from);
	if (rc == KVX_OK)
		rc = kvx_transfer_list(api, remote_mem, remote, remote_count, &to);
	if (rc == KVX_OK)
		rc = kvx_make_options(api, &o, &args);
	if (rc == KVX_OK)
		rc = api->create_xfer_req(PTR(agent), op, from, to, name, (void **)request, args);
	kvx_drop_options(api, args);
	if (to != NULL)
		api->destroy_xfer_dlist(to);
	if (from != NULL)
		api->destroy_xfer_dlist(from);
	return rc;
}

int kvx_make_request(const struct kvx_api *api, uintptr_t agent, int op, uintptr_t local,
		     const int *local_index, size_t local_count, uintptr_t remote,
		     const int *remote_index, size_t remote_count, uintptr_t backend,
		     const void *msg, size_t msg_len, const void *custom, size_t custom_len,
		     bool skip_merge, uintptr_t *request) {
	struct kvx_options o = {.backend = backend, .msg = msg, .msg_len = msg_len,
				.custom = custom, .custom_len = custom_len,
				.skip_merge = skip_merge};
	void *args = NULL;
	int rc = kvx_make_options(api, &o, &args);
	if (rc == KVX_OK)
		rc = api->make_xfer_req(PTR(agent), op, PTR(local), local_index, local_count,
					PTR(remote), remote_index, remote_count,
					(void **)request, args);
	kvx_drop_options(api, args);
	return rc;
}

int kvx_post(const struct kvx_api *api, uintptr_t agent, uintptr_t request) {
	return api->post_xfer_req(PTR(agent), PTR(request), NULL);
}

int kvx_status(const struct kvx_api *api, uintptr_t agent, uintptr_t request) {
	return api->get_xfer_status(PTR(agent), PTR(request));
}

void kvx_poll(const struct kvx_api *api, uintptr_t agent, const uintptr_t *requests,
	      int32_t *codes, size_t count) {
	for (size_t i = 0; i < count; i++)
		codes[i] = api->get_xfer_status(PTR(agent), PTR(requests[i]));
}

void kvx_bare_poll(const struct kvx_api *api, uintptr_t agent, const uintptr_t *requests,
		   int32_t *codes, size_t count, size_t passes) {
	while (passes-- > 0)
		kvx_poll(api, agent, requests, codes, count);
}

int kvx_release_request(const struct kvx_api *api, uintptr_t agent, uintptr_t request) {
	return api->release_xfer_req(PTR(agent), PTR(request));
}

int kvx_destroy_request(const struct kvx_api *api, uintptr_t request) {
	return api->destroy_xfer_req(PTR(request));
}

int kvx_estimate_cost(const struct kvx_api *api, uintptr_t agent, uintptr_t request,
		      int64_t *duration_us, int64_t *margin_us, int *method) {
	return api->estimate_xfer_cost(PTR(agent), PTR(request), NULL, duration_us, margin_us, method);
}

int kvx_telemetry(const struct kvx_api *api, uintptr_t agent, uintptr_t request,
		  struct kvx_telemetry *out) {
	return api->get_xfer_telemetry(PTR(agent), PTR(request), out);
}

// Every handle of the C interface is a struct whose first and only pointer is
// the object behind it.
static void *inner(uintptr_t handle) { return *(void **)PTR(handle); }

// The library allocates a new handle for each question; the one object behind
// the handles tells which backend it is.
int kvx_request_backend(const struct kvx_api *api, uintptr_t agent, uintptr_t request,
			const uintptr_t *backends, size_t count, size_t *which) {
	void *handle = NULL;
	int rc = api->query_xfer_backend(PTR(agent), PTR(request), &handle);
	if (rc != KVX_OK)
		return rc;
	for (*which = 0; *which < count; (*which)++)
		if (inner(backends[*which]) == inner((uintptr_t)handle))
			break;
	api->destroy_backend(handle);
	return KVX_OK;
}

int kvx_exact_status(void *address, uintptr_t agent, uintptr_t request) {
	int (*status)(const void *, void *) = (int (*)(const void *, void *))address;
	return status(inner(agent), inner(request));
}
