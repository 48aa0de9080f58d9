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

// KVX_SYMBOLS lists what every supported version exports. The order is the
// order of the fields of struct kvx_api.
#define KVX_SYMBOLS(X) \
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

// struct kvx_api holds one resolved address for each symbol.
struct kvx_api {
#define KVX_FIELD(name, args) int(*name) args;
	KVX_SYMBOLS(KVX_FIELD)
#undef KVX_FIELD
};

#endif
