// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

#include "shim.h"

#include <stdlib.h>
#include <string.h>

#define PTR(handle) ((void *)(handle))

enum { OK = 0, NO_MEMORY = -4 }; // the code the library gives for an exception

static const char *const names[] = {
#define KVX_NAME(name, args) "nixl_capi_" #name,
	KVX_SYMBOLS(KVX_NAME)
#undef KVX_NAME
};

size_t kvx_symbol_count(void) { return sizeof(names) / sizeof(names[0]); }

const char *kvx_symbol_name(size_t i) { return names[i]; }

void kvx_set_symbol(struct kvx_api *api, size_t i, void *address) {
	memcpy((char *)api + i * sizeof(void *), &address, sizeof(address));
}

_Static_assert(sizeof(struct kvx_api) == sizeof(names), "one field a symbol");

int kvx_create_agent(const struct kvx_api *api, const char *name,
		     const struct kvx_agent_config *config, uintptr_t *agent) {
	return api->create_configured_agent(name, config, (void **)agent);
}

int kvx_destroy_agent(const struct kvx_api *api, uintptr_t agent) {
	return api->destroy_agent(PTR(agent));
}

// Names are joined with newlines; none contains one.
static int join(const struct kvx_api *api, void *list, char **joined) {
	size_t count = 0, used = 0;
	int rc = api->string_list_size(list, &count);
	char *out = calloc(1, 1);
	for (size_t i = 0; rc == OK && out != NULL && i < count; i++) {
		const char *s = NULL;
		rc = api->string_list_get(list, i, &s);
		if (rc != OK)
			break;
		size_t n = strlen(s);
		char *grown = realloc(out, used + n + 2);
		if (grown == NULL) {
			rc = NO_MEMORY;
			break;
		}
		out = grown;
		memcpy(out + used, s, n);
		used += n;
		out[used++] = '\n';
		out[used] = 0;
	}
	if (out == NULL)
		return NO_MEMORY;
	if (rc != OK)
		free(out);
	else
		*joined = out;
	return rc;
}

int kvx_plugins(const struct kvx_api *api, uintptr_t agent, char **joined) {
	void *list = NULL;
	int rc = api->get_available_plugins(PTR(agent), &list);
	if (rc != OK)
		return rc;
	rc = join(api, list, joined);
	api->destroy_string_list(list);
	return rc;
}

int kvx_create_backend(const struct kvx_api *api, uintptr_t agent, const char *plugin,
		       const char *const *pairs, size_t count, uintptr_t *backend) {
	void *params = NULL;
	int rc = api->create_params(&params);
	if (rc != OK)
		return rc;
	for (size_t i = 0; rc == OK && i < count; i++)
		rc = api->params_add(params, pairs[2 * i], pairs[2 * i + 1]);
	if (rc == OK)
		rc = api->create_backend(PTR(agent), plugin, params, (void **)backend);
	api->destroy_params(params);
	return rc;
}

int kvx_destroy_backend(const struct kvx_api *api, uintptr_t backend) {
	return api->destroy_backend(PTR(backend));
}

// options makes the optional arguments of a call: a backend (0: the library
// chooses) and a notification (no message: none). NULL when neither is wanted.
static int options(const struct kvx_api *api, uintptr_t backend, const void *msg, size_t len,
		   void **out) {
	*out = NULL;
	if (backend == 0 && len == 0)
		return OK;
	int rc = api->create_opt_args(out);
	if (rc == OK && backend != 0)
		rc = api->opt_args_add_backend(*out, PTR(backend));
	if (rc == OK && len != 0)
		rc = api->opt_args_set_notif_msg(*out, msg, len);
	if (rc == OK && len != 0)
		rc = api->opt_args_set_has_notif(*out, true);
	if (rc != OK && *out != NULL) {
		api->destroy_opt_args(*out);
		*out = NULL;
	}
	return rc;
}

static void drop_options(const struct kvx_api *api, void *args) {
	if (args != NULL)
		api->destroy_opt_args(args);
}

int kvx_register(const struct kvx_api *api, uintptr_t agent, int mem,
		 const struct kvx_desc *descs, size_t count, uintptr_t backend, bool remove) {
	void *list = NULL, *args = NULL;
	int rc = api->create_reg_dlist(mem, &list);
	if (rc != OK)
		return rc;
	for (size_t i = 0; rc == OK && i < count; i++)
		rc = api->reg_dlist_add_desc(list, descs[i].addr, descs[i].len, descs[i].dev, NULL, 0);
	if (rc == OK)
		rc = options(api, backend, NULL, 0, &args);
	if (rc == OK && remove)
		rc = api->deregister_mem(PTR(agent), list, args);
	else if (rc == OK)
		rc = api->register_mem(PTR(agent), list, args);
	drop_options(api, args);
	api->destroy_reg_dlist(list);
	return rc;
}

int kvx_local_md(const struct kvx_api *api, uintptr_t agent, void **data, size_t *len) {
	return api->get_local_md(PTR(agent), data, len);
}

int kvx_load_remote_md(const struct kvx_api *api, uintptr_t agent, const void *data,
		       size_t len, char **name) {
	return api->load_remote_md(PTR(agent), data, len, name);
}

int kvx_invalidate_remote_md(const struct kvx_api *api, uintptr_t agent, const char *name) {
	return api->invalidate_remote_md(PTR(agent), name);
}

int kvx_check_remote_md(const struct kvx_api *api, uintptr_t agent, const char *name) {
	return api->check_remote_md(PTR(agent), name, NULL);
}

int kvx_make_connection(const struct kvx_api *api, uintptr_t agent, const char *name) {
	return api->agent_make_connection(PTR(agent), name, NULL);
}

// transfer_list builds the library's list from an array. The library copies
// it, so the caller destroys it right after the call that reads it.
static int transfer_list(const struct kvx_api *api, int mem, const struct kvx_desc *descs,
			 size_t count, void **list) {
	int rc = api->create_xfer_dlist(mem, list);
	for (size_t i = 0; rc == OK && i < count; i++)
		rc = api->xfer_dlist_add_desc(*list, descs[i].addr, descs[i].len, descs[i].dev);
	return rc;
}

int kvx_prepare(const struct kvx_api *api, uintptr_t agent, const char *name, int mem,
		const struct kvx_desc *descs, size_t count, uintptr_t backend,
		uintptr_t *prepared) {
	void *list = NULL, *args = NULL, *handle = NULL;
	int rc = transfer_list(api, mem, descs, count, &list);
	if (rc == OK)
		rc = options(api, backend, NULL, 0, &args);
	if (rc == OK)
		rc = api->prep_xfer_dlist(PTR(agent), name, list, &handle, args);
	// Versions before 1.5 set the handle even when they fail.
	*prepared = rc == OK ? (uintptr_t)handle : 0;
	drop_options(api, args);
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
		       uintptr_t backend, const void *msg, size_t msg_len, uintptr_t *request) {
	void *from = NULL, *to = NULL, *args = NULL;
	int rc = transfer_list(api, local_mem, local, local_count, &from);
	if (rc == OK)
		rc = transfer_list(api, remote_mem, remote, remote_count, &to);
	if (rc == OK)
		rc = options(api, backend, msg, msg_len, &args);
	if (rc == OK)
		rc = api->create_xfer_req(PTR(agent), op, from, to, name, (void **)request, args);
	drop_options(api, args);
	if (to != NULL)
		api->destroy_xfer_dlist(to);
	if (from != NULL)
		api->destroy_xfer_dlist(from);
	return rc;
}

int kvx_make_request(const struct kvx_api *api, uintptr_t agent, int op, uintptr_t local,
		     const int *local_index, size_t local_count, uintptr_t remote,
		     const int *remote_index, size_t remote_count, const void *msg,
		     size_t msg_len, uintptr_t *request) {
	void *args = NULL;
	int rc = options(api, 0, msg, msg_len, &args);
	if (rc == OK)
		rc = api->make_xfer_req(PTR(agent), op, PTR(local), local_index, local_count,
					PTR(remote), remote_index, remote_count,
					(void **)request, args);
	drop_options(api, args);
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

int kvx_release_request(const struct kvx_api *api, uintptr_t agent, uintptr_t request) {
	return api->release_xfer_req(PTR(agent), PTR(request));
}

int kvx_destroy_request(const struct kvx_api *api, uintptr_t request) {
	return api->destroy_xfer_req(PTR(request));
}
