// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

#include "shim_buffer.h"

int kvx_create_agent(const struct kvx_api *api, const char *name,
		     const struct kvx_agent_config *config, uintptr_t *agent) {
	return api->create_configured_agent(name, config, (void **)agent);
}

int kvx_destroy_agent(const struct kvx_api *api, uintptr_t agent) {
	return api->destroy_agent(PTR(agent));
}

int kvx_plugins(const struct kvx_api *api, uintptr_t agent, char **strings, size_t *len) {
	struct kvx_buffer b = {NULL, 0, 0};
	void *list = NULL;
	size_t count = 0;
	int rc = api->get_available_plugins(PTR(agent), &list);
	if (rc != KVX_OK)
		return rc;
	rc = api->string_list_size(list, &count);
	for (size_t i = 0; rc == KVX_OK && i < count; i++) {
		const char *s = NULL;
		rc = api->string_list_get(list, i, &s);
		if (rc == KVX_OK)
			rc = kvx_append_string(&b, s);
	}
	api->destroy_string_list(list);
	return kvx_give(rc, &b, strings, len);
}

int kvx_create_backend(const struct kvx_api *api, uintptr_t agent, const char *plugin,
		       const char *const *pairs, size_t count, uintptr_t *backend) {
	void *params = NULL;
	int rc = api->create_params(&params);
	if (rc != KVX_OK)
		return rc;
	for (size_t i = 0; rc == KVX_OK && i < count; i++)
		rc = api->params_add(params, pairs[2 * i], pairs[2 * i + 1]);
	if (rc == KVX_OK)
		rc = api->create_backend(PTR(agent), plugin, params, (void **)backend);
	api->destroy_params(params);
	return rc;
}

int kvx_destroy_backend(const struct kvx_api *api, uintptr_t backend) {
	return api->destroy_backend(PTR(backend));
}

static int memory_kinds(const struct kvx_api *api, void *list, uint32_t *mems) {
	size_t count = 0;
	int rc = api->mem_list_size(list, &count);
	*mems = 0;
	for (size_t i = 0; rc == KVX_OK && i < count; i++) {
		int mem = 0;
		rc = api->mem_list_get(list, i, &mem);
		if (rc == KVX_OK && mem >= 0 && mem < 32)
			*mems |= UINT32_C(1) << mem;
	}
	return rc;
}

int kvx_plugin_params(const struct kvx_api *api, uintptr_t agent, const char *plugin,
		      uintptr_t backend, uint32_t *mems, char **strings, size_t *len) {
	struct kvx_buffer b = {NULL, 0, 0};
	void *list = NULL, *params = NULL;
	int rc = backend == 0 ? api->get_plugin_params(PTR(agent), plugin, &list, &params)
			      : api->get_backend_params(PTR(agent), PTR(backend), &list, &params);
	if (rc != KVX_OK)
		return rc;
	rc = memory_kinds(api, list, mems);
	if (rc == KVX_OK)
		rc = kvx_append_params(api, params, &b);
	api->destroy_mem_list(list);
	api->destroy_params(params);
	return kvx_give(rc, &b, strings, len);
}

int kvx_register(const struct kvx_api *api, uintptr_t agent, int mem,
		 const struct kvx_desc *descs, size_t count, const void *blobs,
		 const uint32_t *blob_lens, uintptr_t backend, bool remove) {
	struct kvx_options o = {.backend = backend};
	void *list = NULL, *args = NULL;
	int rc = kvx_registration_list(api, mem, descs, count, blobs, blob_lens, &list);
	if (rc == KVX_OK)
		rc = kvx_make_options(api, &o, &args);
	if (rc == KVX_OK && remove)
		rc = api->deregister_mem(PTR(agent), list, args);
	else if (rc == KVX_OK)
		rc = api->register_mem(PTR(agent), list, args);
	kvx_drop_options(api, args);
	if (list != NULL)
		api->destroy_reg_dlist(list);
	return rc;
}

// answers walks over the responses to a query.
static int answers(const struct kvx_api *api, void *responses, size_t count, struct kvx_buffer *b) {
	int rc = KVX_OK;
	for (size_t i = 0; rc == KVX_OK && i < count; i++) {
		bool found = false;
		void *params = NULL;
		rc = api->query_resp_list_has_value(responses, i, &found);
		if (rc == KVX_OK)
			rc = kvx_append(b, found ? "\1" : "\0", 1);
		if (rc == KVX_OK && found)
			rc = api->query_resp_list_get_params(responses, i, &params);
		if (rc == KVX_OK && found)
			rc = kvx_append_params(api, params, b);
		if (params != NULL)
			api->destroy_params(params);
		if (rc == KVX_OK)
			rc = kvx_append_string(b, "");
	}
	return rc;
}

int kvx_query_mem(const struct kvx_api *api, uintptr_t agent, int mem,
		  const struct kvx_desc *descs, size_t count, const void *blobs,
		  const uint32_t *blob_lens, uintptr_t backend, char **strings, size_t *len) {
	struct kvx_options o = {.backend = backend};
	struct kvx_buffer b = {NULL, 0, 0};
	void *list = NULL, *args = NULL, *responses = NULL;
	size_t found = 0;
	int rc = kvx_registration_list(api, mem, descs, count, blobs, blob_lens, &list);
	if (rc == KVX_OK)
		rc = kvx_make_options(api, &o, &args);
	if (rc == KVX_OK)
		rc = api->create_query_resp_list(&responses);
	if (rc == KVX_OK)
		rc = api->query_mem(PTR(agent), list, responses, args);
	if (rc == KVX_OK)
		rc = api->query_resp_list_size(responses, &found);
	if (rc == KVX_OK)
		rc = answers(api, responses, found, &b);
	if (responses != NULL)
		api->destroy_query_resp_list(responses);
	kvx_drop_options(api, args);
	if (list != NULL)
		api->destroy_reg_dlist(list);
	return kvx_give(rc, &b, strings, len);
}
