// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// What the two files of the bare loop share: raw.c is the process and its
// orders, loops.c the transfers.

#ifndef RAW_H
#define RAW_H

#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"

enum { MAX_TRANSFERS = 100000, MAX_WINDOW = 64 };

extern struct kvx_api api;
extern void *agent, *notes;
extern char *memory;

// work is some transfers of one shape, window of them at a time. A slot is where
// one of those at a time lies in the memory of both sides; 0 where there is one.
struct work {
	int op;
	size_t len, count, stride, remote, transfers, window, slot;
	char peer[64];
};

void fail(const char *what, int rc);
void must(const char *what, int rc);
int64_t now(void);
int64_t cpu(void);

// Not asked for: one transfer after the other.
void run(const struct work *w);

// Asked for over a Unix socket: the target asks and waits, the initiator answers.
void listen_at(const char *name);
void dial(const char *name);
void ask(const struct work *w);
void answer(void);

#endif
