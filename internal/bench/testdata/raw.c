// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// The bare loop over NIXL's C interface that everything else is compared with:
// both sides of a transfer, without any ownership. It is told what to do in
// lines, see lines.go; everything is as fast as the interface allows, with the
// settings that the binding has too: no progress thread, memory in huge pages.
// The initiator of run asks for the status and its target for notifications,
// spinning; those of answer and ask sleep when nothing comes, as ours do.

#include "raw.h"

#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { READ_OP = 0, WRITE_OP = 1, STRICT = 1, MAX_LINE = 1 << 20 };

struct kvx_api api;
void *agent, *notes;
char *memory;
static char line[MAX_LINE];

void fail(const char *what, int rc)
{
	printf("error %s: %d\n", what, rc);
	fflush(stdout);
	exit(1);
}

void must(const char *what, int rc)
{
	if (rc != KVX_OK)
		fail(what, rc);
}

int64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int64_t cpu(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * INT64_C(1000000000) +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * INT64_C(1000);
}

static void load_library(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (lib == NULL)
		fail(dlerror(), 0);
#define LOAD(name, args) api.name = (int(*) args)dlsym(lib, "nixl_capi_" #name);
	KVX_REQUIRED(LOAD)
#undef LOAD
}

static void map_memory(size_t size)
{
	const size_t huge = 2 << 20;
	char *at = mmap(NULL, size + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		fail("mmap", 0);
	memory = (char *)(((uintptr_t)at + huge - 1) / huge * huge);
	madvise(memory, size, MADV_HUGEPAGE);
	memset(memory, 1, size);
}

static void init(const char *name, size_t size)
{
	struct kvx_agent_config config = {.sync = STRICT};
	void *backend, *params, *list, *md;
	size_t len;
	must("create_agent", api.create_configured_agent(name, &config, &agent));
	must("create_params", api.create_params(&params));
	must("create_backend", api.create_backend(agent, "UCX", params, &backend));
	map_memory(size);
	must("reg_dlist", api.create_reg_dlist(0, &list));
	must("add", api.reg_dlist_add_desc(list, (uintptr_t)memory, size, 0, NULL, 0));
	must("register_mem", api.register_mem(agent, list, NULL));
	must("get_local_md", api.get_local_md(agent, &md, &len));
	must("create_notif_map", api.create_notif_map(&notes));
	printf("ok %zu ", (size_t)memory);
	for (size_t i = 0; i < len; i++)
		printf("%02x", ((unsigned char *)md)[i]);
	printf("\n");
}

static void load(const char *hex)
{
	size_t len = strlen(hex) / 2;
	unsigned char *md = malloc(len);
	char *name;
	for (size_t i = 0; i < len; i++)
		sscanf(hex + 2 * i, "%2hhx", &md[i]);
	must("load_remote_md", api.load_remote_md(agent, md, len, &name));
	printf("ok\n");
}

// serve makes progress until the next line is there.
static void serve(void)
{
	struct pollfd in = {.fd = 0, .events = POLLIN};
	int64_t began = cpu();
	printf("ok\n");
	fflush(stdout);
	for (;;) {
		for (int i = 0; i < 32; i++)
			must("get_notifs", api.get_notifs(agent, notes, NULL));
		if (poll(&in, 1, 0) != 0)
			break;
	}
	if (fgets(line, sizeof(line), stdin) == NULL)
		exit(0);
	printf("ok %lld\n", (long long)(cpu() - began));
}

// read_work reads what to do, after the name of the order.
static bool read_work(const char *order, struct work *w)
{
	char op[16];
	size_t n = strlen(order);
	if (strncmp(line, order, n) != 0 ||
	    sscanf(line + n, " %15s %zu %zu %zu %63s %zu %zu %zu %zu", op, &w->len, &w->count, &w->stride,
		   w->peer, &w->remote, &w->transfers, &w->window, &w->slot) != 9)
		return false;
	w->op = strcmp(op, "READ") == 0 ? READ_OP : WRITE_OP;
	if (w->window == 0 || w->window > MAX_WINDOW || w->transfers > MAX_TRANSFERS)
		fail("too many transfers", 0);
	return true;
}

int main(int argc, char **argv)
{
	char name[64];
	size_t size;
	struct work w;
	if (argc != 2)
		return 2;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	load_library(argv[1]);
	setvbuf(stdin, NULL, _IONBF, 0); // poll must see what fgets has not taken
	while (fgets(line, sizeof(line), stdin) != NULL) {
		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "init %63s %zu", name, &size) == 2)
			init(name, size);
		else if (strncmp(line, "load ", 5) == 0)
			load(line + 5);
		else if (strcmp(line, "serve") == 0)
			serve();
		else if (read_work("run", &w))
			run(&w);
		else if (sscanf(line, "listen %63s", name) == 1)
			listen_at(name);
		else if (sscanf(line, "dial %63s", name) == 1)
			dial(name);
		else if (read_work("ask", &w))
			ask(&w);
		else if (strcmp(line, "answer") == 0)
			answer();
		else
			fail("unknown order", 0);
		fflush(stdout);
	}
	return 0;
}
