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

size_t kvx_symbol_count(void);
const char *kvx_symbol_name(size_t i);
void kvx_set_symbol(struct kvx_api *api, size_t i, void *address);

int kvx_create_agent(const struct kvx_api *api, const char *name,
		     const struct kvx_agent_config *config, uintptr_t *agent);
int kvx_destroy_agent(const struct kvx_api *api, uintptr_t agent);
int kvx_plugins(const struct kvx_api *api, uintptr_t agent, char **joined);
int kvx_create_backend(const struct kvx_api *api, uintptr_t agent, const char *plugin,
		       const char *const *pairs, size_t count, uintptr_t *backend);
int kvx_destroy_backend(const struct kvx_api *api, uintptr_t backend);

int kvx_register(const struct kvx_api *api, uintptr_t agent, int mem,
		 const struct kvx_desc *descs, size_t count, uintptr_t backend, bool remove);

int kvx_local_md(const struct kvx_api *api, uintptr_t agent, void **data, size_t *len);
int kvx_load_remote_md(const struct kvx_api *api, uintptr_t agent, const void *data,
		       size_t len, char **name);
int kvx_invalidate_remote_md(const struct kvx_api *api, uintptr_t agent, const char *name);
int kvx_check_remote_md(const struct kvx_api *api, uintptr_t agent, const char *name);
int kvx_make_connection(const struct kvx_api *api, uintptr_t agent, const char *name);

int kvx_prepare(const struct kvx_api *api, uintptr_t agent, const char *name, int mem,
		const struct kvx_desc *descs, size_t count, uintptr_t backend,
		uintptr_t *prepared);
int kvx_release_prepared(const struct kvx_api *api, uintptr_t agent, uintptr_t prepared);
int kvx_create_request(const struct kvx_api *api, uintptr_t agent, int op, int local_mem,
		       const struct kvx_desc *local, size_t local_count, int remote_mem,
		       const struct kvx_desc *remote, size_t remote_count, const char *name,
		       uintptr_t backend, const void *msg, size_t msg_len, uintptr_t *request);
int kvx_make_request(const struct kvx_api *api, uintptr_t agent, int op, uintptr_t local,
		     const int *local_index, size_t local_count, uintptr_t remote,
		     const int *remote_index, size_t remote_count, const void *msg,
		     size_t msg_len, uintptr_t *request);
int kvx_post(const struct kvx_api *api, uintptr_t agent, uintptr_t request);
int kvx_status(const struct kvx_api *api, uintptr_t agent, uintptr_t request);
void kvx_poll(const struct kvx_api *api, uintptr_t agent, const uintptr_t *requests,
	      int32_t *codes, size_t count);
int kvx_release_request(const struct kvx_api *api, uintptr_t agent, uintptr_t request);
int kvx_destroy_request(const struct kvx_api *api, uintptr_t request);

int kvx_create_notif_map(const struct kvx_api *api, uintptr_t *map);
int kvx_destroy_notif_map(const struct kvx_api *api, uintptr_t map);
// kvx_take_notifs moves what arrived into one allocated buffer: for each
// notification two uint32 lengths, the agent's name, the message.
int kvx_take_notifs(const struct kvx_api *api, uintptr_t agent, uintptr_t map, char **data,
		    size_t *len);
int kvx_gen_notif(const struct kvx_api *api, uintptr_t agent, const char *name,
		  const void *msg, size_t len);

#endif
