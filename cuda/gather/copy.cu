// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// The one kernel: it carries out a list of copies. Gather and scatter differ
// only in which side is contiguous, which the list says.
//
// `make ptx` compiles this file to copy.ptx. The tests compile it for the CPU,
// so it is plain C, and threads do not wait for each other.

typedef unsigned long long u64;

// bytes16 copies n units of 16 bytes. Four loads are on their way before the
// first store: that hides the memory's latency with few threads.
static __device__ void copy16(uint4 *to, const uint4 *from, u64 n) {
	u64 width = blockDim.x, i = threadIdx.x;
	for (; i + 3 * width < n; i += 4 * width) {
		uint4 a = from[i], b = from[i + width], c = from[i + 2 * width], d = from[i + 3 * width];
		to[i] = a;
		to[i + width] = b;
		to[i + 2 * width] = c;
		to[i + 3 * width] = d;
	}
	for (; i < n; i += width)
		to[i] = from[i];
}

static __device__ void copy1(char *to, const char *from, u64 n) {
	for (u64 i = threadIdx.x; i < n; i += blockDim.x)
		to[i] = from[i];
}

// copy uses units of 16 bytes where both sides can be aligned to them at once.
static __device__ void copy(char *to, const char *from, u64 n) {
	if ((((u64)to ^ (u64)from) & 15) != 0) {
		copy1(to, from, n);
		return;
	}
	u64 head = (16 - ((u64)to & 15)) & 15;
	if (head > n)
		head = n;
	u64 body = (n - head) / 16, tail = head + body * 16;
	copy1(to, from, head);
	copy16((uint4 *)(to + head), (const uint4 *)(from + head), body);
	copy1(to + tail, from + tail, n - tail);
}

#ifdef __CUDACC__
extern "C"
#endif
// table: n destination addresses, n source addresses, n lengths in bytes. A
// block of threads takes every gridDim-th copy.
__global__ void kvx_copy(const u64 *table, unsigned n) {
	for (unsigned i = blockIdx.x; i < n; i += gridDim.x)
		copy((char *)table[i], (const char *)table[n + i], table[2 * (u64)n + i]);
}
