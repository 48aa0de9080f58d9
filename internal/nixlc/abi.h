// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// The binary interface of libnixl_capi.so as far as this package calls it:
// argument types and struct layouts, nothing else. Every handle is opaque to
// us, so it is a plain pointer here. Every function returns a status code.

#ifndef KVX_ABI_H
#define KVX_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Layout unchanged from 1.0.1 to 1.5.1.
struct kvx_agent_config {
	bool progress_thread;
	bool listen_thread;
	int listen_port;
	int sync; // 0 none, 1 strict, 2 reader-writer
	unsigned int workers; // the library ignores it: use the backend parameter
	uint64_t progress_delay_us;
	uint64_t listen_delay_us;
	bool telemetry;
};
_Static_assert(sizeof(struct kvx_agent_config) == 40, "agent config layout");

struct kvx_telemetry {
	uint64_t start_us; // of the library's steady clock
	uint64_t post_us;
	uint64_t transfer_us;
	uint64_t bytes;
	uint64_t descriptors;
};
_Static_assert(sizeof(struct kvx_telemetry) == 40, "telemetry layout");

// KVX_REQUIRED lists what no transfer can do without.
#define KVX_REQUIRED(X) \
	X(create_configured_agent, (const char *, const struct kvx_agent_config *, void **)) \
	X(destroy_agent, (void *)) \
	X(get_local_md, (void *, void **, size_t *)) \
	X(load_remote_md, (void *, const void *, size_t, char **)) \
	X(invalidate_remote_md, (void *, const char *)) \
	X(check_remote_md, (void *, const char *, void *)) \
	X(agent_make_connection, (void *, const char *, void *)) \
	X(get_available_plugins, (void *, void **)) \
	X(string_list_size, (void *, size_t *)) \
	X(string_list_get, (void *, size_t, const char **)) \
	X(destroy_string_list, (void *)) \
	X(create_params, (void **)) \
	X(params_add, (void *, const char *, const char *)) \
	X(destroy_params, (void *)) \
	X(create_backend, (void *, const char *, void *, void **)) \
	X(destroy_backend, (void *)) \
	X(create_opt_args, (void **)) \
	X(opt_args_add_backend, (void *, void *)) \
	X(opt_args_set_notif_msg, (void *, const void *, size_t)) \
	X(opt_args_set_has_notif, (void *, bool)) \
	X(destroy_opt_args, (void *)) \
	X(create_reg_dlist, (int, void **)) \
	X(reg_dlist_add_desc, (void *, uintptr_t, size_t, uint64_t, const void *, size_t)) \
	X(destroy_reg_dlist, (void *)) \
	X(register_mem, (void *, void *, void *)) \
	X(deregister_mem, (void *, void *, void *)) \
	X(create_xfer_dlist, (int, void **)) \
	X(xfer_dlist_add_desc, (void *, uintptr_t, size_t, uint64_t)) \
	X(destroy_xfer_dlist, (void *)) \
	X(prep_xfer_dlist, (void *, const char *, void *, void **, void *)) \
	X(release_xfer_dlist_handle, (void *, void *)) \
	X(create_xfer_req, (void *, int, void *, void *, const char *, void **, void *)) \
	X(make_xfer_req, (void *, int, void *, const int *, size_t, void *, const int *, size_t, void **, void *)) \
	X(post_xfer_req, (void *, void *, void *)) \
	X(get_xfer_status, (void *, void *)) \
	X(release_xfer_req, (void *, void *)) \
	X(destroy_xfer_req, (void *)) \
	X(create_notif_map, (void **)) \
	X(notif_map_size, (void *, size_t *)) \
	X(notif_map_get_agent_at, (void *, size_t, const char **)) \
	X(notif_map_get_notifs_size, (void *, const char *, size_t *)) \
	X(notif_map_get_notif, (void *, const char *, size_t, const void **, size_t *)) \
	X(notif_map_clear, (void *)) \
	X(destroy_notif_map, (void *)) \
	X(get_notifs, (void *, void *, void *)) \
	X(gen_notif, (void *, const char *, const void *, size_t, void *))

// KVX_OPTIONAL lists what single functions need: a library that lacks one
// serves all the others, and Go asks before it calls. From
// opt_args_set_custom_param on they came with 1.5.
#define KVX_OPTIONAL(X) \
	X(get_local_partial_md, (void *, void *, void **, size_t *, void *)) \
	X(send_local_md, (void *, void *)) \
	X(send_local_partial_md, (void *, void *, void *)) \
	X(fetch_remote_md, (void *, const char *, void *)) \
	X(invalidate_local_md, (void *, void *)) \
	X(opt_args_set_skip_desc_merge, (void *, bool)) \
	X(opt_args_set_ip_addr, (void *, const char *)) \
	X(opt_args_set_port, (void *, uint16_t)) \
	X(get_plugin_params, (void *, const char *, void **, void **)) \
	X(get_backend_params, (void *, void *, void **, void **)) \
	X(params_create_iterator, (void *, void **)) \
	X(params_iterator_next, (void *, const char **, const char **, bool *)) \
	X(params_destroy_iterator, (void *)) \
	X(params_is_empty, (void *, bool *)) \
	X(mem_list_size, (void *, size_t *)) \
	X(mem_list_get, (void *, size_t, int *)) \
	X(destroy_mem_list, (void *)) \
	X(estimate_xfer_cost, (void *, void *, void *, int64_t *, int64_t *, int *)) \
	X(get_xfer_telemetry, (void *, void *, struct kvx_telemetry *)) \
	X(query_xfer_backend, (void *, void *, void **)) \
	X(create_query_resp_list, (void **)) \
	X(destroy_query_resp_list, (void *)) \
	X(query_resp_list_size, (void *, size_t *)) \
	X(query_resp_list_has_value, (void *, size_t, bool *)) \
	X(query_resp_list_get_params, (void *, size_t, void **)) \
	X(query_mem, (void *, void *, void *, void *)) \
	X(opt_args_set_custom_param, (void *, const void *, size_t)) \
	X(prep_mem_view_local, (void *, void *, void **, void *)) \
	X(prep_mem_view_remote, (void *, void *, void **, void *)) \
	X(create_remote_dlist, (int, void **)) \
	X(remote_dlist_add_desc, (void *, uintptr_t, size_t, uint64_t, const char *)) \
	X(destroy_remote_dlist, (void *)) \
	X(release_mem_view, (void *, void *))

enum { KVX_OK = 0, KVX_NO_MEMORY = -4 }; // the code the library gives for an exception

// struct kvx_api holds one resolved address for each symbol: the required
// ones first, then the optional ones, each in the order of its list.
struct kvx_api {
#define KVX_FIELD(name, args) int(*name) args;
	KVX_REQUIRED(KVX_FIELD)
	KVX_OPTIONAL(KVX_FIELD)
#undef KVX_FIELD
};

#endif
