// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// A buffer that grows, and what several of the shim's files need.

#ifndef KVX_SHIM_BUFFER_H
#define KVX_SHIM_BUFFER_H

#include <stdlib.h>
#include <string.h>

#include "shim.h"

#define PTR(handle) ((void *)(handle))

// struct kvx_buffer is allocated memory; data is NULL while empty. The caller
// frees it.
struct kvx_buffer {
	char *data;
	size_t len, cap;
};

static inline int kvx_append(struct kvx_buffer *b, const void *data, size_t len) {
	if (b->len + len > b->cap) {
		size_t cap = (b->len + len) * 2;
		char *grown = realloc(b->data, cap);
		if (grown == NULL)
			return KVX_NO_MEMORY;
		b->data = grown;
		b->cap = cap;
	}
	if (len != 0)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	return KVX_OK;
}

// kvx_append_string appends a string with its zero byte.
static inline int kvx_append_string(struct kvx_buffer *b, const char *s) {
	return kvx_append(b, s, strlen(s) + 1);
}

// kvx_give hands the buffer to the caller, or frees it after an error.
static inline int kvx_give(int rc, struct kvx_buffer *b, char **data, size_t *len) {
	if (rc != KVX_OK) {
		free(b->data);
		return rc;
	}
	*data = b->data;
	*len = b->len;
	return KVX_OK;
}

// struct kvx_options are the optional arguments of a call; the zero value is none.
struct kvx_options {
	uintptr_t backend; // 0: the library chooses
	const void *msg;
	size_t msg_len; // 0: no notification
	const void *custom;
	size_t custom_len;
	bool skip_merge;
	const char *ip; // NULL or empty: none
	uint16_t port;
};

// kvx_make_options makes the library's own object of them; NULL when nothing
// is wanted. It lives until kvx_drop_options; the library copies it.
int kvx_make_options(const struct kvx_api *api, const struct kvx_options *o, void **out);
void kvx_drop_options(const struct kvx_api *api, void *args);

// Lists from arrays. Each is destroyed right after the call that reads it: the
// library copies it.
int kvx_transfer_list(const struct kvx_api *api, int mem, const struct kvx_desc *descs,
		      size_t count, void **list);
int kvx_registration_list(const struct kvx_api *api, int mem, const struct kvx_desc *descs,
			  size_t count, const char *blobs, const uint32_t *blob_lens, void **list);

// kvx_append_params appends key, value, key, value of a params object.
int kvx_append_params(const struct kvx_api *api, void *params, struct kvx_buffer *b);

#endif
