// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

#include "fake.h"

struct op *ops;

// fake_answer finds number n of the list that follows key in script.
int fake_answer(const char *script, const char *key, int n) {
	const char *p = strstr(script, key);
	if (p == NULL)
		return 0;
	p += strlen(key);
	int code = (int)strtol(p, (char **)&p, 10);
	while (n-- > 0 && *p == ',')
		code = (int)strtol(p + 1, (char **)&p, 10);
	return code;
}

bool fake_scripted(const char *name) { return strchr(name, '=') != NULL; }

// allowed says why a request may not be made.
static int allowed(struct agent *a, const char *peer, const struct list *l, const struct list *r) {
	struct remote *to = fake_remote(a, peer);
	if (fake_scripted(peer))
		return fake_answer(peer, "create=", 0);
	if (to == NULL && strcmp(peer, a->name) != 0)
		return BACKEND;
	if (l->n == 0 || l->n != r->n || !fake_covers(&a->memory, l->mem, l) ||
	    !fake_covers(to == NULL ? &a->memory : &to->memory, r->mem, r))
		return BACKEND;
	for (size_t i = 0; i < l->n; i++)
		if (l->d[i].len != r->d[i].len)
			return BACKEND;
	return OK;
}

static int make(struct agent *a, int op, struct list *l, struct list *r, const char *peer,
		void **out, struct options *o) {
	int rc = allowed(a, peer, l, r);
	if (rc != OK)
		return rc;
	struct request *q = fake_new(sizeof(*q));
	struct remote *to = fake_remote(a, peer);
	snprintf(q->peer, sizeof(q->peer), "%s", peer);
	q->generation = to == NULL ? a->generation : to->generation;
	q->op = op;
	fake_copy_list(&q->local, l);
	fake_copy_list(&q->remote, r);
	if (o != NULL && o->has_note) {
		q->note = malloc(o->note_len);
		q->note_len = o->note_len;
		memcpy(q->note, o->note, o->note_len);
	}
	q->backend = o == NULL ? NULL : o->backend;
	*out = q;
	return OK;
}

API(create_xfer_req)(void *a, int op, void *l, void *r, const char *peer, void **out, void *args) {
	LOCKED;
	return make(a, op, l, r, peer, out, args);
}

API(prep_xfer_dlist)(void *handle, const char *peer, void *list, void **out, void *args) {
	LOCKED;
	struct agent *a = handle;
	struct list *l = list;
	struct remote *to = fake_remote(a, peer);
	if (peer[0] != 0 && to == NULL && strcmp(peer, a->name) != 0)
		return NOT_FOUND;
	if (fake_scripted(peer) && fake_answer(peer, "prep=", 0) != OK)
		return fake_answer(peer, "prep=", 0);
	if (!fake_scripted(peer) && !fake_covers(to == NULL ? &a->memory : &to->memory, l->mem, l))
		return NOT_FOUND;
	struct prepared *p = fake_new(sizeof(*p));
	snprintf(p->peer, sizeof(p->peer), "%s", peer);
	fake_copy_list(&p->list, l);
	*out = p;
	return OK;
}
API(release_xfer_dlist_handle)(void *a, void *p) {
	LOCKED;
	free(((struct prepared *)p)->list.d);
	return fake_delete(p);
}

API(make_xfer_req)(void *a, int op, void *l, const int *li, size_t ln, void *r, const int *ri,
		   size_t rn, void **out, void *args) {
	LOCKED;
	struct prepared *from = l, *to = r;
	struct list local = {.mem = from->list.mem}, remote = {.mem = to->list.mem};
	int rc = ln == rn && from->peer[0] == 0 ? OK : BAD_PARAM;
	for (size_t i = 0; rc == OK && i < ln; i++) {
		if (li[i] < 0 || (size_t)li[i] >= from->list.n || ri[i] < 0 || (size_t)ri[i] >= to->list.n) {
			rc = BAD_PARAM;
			break;
		}
		fake_add(&local, from->list.d[li[i]]);
		fake_add(&remote, to->list.d[ri[i]]);
	}
	if (rc == OK)
		rc = make(a, op, &local, &remote, to->peer, out, args);
	free(local.d);
	free(remote.d);
	return rc;
}

// move copies an operation's bytes and tells its target.
static void move(struct op *o, struct agent *target) {
	for (size_t i = 0; i < o->local.n; i++) {
		void *l = (void *)(uintptr_t)o->local.d[i].addr, *r = (void *)(uintptr_t)o->remote.d[i].addr;
		memmove(o->write ? r : l, o->write ? l : r, o->local.d[i].len);
	}
	o->moved = true;
	if (o->status == IN_PROGRESS)
		o->status = OK;
	if (o->note_len != 0 && !o->broken)
		fake_deliver(target, o->from->name, o->note, o->note_len);
}

static void free_op(struct op *o) {
	free(o->local.d);
	free(o->remote.d);
	free(o->note);
	free(o);
}

// sweep frees what is over and has no handle any more.
static void sweep(void) {
	for (struct op **p = &ops; *p != NULL;) {
		struct op *o = *p;
		if (!o->orphan || !o->moved) {
			p = &o->next;
			continue;
		}
		*p = o->next;
		free_op(o);
	}
}

void fake_progress(struct agent *a) {
	for (struct op *o = ops; o != NULL; o = o->next)
		if (o->to == a->generation && !o->moved)
			move(o, a);
	sweep();
}

void fake_break(void) {
	for (struct op *o = ops; o != NULL; o = o->next)
		if (!o->moved && o->status == IN_PROGRESS) {
			o->broken = true;
			o->status = BACKEND;
		}
}

// fake_end_ops ends what an agent posted, for good: that is the fence. What
// was posted towards it fails.
void fake_end_ops(struct agent *a) {
	for (struct op *o = ops; o != NULL; o = o->next) {
		if (o->from == a)
			o->orphan = true;
		if (o->from == a || o->to == a->generation) {
			if (!o->moved && o->status == IN_PROGRESS)
				o->status = BACKEND;
			o->moved = true;
		}
	}
	sweep();
}

// start makes an operation of a request, and moves it where nobody is waited for.
static int start(struct agent *a, struct request *q, struct agent *target) {
	struct op *o = calloc(1, sizeof(*o));
	*o = (struct op){.from = a, .to = q->generation, .write = q->op == 1, .status = IN_PROGRESS, .next = ops};
	fake_copy_list(&o->local, &q->local);
	fake_copy_list(&o->remote, &q->remote);
	if (q->note_len != 0) {
		o->note = malloc(q->note_len);
		o->note_len = q->note_len;
		memcpy(o->note, q->note, q->note_len);
	}
	if (q->active != NULL)
		q->active->orphan = true;
	ops = o;
	q->active = o;
	if (target->progresses || target == a)
		move(o, target);
	return o->status;
}

API(post_xfer_req)(void *handle, void *req, void *args) {
	LOCKED;
	struct agent *a = handle;
	struct request *q = req;
	if (q->inner == NULL)
		return BAD_PARAM;
	if (fake_scripted(q->peer)) {
		fake_note("post");
		return fake_answer(q->peer, "post=", q->posts++);
	}
	struct remote *r = fake_remote(a, q->peer);
	if (q->generation != a->generation && (r == NULL || r->generation != q->generation))
		return NOT_FOUND;
	if (q->active != NULL && q->active->status == IN_PROGRESS)
		return BACKEND;
	struct agent *target = fake_agent(q->generation);
	return target == NULL ? BACKEND : start(a, q, target);
}

API(get_xfer_status)(void *handle, void *req) {
	LOCKED;
	struct request *q = req;
	if (fake_scripted(q->peer)) {
		fake_note("status");
		return fake_answer(q->peer, "status=", q->statuses++);
	}
	fake_progress(handle);
	if (q->active == NULL)
		return BACKEND;
	if (q->active->status == IN_PROGRESS && q->generation != ((struct agent *)handle)->generation &&
	    fake_remote(handle, q->peer) == NULL)
		return NOT_FOUND;
	return q->active->status;
}

API(release_xfer_req)(void *agent, void *req) {
	LOCKED;
	struct request *q = req;
	if (q->inner == NULL)
		return BAD_PARAM;
	if (fake_scripted(q->peer)) {
		fake_note("release");
		int rc = fake_answer(q->peer, "release=", q->releases++);
		if (rc != OK)
			return rc;
	}
	q->inner = NULL;
	if (q->active != NULL)
		q->active->orphan = true;
	sweep();
	return OK;
}
API(destroy_xfer_req)(void *req) {
	LOCKED;
	struct request *q = req;
	if (q->inner != NULL)
		return BAD_STATE;
	free(q->local.d);
	free(q->remote.d);
	free(q->note);
	return fake_delete(q);
}

API(estimate_xfer_cost)(void *a, void *req, void *args, int64_t *us, int64_t *margin, int *method) {
	*us = 7;
	*margin = 2;
	*method = 0;
	return OK;
}
API(get_xfer_telemetry)(void *a, void *req, uint64_t *five) {
	LOCKED;
	for (int i = 0; i < 5; i++)
		five[i] = (uint64_t)i + 1;
	return ((struct agent *)a)->telemetry ? OK : NO_TELEMETRY;
}
API(query_xfer_backend)(void *a, void *req, void **out) {
	LOCKED;
	struct backend *b = fake_new(sizeof(*b));
	b->inner = ((struct request *)req)->backend;
	*out = b;
	return OK;
}
