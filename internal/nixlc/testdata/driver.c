// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// A C program that calls every function of the shim against the fake library,
// also where it fails, for a sanitizer to watch.

#include "shim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DECLARE(name, args) int nixl_capi_##name args;
KVX_REQUIRED(DECLARE)
KVX_OPTIONAL(DECLARE)
#define FIELD(name, args) .name = nixl_capi_##name,
static const struct kvx_api api = {KVX_REQUIRED(FIELD) KVX_OPTIONAL(FIELD)};

#define IS(want, call)                                                                         \
	do {                                                                                   \
		int got = (call);                                                              \
		if (got != (want)) {                                                           \
			fprintf(stderr, "line %d: %s = %d, want %d\n", __LINE__, #call, got, want); \
			exit(1);                                                               \
		}                                                                              \
	} while (0)

enum { N = 1000 };
static char memory[2][N];
static struct kvx_desc local[N], remote[N];
static int indices[N];

static void names_and_parameters(uintptr_t a, uintptr_t b) {
	char *strings = NULL;
	size_t len = 0;
	uint32_t mems = 0, lens[2] = {4, 1};
	IS(0, kvx_plugins(&api, a, &strings, &len));
	free(strings);
	IS(0, kvx_plugin_params(&api, a, "UCX", 0, &mems, &strings, &len));
	free(strings);
	IS(0, kvx_plugin_params(&api, a, "UCX", b, &mems, &strings, &len));
	free(strings);
	IS(-2, kvx_plugin_params(&api, a, "NONE", 0, &mems, &strings, &len));
	IS(0, kvx_query_mem(&api, a, 4, local, 2, "herex", lens, b, &strings, &len));
	free(strings);
	IS(-2, kvx_query_mem(&api, a, 4, local, 2, NULL, NULL, 0, &strings, &len));
}

static void metadata(uintptr_t a, const char *peer) {
	void *data = NULL;
	size_t len = 0;
	char *name = NULL;
	IS(0, kvx_local_md(&api, a, &data, &len));
	IS(-1, kvx_load_remote_md(&api, a, data, len, &name));
	IS(-2, kvx_load_remote_md(&api, a, data, len - 1, &name));
	free(data);
	IS(0, kvx_local_partial_md(&api, a, 0, local, 1, 0, &data, &len));
	free(data);
	IS(0, kvx_check_remote_md(&api, a, peer, 0, remote, N));
	IS(-6, kvx_check_remote_md(&api, a, "nobody", 0, NULL, 0));
	IS(0, kvx_make_connection(&api, a, peer));
	IS(0, kvx_send_local_md(&api, a, "127.0.0.1", 1));
	IS(-2, kvx_send_local_md(&api, a, "", 0));
	IS(0, kvx_send_local_partial_md(&api, a, 0, local, 2, "127.0.0.1", 1));
	IS(0, kvx_fetch_remote_md(&api, a, peer, "127.0.0.1", 1));
	IS(0, kvx_invalidate_local_md(&api, a, "127.0.0.1", 1));
}

static void request(uintptr_t a, uintptr_t b, uintptr_t q, uintptr_t notes, uintptr_t target) {
	int32_t code = 0;
	int64_t us = 0;
	int method = 0;
	size_t which = 0, len = 0;
	struct kvx_telemetry telemetry;
	char *data = NULL;
	IS(1, kvx_post(&api, a, q));
	IS(1, kvx_status(&api, a, q));
	IS(0, kvx_take_notifs(&api, target, notes, &data, &len));
	free(data);
	kvx_poll(&api, a, &q, &code, 1);
	IS(0, code);
	kvx_bare_poll(&api, a, &q, &code, 1, 3);
	IS(0, code);
	IS(0, kvx_estimate_cost(&api, a, q, &us, &us, &method));
	IS(-5, kvx_telemetry(&api, a, q, &telemetry));
	IS(0, kvx_request_backend(&api, a, q, &b, 1, &which));
	IS(-3, kvx_destroy_request(&api, q));
	IS(0, kvx_release_request(&api, a, q));
	IS(-1, kvx_release_request(&api, a, q));
	IS(0, kvx_destroy_request(&api, q));
}

static void requests(uintptr_t a, uintptr_t b, const char *peer, uintptr_t notes, uintptr_t target) {
	uintptr_t q = 0, l = 0, r = 0, view = 0;
	const char *names[N];
	IS(0, kvx_create_request(&api, a, 1, 0, local, N, 0, remote, N, peer, b, "note", 4, "x", 1, true, &q));
	request(a, b, q, notes, target);
	IS(-2, kvx_create_request(&api, a, 1, 0, local, N, 0, remote, N, "nobody", b, "note", 4, NULL, 0, false, &q));
	IS(0, kvx_prepare(&api, a, "", 0, local, N, b, &l));
	IS(0, kvx_prepare(&api, a, peer, 0, remote, N, 0, &r));
	IS(-6, kvx_prepare(&api, a, "nobody", 0, remote, N, 0, &view));
	IS(0, kvx_make_request(&api, a, 0, l, indices, N, r, indices, N, b, "n", 1, NULL, 0, false, &q));
	request(a, b, q, notes, target);
	indices[0] = N;
	IS(-1, kvx_make_request(&api, a, 0, l, indices, N, r, indices, N, 0, NULL, 0, NULL, 0, false, &q));
	IS(0, kvx_release_prepared(&api, a, l));
	IS(0, kvx_release_prepared(&api, a, r));
	for (size_t i = 0; i < N; i++)
		names[i] = peer;
	IS(0, kvx_view(&api, a, 0, local, NULL, N, b, &view));
	IS(0, kvx_release_view(&api, a, view));
	IS(0, kvx_view(&api, a, 0, remote, names, N, 0, &view));
	IS(0, kvx_release_view(&api, a, view));
}

int main(void) {
	struct kvx_agent_config config = {.sync = 1};
	const char *pairs[] = {"key", "value"};
	uintptr_t a = 0, b = 0, target = 0, notes = 0;
	uint32_t lens[N] = {3, 2};
	void *md = NULL;
	char *name = NULL;
	size_t len = 0;
	for (size_t i = 0; i < N; i++) {
		local[i] = (struct kvx_desc){(uintptr_t)&memory[0][i], 1, 0};
		remote[i] = (struct kvx_desc){(uintptr_t)&memory[1][N - 1 - i], 1, 0};
		indices[i] = (int)i;
	}
	IS(0, kvx_create_agent(&api, "a", &config, &a));
	IS(0, kvx_create_agent(&api, "target", &config, &target));
	IS(0, kvx_create_backend(&api, a, "UCX", pairs, 1, &b));
	IS(-2, kvx_create_backend(&api, a, "NONE", pairs, 1, &notes));
	IS(0, kvx_create_notif_map(&api, &notes));
	IS(0, kvx_register(&api, a, 0, local, N, "oneto", lens, b, false));
	IS(0, kvx_register(&api, target, 0, remote, N, NULL, NULL, 0, false));
	IS(0, kvx_local_md(&api, target, &md, &len));
	IS(0, kvx_load_remote_md(&api, a, md, len, &name));
	free(md);
	names_and_parameters(a, b);
	metadata(a, name);
	requests(a, b, name, notes, target);
	IS(0, kvx_gen_notif(&api, a, name, "hello", 5));
	IS(0, kvx_invalidate_remote_md(&api, a, name));
	IS(-6, kvx_gen_notif(&api, a, name, "hello", 5));
	free(name);
	IS(0, kvx_register(&api, a, 0, local, N, NULL, NULL, b, true));
	IS(-6, kvx_register(&api, a, 0, local, 1, NULL, NULL, b, true));
	IS(0, kvx_destroy_notif_map(&api, notes));
	IS(0, kvx_destroy_agent(&api, a));
	IS(0, kvx_destroy_agent(&api, target));
	IS(0, kvx_destroy_backend(&api, b));
	return 0;
}
