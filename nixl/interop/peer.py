# SPDX-FileCopyrightText: The kvxfer authors
# SPDX-License-Identifier: Apache-2.0

"""A peer made of the official Python package of NIXL and nothing of ours.

It reads one JSON object a line and answers with one; an error is an answer too.
"""

import base64
import hashlib
import json
import os
import sys
import time

# What the package logs to standard output must not mix with the answers.
answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)

import numpy as np  # noqa: E402
from nixl._api import nixl_agent, nixl_agent_config  # noqa: E402

PATIENCE = 30.0  # seconds; what a test waits for comes in milliseconds


class Peer:
    def init(self, name, size):
        self.agent = nixl_agent(name, nixl_agent_config(enable_prog_thread=True))
        self.memory = np.zeros(size, dtype=np.uint8)
        self.address = self.memory.ctypes.data
        self.agent.register_memory([(self.address, size, 0, "")], "DRAM")
        metadata = base64.b64encode(self.agent.get_agent_metadata()).decode()
        return {"address": self.address, "metadata": metadata}

    def load(self, metadata):
        peer = self.agent.add_remote_agent(base64.b64decode(metadata))
        return {"peer": peer.decode() if isinstance(peer, bytes) else peer}

    def fill(self, seed):
        rng = np.random.default_rng(seed)
        self.memory[:] = rng.integers(0, 256, self.memory.size, dtype=np.uint8)
        return self.sum()

    def sum(self):
        return {"sha256": hashlib.sha256(self.memory.tobytes()).hexdigest()}

    def move(self, op, peer, address, parts, notice):
        size = self.memory.size // parts
        ours = [(self.address + i * size, size, 0) for i in range(parts)]
        theirs = [(address + i * size, size, 0) for i in range(parts)]
        a = self.agent
        handle = a.initialize_xfer(
            op, a.get_xfer_descs(ours, "DRAM"), a.get_xfer_descs(theirs, "DRAM"), peer, notice.encode()
        )
        state, deadline = a.transfer(handle), time.monotonic() + PATIENCE
        while state == "PROC" and time.monotonic() < deadline:
            state = a.check_xfer_state(handle)
        if state == "DONE":
            a.release_xfer_handle(handle)
        return {"state": state, **self.sum()}

    def notify(self, peer, notice):
        self.agent.send_notif(peer, notice.encode())
        return {}

    def notices(self):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            got = self.agent.get_new_notifs()
            for who, messages in got.items():
                name = who.decode() if isinstance(who, bytes) else who
                return {"from": name, "notices": [m.decode() for m in messages]}
            time.sleep(0.001)
        return {"error": "no notification"}


peer = Peer()
for line in sys.stdin:
    try:
        order = json.loads(line)
        answer = getattr(peer, order.pop("do"))(**order)
    except Exception as e:  # noqa: BLE001 - told to the test, which fails
        answer = {"error": f"{type(e).__name__}: {e}"}
    print(json.dumps(answer), file=answers)
