// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// A library with NIXL's symbols and none of its function, for answers that the
// real one cannot be brought to. The test writes the answers into the name of
// the peer, which the fake takes from the metadata:
//
//     post=-2,0;status=1,1,0;release=-1
//
// Each call takes the next number of its list and then repeats the last; a
// call without a list answers 0. Every call about a request is noted, and the
// notes come back as notifications: that is how a test sees what never reached
// the library. FAKE_OLD leaves out what came with 1.5, FAKE_PARTIAL a symbol.

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API(name) int nixl_capi_##name

struct request {
	char script[256];
	int posts, statuses, releases;
};

static char notes[64][64];
static size_t noted;

static void note(const char *what) {
	if (noted < sizeof(notes) / sizeof(notes[0]))
		snprintf(notes[noted++], sizeof(notes[0]), "%s", what);
}

// answer finds number n of the list that follows key in script.
static int answer(const char *script, const char *key, int n) {
	const char *p = strstr(script, key);
	if (p == NULL)
		return 0;
	p += strlen(key);
	int code = (int)strtol(p, (char **)&p, 10);
	while (n-- > 0 && *p == ',')
		code = (int)strtol(p + 1, (char **)&p, 10);
	return code;
}

static int make(void **out) {
	*out = calloc(1, sizeof(struct request));
	return 0;
}

static int drop(void *p) {
	free(p);
	return 0;
}

API(create_configured_agent)(const char *name, const void *config, void **out) { return make(out); }
API(destroy_agent)(void *agent) { noted = 0; return drop(agent); }
API(create_params)(void **out) { return make(out); }
API(params_add)(void *p, const char *key, const char *value) { return 0; }
API(destroy_params)(void *p) { return drop(p); }
API(create_backend)(void *agent, const char *plugin, void *params, void **out) {
	return strcmp(plugin, "NONE") == 0 ? -2 : make(out);
}
API(destroy_backend)(void *p) { return drop(p); }
API(create_opt_args)(void **out) { return make(out); }
API(opt_args_add_backend)(void *p, void *backend) { return 0; }
API(opt_args_set_notif_msg)(void *p, const void *msg, size_t len) { return 0; }
API(opt_args_set_has_notif)(void *p, bool set) { return 0; }
API(destroy_opt_args)(void *p) { return drop(p); }

API(create_reg_dlist)(int mem, void **out) { return make(out); }
API(reg_dlist_add_desc)(void *p, uintptr_t addr, size_t len, uint64_t dev, const void *md, size_t n) { return 0; }
API(destroy_reg_dlist)(void *p) { return drop(p); }
API(register_mem)(void *agent, void *list, void *args) { return 0; }
API(deregister_mem)(void *agent, void *list, void *args) { note("deregister"); return 0; }
API(create_xfer_dlist)(int mem, void **out) { return make(out); }
API(xfer_dlist_add_desc)(void *p, uintptr_t addr, size_t len, uint64_t dev) { return 0; }
API(destroy_xfer_dlist)(void *p) { return drop(p); }

API(get_local_md)(void *agent, void **data, size_t *len) {
	*data = strdup("local");
	*len = 5;
	return 0;
}
API(load_remote_md)(void *agent, const void *data, size_t len, char **name) {
	*name = strndup(data, len);
	return 0;
}
API(invalidate_remote_md)(void *agent, const char *name) { note("invalidate"); return 0; }
API(check_remote_md)(void *agent, const char *name, void *list) { return 0; }
API(agent_make_connection)(void *agent, const char *name, void *args) { return 0; }

static const char *const plugins[] = {"UCX", "POSIX"};
API(get_available_plugins)(void *agent, void **out) { return make(out); }
API(string_list_size)(void *list, size_t *n) { *n = 2; return 0; }
API(string_list_get)(void *list, size_t i, const char **s) { *s = plugins[i]; return 0; }
API(destroy_string_list)(void *p) { return drop(p); }

API(prep_xfer_dlist)(void *agent, const char *name, void *list, void **out, void *args) { return make(out); }
API(release_xfer_dlist_handle)(void *agent, void *p) { return drop(p); }
API(make_xfer_req)(void *agent, int op, void *l, const int *li, size_t ln, void *r, const int *ri, size_t rn, void **out, void *args) {
	return make(out);
}
API(create_xfer_req)(void *agent, int op, void *l, void *r, const char *name, void **out, void *args) {
	if (answer(name, "create=", 0) != 0)
		return answer(name, "create=", 0);
	make(out);
	snprintf(((struct request *)*out)->script, 256, "%s", name);
	return 0;
}
API(post_xfer_req)(void *agent, void *req, void *args) {
	struct request *r = req;
	note("post");
	return answer(r->script, "post=", r->posts++);
}
API(get_xfer_status)(void *agent, void *req) {
	struct request *r = req;
	note("status");
	return answer(r->script, "status=", r->statuses++);
}
API(release_xfer_req)(void *agent, void *req) {
	struct request *r = req;
	note("release");
	return answer(r->script, "release=", r->releases++);
}
API(destroy_xfer_req)(void *req) { return drop(req); }

API(create_notif_map)(void **out) { return make(out); }
API(destroy_notif_map)(void *p) { return drop(p); }
API(get_notifs)(void *agent, void *map, void *args) { return 0; }
API(notif_map_size)(void *map, size_t *n) { *n = noted != 0; return 0; }
API(notif_map_get_agent_at)(void *map, size_t i, const char **name) { *name = "fake"; return 0; }
API(notif_map_get_notifs_size)(void *map, const char *agent, size_t *n) { *n = noted; return 0; }
API(notif_map_get_notif)(void *map, const char *agent, size_t i, const void **data, size_t *len) {
	*data = notes[i];
	*len = strlen(notes[i]);
	return 0;
}
API(notif_map_clear)(void *map) { noted = 0; return 0; }
#ifndef FAKE_PARTIAL
API(gen_notif)(void *agent, const char *name, const void *msg, size_t len, void *args) { return -6; }
#endif
#ifndef FAKE_OLD
API(prep_mem_view_local)(void *agent, void *list, void **out, void *args) { return 0; }
#endif
