// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

#ifndef KVX_CUDA_CONTEXT_H
#define KVX_CUDA_CONTEXT_H

#include "shim.h"

#define PTR(handle) ((void *)(handle))

// IN_CONTEXT makes the call with the context current. The call's own answer
// goes first: what the pop has to say is about something earlier.
#define IN_CONTEXT(call) \
	do { \
		int rc = d->CtxPushCurrent_v2(PTR(ctx)); \
		if (rc != 0) \
			return rc; \
		rc = (call); \
		void *popped; \
		int back = d->CtxPopCurrent_v2(&popped); \
		return rc != 0 ? rc : back; \
	} while (0)

#endif
