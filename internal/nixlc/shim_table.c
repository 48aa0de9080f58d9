// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

#include "shim.h"

#include <string.h>

#define KVX_NAME(name, args) "nixl_capi_" #name,

static const char *const names[] = {KVX_REQUIRED(KVX_NAME) KVX_OPTIONAL(KVX_NAME)};
static const char *const required[] = {KVX_REQUIRED(KVX_NAME)};

_Static_assert(sizeof(struct kvx_api) == sizeof(names), "one field a symbol");

size_t kvx_symbol_count(void) { return sizeof(names) / sizeof(names[0]); }

size_t kvx_required_count(void) { return sizeof(required) / sizeof(required[0]); }

const char *kvx_symbol_name(size_t i) { return names[i]; }

void kvx_set_symbol(struct kvx_api *api, size_t i, void *address) {
	memcpy((char *)api + i * sizeof(void *), &address, sizeof(address));
}
