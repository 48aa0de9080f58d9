// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

#include "raw.h"

#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { IN_PROGRESS = 1 };

// transfer is one in flight.
struct transfer {
	void *request; // NULL: none
	int rc;
	int64_t began, posted, done;
};

static int control = -1;
static int64_t times[2 * MAX_TRANSFERS];

static void *list_of(uintptr_t base, const struct work *w)
{
	void *list;
	must("create_xfer_dlist", api.create_xfer_dlist(0, &list));
	for (size_t i = 0; i < w->count; i++)
		must("add", api.xfer_dlist_add_desc(list, base + i * w->stride, w->len, 0));
	return list;
}

static void begin(const struct work *w, size_t index, struct transfer *t)
{
	void *ours, *theirs;
	t->began = now();
	ours = list_of((uintptr_t)memory + index * w->slot, w);
	theirs = list_of(w->remote + index * w->slot, w);
	must("create_xfer_req", api.create_xfer_req(agent, w->op, ours, theirs, w->peer, &t->request, NULL));
	api.destroy_xfer_dlist(ours);
	api.destroy_xfer_dlist(theirs);
	t->posted = now();
	t->rc = api.post_xfer_req(agent, t->request, NULL);
	t->done = now();
}

// ended asks whether a transfer is over.
static int ended(struct transfer *t)
{
	if (t->rc == IN_PROGRESS) {
		t->rc = api.get_xfer_status(agent, t->request);
		t->done = now();
	}
	if (t->rc == IN_PROGRESS)
		return 0;
	must("transfer", t->rc);
	return 1;
}

static void drop(struct transfer *t)
{
	must("release_xfer_req", api.release_xfer_req(agent, t->request));
	api.destroy_xfer_req(t->request);
	t->request = NULL;
}

// tell answers with the CPU used, the time it took, and a list of times.
static void tell(int64_t used, int64_t took, const int64_t *list, size_t n)
{
	printf("ok %lld %lld", (long long)used, (long long)took);
	for (size_t i = 0; i < n; i++)
		printf(" %lld", (long long)list[i]);
	printf("\n");
}

// run goes from one transfer to the next: from the post to its end, and from
// before the request was built to after its release.
void run(const struct work *w)
{
	struct transfer slots[MAX_WINDOW] = {0};
	size_t begun = 0, over = 0;
	int64_t used = cpu(), start = now();
	for (; begun < w->window && begun < w->transfers; begun++)
		begin(w, begun, &slots[begun]);
	for (size_t i = 0; over < w->transfers; i = (i + 1) % w->window) {
		struct transfer *t = &slots[i];
		if (t->request == NULL || !ended(t))
			continue;
		drop(t);
		times[2 * over] = t->done - t->posted;
		times[2 * over + 1] = now() - t->began;
		over++;
		if (begun < w->transfers)
			begin(w, i, t), begun++;
	}
	tell(cpu() - used, now() - start, times, 2 * over);
}

// message asks for a transfer, or says that it is over. One without work says
// that there will be no more.
struct message {
	struct work work;
	size_t index;
};

static socklen_t address(const char *name, struct sockaddr_un *a)
{
	memset(a, 0, sizeof(*a));
	a->sun_family = AF_UNIX;
	strncpy(a->sun_path + 1, name, sizeof(a->sun_path) - 2); // abstract
	return offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name);
}

void listen_at(const char *name)
{
	struct sockaddr_un a;
	socklen_t len = address(name, &a);
	int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&a, len) != 0 || listen(listener, 1) != 0)
		fail("listen", 0);
	printf("ok\n");
	fflush(stdout);
	control = accept(listener, NULL, NULL);
	if (control < 0)
		fail("accept", 0);
	close(listener);
}

void dial(const char *name)
{
	struct sockaddr_un a;
	socklen_t len = address(name, &a);
	control = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	if (control < 0 || connect(control, (struct sockaddr *)&a, len) != 0)
		fail("connect", 0);
	printf("ok\n");
}

static void say(const struct work *w, size_t index)
{
	struct message m = {.index = index};
	if (w != NULL)
		m.work = *w;
	if (send(control, &m, sizeof(m), MSG_NOSIGNAL) != sizeof(m))
		fail("send", 0);
}

static int hear(struct message *m, int flags)
{
	return recv(control, m, sizeof(*m), flags) == sizeof(*m);
}

// answer posts what is asked for, and sleeps only where nothing is in flight.
void answer(void)
{
	struct transfer slots[MAX_WINDOW] = {0};
	struct message m;
	size_t running = 0, over = 0;
	int64_t used = cpu(), start = now();
	for (int more = 1; more || running > 0;) {
		if (more && hear(&m, running > 0 ? MSG_DONTWAIT : 0)) {
			if (m.work.count == 0)
				more = 0;
			else
				begin(&m.work, m.index, &slots[m.index]), running++;
		}
		for (size_t i = 0; i < MAX_WINDOW && running > 0; i++) {
			if (slots[i].request == NULL || !ended(&slots[i]))
				continue;
			say(&m.work, i);
			times[over++] = slots[i].done - slots[i].posted;
			drop(&slots[i]);
			running--;
		}
	}
	tell(cpu() - used, now() - start, times, over);
}

// Waiting as the owned path's target does: some passes that make progress, then
// naps, which a message ends.
enum { SPINS = 16, NAP_NS = 20000, MAX_NAP_NS = 100000 };

static void await(struct message *m)
{
	struct pollfd in = {.fd = control, .events = POLLIN};
	struct timespec nap = {.tv_nsec = NAP_NS};
	for (int passes = 0;; passes++) {
		must("get_notifs", api.get_notifs(agent, notes, NULL));
		if (hear(m, MSG_DONTWAIT))
			return;
		if (passes < SPINS)
			continue;
		ppoll(&in, 1, &nap, NULL);
		nap.tv_nsec = nap.tv_nsec * 2 < MAX_NAP_NS ? nap.tv_nsec * 2 : MAX_NAP_NS;
	}
}

// ask asks for window transfers ahead, and for another one when one is over: from
// the request to the answer.
void ask(const struct work *w)
{
	int64_t began[MAX_WINDOW];
	struct message m;
	size_t asked = 0, over = 0;
	int64_t used = cpu(), start = now();
	for (; asked < w->window && asked < w->transfers; asked++) {
		began[asked] = now();
		say(w, asked);
	}
	while (over < w->transfers) {
		await(&m);
		times[over++] = now() - began[m.index];
		if (asked < w->transfers) {
			began[m.index] = now();
			say(w, m.index), asked++;
		}
	}
	tell(cpu() - used, now() - start, times, over);
	say(NULL, 0);
}
