// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

#include "fake.h"

void fake_add(struct list *l, struct desc d) {
	if (l->n == l->cap) {
		l->cap = l->cap * 2 + 4;
		l->d = realloc(l->d, l->cap * sizeof(*l->d));
	}
	l->d[l->n++] = d;
}

void fake_copy_list(struct list *to, const struct list *from) {
	*to = *from;
	to->d = NULL;
	if (from->n != 0) {
		to->d = malloc(from->n * sizeof(*from->d));
		memcpy(to->d, from->d, from->n * sizeof(*from->d));
	}
	to->cap = from->n;
}

bool fake_covers(const struct list *have, int mem, const struct list *want) {
	for (size_t i = 0; i < want->n; i++) {
		const struct desc *w = &want->d[i];
		bool found = false;
		for (size_t j = 0; j < have->n && !found; j++) {
			const struct desc *h = &have->d[j];
			found = (int)h->dev == mem && w->addr >= h->addr &&
				w->addr + w->len <= h->addr + h->len && w->addr + w->len >= w->addr;
		}
		if (!found)
			return false;
	}
	return true;
}

static int make_list(int mem, void **out) {
	struct list *l = fake_new(sizeof(*l));
	memset(l, 0, sizeof(*l));
	l->mem = mem;
	*out = l;
	return OK;
}
static int drop_list(void *p) {
	free(((struct list *)p)->d);
	return fake_delete(p);
}

API(create_reg_dlist)(int mem, void **out) { return make_list(mem, out); }
API(reg_dlist_add_desc)(void *p, uintptr_t addr, size_t len, uint64_t dev, const void *blob, size_t n) {
	struct list *l = p;
	memset(l->blob, 0, sizeof(l->blob));
	if (n != 0)
		memcpy(l->blob, blob, n < sizeof(l->blob) ? n : sizeof(l->blob) - 1);
	fake_add(l, (struct desc){addr, len, dev, l->blob[0] == 'x' ? NULL : "blob"});
	return OK;
}
API(destroy_reg_dlist)(void *p) { return drop_list(p); }
API(create_xfer_dlist)(int mem, void **out) { return make_list(mem, out); }
API(xfer_dlist_add_desc)(void *p, uintptr_t addr, size_t len, uint64_t dev) {
	fake_add(p, (struct desc){addr, len, dev, NULL});
	return OK;
}
API(destroy_xfer_dlist)(void *p) { return drop_list(p); }
API(create_remote_dlist)(int mem, void **out) { return make_list(mem, out); }
API(remote_dlist_add_desc)(void *p, uintptr_t addr, size_t len, uint64_t dev, const char *agent) {
	fake_add(p, (struct desc){addr, len, dev, NULL});
	return agent == NULL ? BAD_PARAM : OK;
}
API(destroy_remote_dlist)(void *p) { return drop_list(p); }

// Registered memory has its kind where a descriptor has its device.
API(register_mem)(void *handle, void *list, void *args) {
	LOCKED;
	struct agent *a = handle;
	struct list *l = list;
	for (size_t i = 0; i < l->n; i++)
		fake_add(&a->memory, (struct desc){l->d[i].addr, l->d[i].len, l->mem, NULL});
	return OK;
}
API(deregister_mem)(void *handle, void *list, void *args) {
	LOCKED;
	struct agent *a = handle;
	struct list *l = list;
	fake_note("deregister");
	int rc = fake_ordered("deregister=");
	if (rc != OK)
		return rc;
	for (size_t i = 0; i < l->n; i++) {
		size_t j = 0;
		while (j < a->memory.n && (a->memory.d[j].addr != l->d[i].addr ||
					   a->memory.d[j].len != l->d[i].len || (int)a->memory.d[j].dev != l->mem))
			j++;
		if (j == a->memory.n)
			return NOT_FOUND;
		a->memory.d[j] = a->memory.d[--a->memory.n];
	}
	return OK;
}

// Parameters: the same two for everybody.
static const char *const params[][2] = {{"depth", "7"}, {"empty", ""}};

API(create_params)(void **out) { *out = fake_new(64); return OK; }
API(params_add)(void *p, const char *key, const char *value) { return OK; }
API(destroy_params)(void *p) { return fake_delete(p); }
API(params_is_empty)(void *p, bool *empty) { *empty = false; return OK; }
API(params_create_iterator)(void *p, void **out) {
	*out = fake_new(64);
	*(size_t *)*out = 0;
	return OK;
}
API(params_iterator_next)(void *iter, const char **key, const char **value, bool *more) {
	size_t *i = iter;
	*key = params[*i][0];
	*value = params[*i][1];
	*more = ++*i < 2;
	return OK;
}
API(params_destroy_iterator)(void *p) { return fake_delete(p); }
API(mem_list_size)(void *p, size_t *n) { *n = 2; return OK; }
API(mem_list_get)(void *p, size_t i, int *mem) { *mem = i == 0 ? 0 : 4; return OK; }
API(destroy_mem_list)(void *p) { return fake_delete(p); }
API(get_plugin_params)(void *a, const char *plugin, void **mems, void **out) {
	if (strcmp(plugin, "NONE") == 0)
		return BACKEND;
	*mems = fake_new(64);
	return nixl_capi_create_params(out);
}
API(get_backend_params)(void *a, void *backend, void **mems, void **out) {
	*mems = fake_new(64);
	return nixl_capi_create_params(out);
}

// A query finds what a blob names, unless it starts with an x.
API(create_query_resp_list)(void **out) { return make_list(0, out); }
API(destroy_query_resp_list)(void *p) { return drop_list(p); }
API(query_resp_list_size)(void *p, size_t *n) { *n = ((struct list *)p)->n; return OK; }
API(query_resp_list_has_value)(void *p, size_t i, bool *has) {
	*has = ((struct list *)p)->d[i].agent != NULL;
	return OK;
}
API(query_resp_list_get_params)(void *p, size_t i, void **out) { return nixl_capi_create_params(out); }
API(query_mem)(void *a, void *list, void *out, void *args) {
	struct list *l = list;
	for (size_t i = 0; i < l->n; i++)
		fake_add(out, l->d[i]);
	return args == NULL ? BACKEND : OK;
}

static const char *const plugins[] = {"UCX", "POSIX"};
API(get_available_plugins)(void *agent, void **out) { *out = fake_new(64); return OK; }
API(string_list_size)(void *list, size_t *n) { *n = 2; return OK; }
API(string_list_get)(void *list, size_t i, const char **s) { *s = plugins[i]; return OK; }
API(destroy_string_list)(void *p) { return fake_delete(p); }
API(create_backend)(void *agent, const char *plugin, void *params, void **out) {
	if (strcmp(plugin, "NONE") == 0)
		return BACKEND;
	struct backend *b = fake_new(sizeof(*b));
	b->inner = b;
	*out = b;
	return OK;
}
API(destroy_backend)(void *p) { return fake_delete(p); }

API(create_opt_args)(void **out) {
	struct options *o = fake_new(sizeof(*o));
	*out = o;
	return OK;
}
API(opt_args_add_backend)(void *p, void *b) {
	((struct options *)p)->backend = ((struct backend *)b)->inner;
	return OK;
}
API(opt_args_set_notif_msg)(void *p, const void *msg, size_t len) {
	struct options *o = p;
	o->note = malloc(len);
	o->note_len = len;
	memcpy(o->note, msg, len);
	return OK;
}
API(opt_args_set_has_notif)(void *p, bool set) { ((struct options *)p)->has_note = set; return OK; }
API(opt_args_set_skip_desc_merge)(void *p, bool skip) { return OK; }
API(opt_args_set_ip_addr)(void *p, const char *ip) { return ip[0] == 0 ? BAD_PARAM : OK; }
API(opt_args_set_port)(void *p, uint16_t port) { return port == 0 ? BAD_PARAM : OK; }
API(destroy_opt_args)(void *p) {
	free(((struct options *)p)->note);
	return fake_delete(p);
}

#ifndef FAKE_OLD
API(opt_args_set_custom_param)(void *p, const void *data, size_t len) { return OK; }
API(prep_mem_view_local)(void *a, void *list, void **out, void *args) { *out = fake_new(64); return OK; }
API(prep_mem_view_remote)(void *a, void *list, void **out, void *args) { *out = fake_new(64); return OK; }
API(release_mem_view)(void *a, void *view) { return fake_delete(view); }
#endif
