// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

#include "fake.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
struct fake fake = {.devices = 2, .capacity = 1 << 30, .same_address = 1};

// A rule makes a call fail: after skip calls, count times.
static struct rule {
	char call[48];
	int code, skip, count;
} rules[MAX_RULES];

enum { PAUSE = -1 }; // the code of a rule that makes a call wait
static int resumed;  // how often the test has let such calls go on
static int armed; // rules with a count
static char calls[LOG_LEN];
static size_t logged;

int note(const char *call) {
	size_t len = strlen(call);
	if (logged + len + 2 < LOG_LEN) {
		memcpy(calls + logged, call, len);
		logged += len;
		calls[logged++] = ' ';
	}
	for (int i = 0; armed > 0 && i < MAX_RULES; i++) {
		struct rule *r = &rules[i];
		if (r->count == 0 || strcmp(r->call, call) != 0)
			continue;
		if (r->skip > 0) {
			r->skip--;
			continue;
		}
		if (--r->count == 0)
			armed--;
		if (r->code != PAUSE)
			return r->code;
		for (int now = resumed; now == resumed;)
			pthread_cond_wait(&changed, &lock);
		return OK;
	}
	return OK;
}

// fake_fail makes a call fail with code: after skip calls, count times.
API void fake_fail(const char *call, long code, long skip, long count) {
	pthread_mutex_lock(&lock);
	for (int i = 0; i < MAX_RULES; i++)
		if (rules[i].count == 0) {
			struct rule *r = &rules[i];
			snprintf(r->call, sizeof(r->call), "%s", call);
			r->code = (int)code, r->skip = (int)skip, r->count = (int)count;
			armed++;
			break;
		}
	pthread_mutex_unlock(&lock);
}

API long fake_set(const char *what, long value) {
	pthread_mutex_lock(&lock);
	long rc = 0;
	if (strcmp(what, "devices") == 0)
		fake.devices = (int)value;
	else if (strcmp(what, "capacity") == 0)
		fake.capacity = (size_t)value;
	else if (strcmp(what, "same address") == 0)
		fake.same_address = (int)value;
	else if (strcmp(what, "resume") == 0)
		resumed++;
	else if (strcmp(what, "sticky 0") == 0)
		contexts[0].sticky = (int)value;
	else if (strcmp(what, "sticky 1") == 0)
		contexts[1].sticky = (int)value;
	else if (strcmp(what, "step") == 0)
		rc = step((int)value);
	else if (strcmp(what, "mode") == 0) {
		fake.mode = (int)value;
		pthread_t t;
		if (value == 2 && !fake.worker && pthread_create(&t, NULL, work_on, NULL) == 0)
			fake.worker = pthread_detach(t) == 0;
		if (value == 0)
			step(1 << 30);
	} else if (strcmp(what, "in use") == 0)
		rc = (long)fake.used;
	else if (strcmp(what, "current") == 0)
		rc = current() != NULL;
	else
		rc = -1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return rc;
}

// fake_calls copies the log of calls and empties it.
API long fake_calls(char *out, long len) {
	pthread_mutex_lock(&lock);
	snprintf(out, (size_t)len, "%.*s", (int)logged, calls);
	logged = 0;
	pthread_mutex_unlock(&lock);
	return (long)strlen(out);
}
