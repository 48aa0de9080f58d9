// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// What Go calls. Each function does one whole job in one crossing: lists are
// built from arrays here, never with a call an entry. Handles cross as
// integers, because they are no memory that Go knows.

#ifndef KVX_SHIM_H
#define KVX_SHIM_H

#include "abi.h"

// struct kvx_desc has the layout of the Go type Desc.
struct kvx_desc {
	uint64_t addr;
	uint64_t len;
	uint64_t dev;
};

// The table of addresses: shim_table.c.
size_t kvx_symbol_count(void);
size_t kvx_required_count(void);
const char *kvx_symbol_name(size_t i);
void kvx_set_symbol(struct kvx_api *api, size_t i, void *address);

// Agents, plugins and memory: shim_agent.c. Parameters and lists of strings
// are allocated and hold strings that end with a zero byte, one after another.
int kvx_create_agent(const struct kvx_api *api, const char *name,
		     const struct kvx_agent_config *config, uintptr_t *agent);
int kvx_destroy_agent(const struct kvx_api *api, uintptr_t agent);
int kvx_plugins(const struct kvx_api *api, uintptr_t agent, char **strings, size_t *len);
int kvx_create_backend(const struct kvx_api *api, uintptr_t agent, const char *plugin,
		       const char *const *pairs, size_t count, uintptr_t *backend);
int kvx_destroy_backend(const struct kvx_api *api, uintptr_t backend);
// kvx_plugin_params asks about a plugin, or about a backend when it is not 0.
// mems gets one bit for each kind of memory.
int kvx_plugin_params(const struct kvx_api *api, uintptr_t agent, const char *plugin,
		      uintptr_t backend, uint32_t *mems, char **strings, size_t *len);
// blobs holds blob_lens[i] bytes for descriptor i; both NULL for none.
int kvx_register(const struct kvx_api *api, uintptr_t agent, int mem,
		 const struct kvx_desc *descs, size_t count, const void *blobs,
		 const uint32_t *blob_lens, uintptr_t backend, bool remove);
// kvx_query_mem gives for each descriptor one byte, 1 when something was
// found, and then its parameters, ended by an empty string.
int kvx_query_mem(const struct kvx_api *api, uintptr_t agent, int mem,
		  const struct kvx_desc *descs, size_t count, const void *blobs,
		  const uint32_t *blob_lens, uintptr_t backend, char **strings, size_t *len);

// Metadata: shim_metadata.c. An empty ip means the store, not a peer.
int kvx_local_md(const struct kvx_api *api, uintptr_t agent, void **data, size_t *len);
int kvx_local_partial_md(const struct kvx_api *api, uintptr_t agent, int mem,
			 const struct kvx_desc *descs, size_t count, uintptr_t backend,
			 void **data, size_t *len);
int kvx_load_remote_md(const struct kvx_api *api, uintptr_t agent, const void *data,
		       size_t len, char **name);
int kvx_invalidate_remote_md(const struct kvx_api *api, uintptr_t agent, const char *name);
int kvx_check_remote_md(const struct kvx_api *api, uintptr_t agent, const char *name, int mem,
			const struct kvx_desc *descs, size_t count);
int kvx_make_connection(const struct kvx_api *api, uintptr_t agent, const char *name);
int kvx_send_local_md(const struct kvx_api *api, uintptr_t agent, const char *ip, uint16_t port);
int kvx_send_local_partial_md(const struct kvx_api *api, uintptr_t agent, int mem,
			      const struct kvx_desc *descs, size_t count, const char *ip,
			      uint16_t port);
int kvx_fetch_remote_md(const struct kvx_api *api, uintptr_t agent, const char *name,
			const char *ip, uint16_t port);
int kvx_invalidate_local_md(const struct kvx_api *api, uintptr_t agent, const char *ip,
			    uint16_t port);

// Requests: shim_request.c.
int kvx_prepare(const struct kvx_api *api, uintptr_t agent, const char *name, int mem,
		const struct kvx_desc *descs, size_t count, uintptr_t backend,
		uintptr_t *prepared);
int kvx_release_prepared(const struct kvx_api *api, uintptr_t agent, uintptr_t prepared);
int kvx_create_request(const struct kvx_api *api, uintptr_t agent, int op, int local_mem,
		       const struct kvx_desc *local, size_t local_count, int remote_mem,
		       const struct kvx_desc *remote, size_t remote_count, const char *name,
		       uintptr_t backend, const void *msg, size_t msg_len, const void *custom,
		       size_t custom_len, bool skip_merge, uintptr_t *request);
int kvx_make_request(const struct kvx_api *api, uintptr_t agent, int op, uintptr_t local,
		     const int *local_index, size_t local_count, uintptr_t remote,
		     const int *remote_index, size_t remote_count, uintptr_t backend,
		     const void *msg, size_t msg_len, const void *custom, size_t custom_len,
		     bool skip_merge, uintptr_t *request);
int kvx_post(const struct kvx_api *api, uintptr_t agent, uintptr_t request);
int kvx_status(const struct kvx_api *api, uintptr_t agent, uintptr_t request);
void kvx_poll(const struct kvx_api *api, uintptr_t agent, const uintptr_t *requests,
	      int32_t *codes, size_t count);
// kvx_bare_poll is kvx_poll, passes times over the same handles, without
// leaving C: what a program without Go would pay.
void kvx_bare_poll(const struct kvx_api *api, uintptr_t agent, const uintptr_t *requests,
		   int32_t *codes, size_t count, size_t passes);
int kvx_release_request(const struct kvx_api *api, uintptr_t agent, uintptr_t request);
int kvx_destroy_request(const struct kvx_api *api, uintptr_t request);
int kvx_estimate_cost(const struct kvx_api *api, uintptr_t agent, uintptr_t request,
		      int64_t *duration_us, int64_t *margin_us, int *method);
int kvx_telemetry(const struct kvx_api *api, uintptr_t agent, uintptr_t request,
		  struct kvx_telemetry *out);
// kvx_request_backend tells which of the backends serves the request; count
// when none does.
int kvx_request_backend(const struct kvx_api *api, uintptr_t agent, uintptr_t request,
			const uintptr_t *backends, size_t count, size_t *which);
// kvx_exact_status calls nixlAgent::getXferStatus at address.
int kvx_exact_status(void *address, uintptr_t agent, uintptr_t request);

// Views of memory for device code: shim_view.c. names[i] is the peer of
// descriptor i; NULL stands for our own memory.
int kvx_view(const struct kvx_api *api, uintptr_t agent, int mem, const struct kvx_desc *descs,
	     const char *const *names, size_t count, uintptr_t backend, uintptr_t *view);
int kvx_release_view(const struct kvx_api *api, uintptr_t agent, uintptr_t view);

// Notifications: shim_notif.c.
int kvx_create_notif_map(const struct kvx_api *api, uintptr_t *map);
int kvx_destroy_notif_map(const struct kvx_api *api, uintptr_t map);
// kvx_take_notifs moves what arrived into one allocated buffer: for each
// notification two uint32 lengths, the agent's name, the message.
int kvx_take_notifs(const struct kvx_api *api, uintptr_t agent, uintptr_t map, char **data,
		    size_t *len);
int kvx_gen_notif(const struct kvx_api *api, uintptr_t agent, const char *name,
		  const void *msg, size_t len);

#endif
