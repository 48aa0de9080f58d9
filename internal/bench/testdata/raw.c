// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// The bare loop over NIXL's C interface that everything else is compared with:
// both sides of a transfer, without any ownership. It is told what to do in
// lines, see lines.go; everything is as fast as the interface allows, with the
// settings that the binding has too: no progress thread, memory in huge pages,
// the initiator asks for the status and the target for notifications, spinning.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "abi.h"

enum { IN_PROGRESS = 1, READ_OP = 0, WRITE_OP = 1, STRICT = 1, MAX_LINE = 1 << 20 };

static struct kvx_api api;
static void *agent, *notes;
static char *memory;
static char line[MAX_LINE];

static void fail(const char *what, int rc)
{
	printf("error %s: %d\n", what, rc);
	fflush(stdout);
	exit(1);
}

static void must(const char *what, int rc)
{
	if (rc != KVX_OK)
		fail(what, rc);
}

static int64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int64_t cpu(void)
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

static void *list_of(uintptr_t base, size_t len, size_t count, size_t stride)
{
	void *list;
	must("create_xfer_dlist", api.create_xfer_dlist(0, &list));
	for (size_t i = 0; i < count; i++)
		must("add", api.xfer_dlist_add_desc(list, base + i * stride, len, 0));
	return list;
}

// transfer does one: the times are from the post to its end, and from before
// the request was built to after its release.
static void transfer(int op, const char *peer, uintptr_t remote, size_t len, size_t count,
		     size_t stride, int64_t *times)
{
	void *request, *ours, *theirs;
	int64_t began = now();
	ours = list_of((uintptr_t)memory, len, count, stride);
	theirs = list_of(remote, len, count, stride);
	must("create_xfer_req", api.create_xfer_req(agent, op, ours, theirs, peer, &request, NULL));
	api.destroy_xfer_dlist(ours);
	api.destroy_xfer_dlist(theirs);
	int64_t posted = now();
	int rc = api.post_xfer_req(agent, request, NULL);
	while (rc == IN_PROGRESS)
		rc = api.get_xfer_status(agent, request);
	int64_t done = now();
	must("transfer", rc);
	must("release_xfer_req", api.release_xfer_req(agent, request));
	api.destroy_xfer_req(request);
	times[0] = done - posted;
	times[1] = now() - began;
}

static void run(void)
{
	static int64_t times[2 * 100000];
	char op[16], peer[64];
	size_t len, count, stride, remote, n, gap;
	if (sscanf(line, "run %15s %zu %zu %zu %63s %zu %zu %zu", op, &len, &count, &stride, peer, &remote, &n, &gap) != 8 || n > 100000)
		fail("run: arguments", 0);
	int64_t began = cpu();
	for (size_t i = 0; i < n; i++) {
		if (gap != 0)
			usleep(gap);
		transfer(strcmp(op, "READ") == 0 ? READ_OP : WRITE_OP, peer, remote, len, count, stride, times + 2 * i);
	}
	printf("ok %lld", (long long)(cpu() - began));
	for (size_t i = 0; i < 2 * n; i++)
		printf(" %lld", (long long)times[i]);
	printf("\n");
}

int main(int argc, char **argv)
{
	char name[64];
	size_t size;
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
		else if (strncmp(line, "run ", 4) == 0)
			run();
		else
			fail("unknown order", 0);
		fflush(stdout);
	}
	return 0;
}
