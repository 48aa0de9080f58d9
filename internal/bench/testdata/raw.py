# SPDX-FileCopyrightText: The kvxfer authors
# SPDX-License-Identifier: Apache-2.0

"""Both sides of a transfer through the official Python API, at its best settings:
no progress thread, descriptors of a shape made once. It is told what to do in the
same lines as raw.c, see lines.go.
"""

import os
import select
import sys
import time
from resource import RUSAGE_SELF, getrusage

answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)  # the package logs to standard output

import numpy as np  # noqa: E402
from nixl._api import nixl_agent, nixl_agent_config  # noqa: E402

agent = memory = None
lists = {}


def cpu():
    u = getrusage(RUSAGE_SELF)
    return int((u.ru_utime + u.ru_stime) * 1e9)


def init(name, size):
    global agent, memory
    agent = nixl_agent(name, nixl_agent_config(enable_prog_thread=False))
    memory = np.ones(int(size), dtype=np.uint8)  # large arrays get huge pages
    agent.register_memory([(memory.ctypes.data, int(size), 0, "")], "DRAM")
    return f"{memory.ctypes.data} {agent.get_agent_metadata().hex()}"


def load(metadata):
    agent.add_remote_agent(bytes.fromhex(metadata))
    return ""


def serve():
    began = cpu()
    print("ok", file=answers)
    progress = agent.get_new_notifs
    while True:
        for _ in range(32):
            progress()
        if select.select([0], [], [], 0)[0]:
            break
    os.read(0, 100)
    return str(cpu() - began)


def descs(base, length, count, stride):
    key = (base, length, count, stride)
    if key not in lists:
        rows = np.empty((count, 3), dtype=np.uint64)
        rows[:, 0] = base + np.arange(count, dtype=np.uint64) * stride
        rows[:, 1] = length
        rows[:, 2] = 0
        lists[key] = agent.get_xfer_descs(rows, "DRAM")
    return lists[key]


def run(op, length, count, stride, peer, remote, n, window, slot):  # one at a time only
    length, count, stride = int(length), int(count), int(stride)
    ours = descs(memory.ctypes.data, length, count, stride)
    theirs = descs(int(remote), length, count, stride)
    clock, transfer, state_of = time.perf_counter_ns, agent.transfer, agent.check_xfer_state
    times = []
    used, start = cpu(), clock()
    for _ in range(int(n)):
        began = clock()
        handle = agent.initialize_xfer(op, ours, theirs, peer)
        posted = clock()
        state = transfer(handle)
        while state == "PROC":
            state = state_of(handle)
        done = clock()
        if state != "DONE":
            raise RuntimeError(state)
        agent.release_xfer_handle(handle)
        times += [done - posted, clock() - began]
    return " ".join(map(str, [cpu() - used, clock() - start, *times]))


orders = {"init": init, "load": load, "serve": serve, "run": run}
while True:
    line = b""
    while not line.endswith(b"\n"):  # unbuffered: serve looks at the descriptor
        byte = os.read(0, 1)
        if not byte:
            sys.exit(0)
        line += byte
    name, *words = line.decode().split()
    try:
        print("ok", orders[name](*words), file=answers)
    except Exception as e:  # noqa: BLE001 - told to the parent
        print(f"error {type(e).__name__}: {e}", file=answers)
