// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

#include "shim_buffer.h"

static int set_options(const struct kvx_api *api, const struct kvx_options *o, void *args) {
	int rc = KVX_OK;
	if (o->backend != 0)
		rc = api->opt_args_add_backend(args, PTR(o->backend));
	if (rc == KVX_OK && o->msg_len != 0)
		rc = api->opt_args_set_notif_msg(args, o->msg, o->msg_len);
	if (rc == KVX_OK && o->msg_len != 0)
		rc = api->opt_args_set_has_notif(args, true);
	if (rc == KVX_OK && o->custom_len != 0)
		rc = api->opt_args_set_custom_param(args, o->custom, o->custom_len);
	if (rc == KVX_OK && o->skip_merge)
		rc = api->opt_args_set_skip_desc_merge(args, true);
	if (rc == KVX_OK && o->ip != NULL && o->ip[0] != 0) {
		rc = api->opt_args_set_ip_addr(args, o->ip);
		if (rc == KVX_OK)
			rc = api->opt_args_set_port(args, o->port);
	}
	return rc;
}

int kvx_make_options(const struct kvx_api *api, const struct kvx_options *o, void **out) {
	bool peer = o->ip != NULL && o->ip[0] != 0;
	*out = NULL;
	if (o->backend == 0 && o->msg_len == 0 && o->custom_len == 0 && !o->skip_merge && !peer)
		return KVX_OK;
	int rc = api->create_opt_args(out);
	if (rc == KVX_OK)
		rc = set_options(api, o, *out);
	if (rc != KVX_OK && *out != NULL) {
		api->destroy_opt_args(*out);
		*out = NULL;
	}
	return rc;
}

void kvx_drop_options(const struct kvx_api *api, void *args) {
	if (args != NULL)
		api->destroy_opt_args(args);
}

int kvx_transfer_list(const struct kvx_api *api, int mem, const struct kvx_desc *descs,
		      size_t count, void **list) {
	int rc = api->create_xfer_dlist(mem, list);
	for (size_t i = 0; rc == KVX_OK && i < count; i++)
		rc = api->xfer_dlist_add_desc(*list, descs[i].addr, descs[i].len, descs[i].dev);
	return rc;
}

int kvx_registration_list(const struct kvx_api *api, int mem, const struct kvx_desc *descs,
			  size_t count, const char *blobs, const uint32_t *blob_lens, void **list) {
	int rc = api->create_reg_dlist(mem, list);
	for (size_t i = 0; rc == KVX_OK && i < count; i++) {
		size_t len = blob_lens == NULL ? 0 : blob_lens[i];
		rc = api->reg_dlist_add_desc(*list, descs[i].addr, descs[i].len, descs[i].dev,
					     len == 0 ? NULL : blobs, len);
		if (len != 0)
			blobs += len;
	}
	return rc;
}

// The iterator's has_next tells whether another one follows the one given.
int kvx_append_params(const struct kvx_api *api, void *params, struct kvx_buffer *b) {
	bool empty = false, more = true;
	void *iter = NULL;
	int rc = api->params_is_empty(params, &empty);
	if (rc != KVX_OK || empty)
		return rc;
	rc = api->params_create_iterator(params, &iter);
	while (rc == KVX_OK && more) {
		const char *key = NULL, *value = NULL;
		rc = api->params_iterator_next(iter, &key, &value, &more);
		if (rc == KVX_OK && key != NULL)
			rc = kvx_append_string(b, key);
		if (rc == KVX_OK && key != NULL)
			rc = kvx_append_string(b, value);
	}
	if (iter != NULL)
		api->params_destroy_iterator(iter);
	return rc;
}
