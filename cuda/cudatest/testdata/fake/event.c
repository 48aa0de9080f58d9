// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

#include "fake.h"

API int cuEventCreate(void **out, unsigned flags) {
	(void)flags;
	ENTER("cuEventCreate");
	if (rc == OK) {
		struct event *e = calloc(1, sizeof(*e));
		e->ctx = current();
		*out = e;
	}
	LEAVE;
}

API int cuEventDestroy_v2(void *event) {
	ENTER("cuEventDestroy");
	if (rc == OK)
		((struct event *)event)->ctx = NULL; // kept: work may name it
	LEAVE;
}

static int check_event(struct event *e) { return e == NULL || e->ctx == NULL ? INVALID_HANDLE : OK; }

API int cuEventRecord(void *event, void *stream) {
	struct event *e = event;
	ENTER("cuEventRecord");
	if (rc == OK)
		rc = e->ctx != current() ? INVALID_HANDLE : check_event(e);
	if (rc == OK)
		rc = enqueue(stream, (struct work){.kind = RECORD, .event = e, .number = ++e->recorded});
	LEAVE;
}

API int cuEventQuery(void *event) {
	struct event *e = event;
	ENTER("cuEventQuery");
	if (rc == OK)
		rc = check_event(e);
	if (rc == OK && e->done < e->recorded)
		rc = NOT_READY;
	LEAVE;
}

API int cuEventSynchronize(void *event) {
	ENTER("cuEventSynchronize");
	if (rc == OK)
		rc = check_event(event);
	if (rc == OK)
		rc = wait_for(NULL, event);
	LEAVE;
}

API int cuEventElapsedTime(float *ms, void *from, void *to) {
	ENTER("cuEventElapsedTime");
	struct event *a = from, *b = to;
	*ms = (float)(b->done - a->done) + 1.5f;
	LEAVE;
}

API int cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
	(void)flags;
	struct event *e = event;
	ENTER("cuStreamWaitEvent");
	if (rc == OK)
		rc = check_event(e);
	if (rc == OK)
		rc = enqueue(stream, (struct work){.kind = WAIT, .event = e, .number = e->recorded});
	LEAVE;
}
