# SPDX-FileCopyrightText: The kvxfer authors
# SPDX-License-Identifier: Apache-2.0
"""Assemble PTX for each target with nvJitLink, as a driver would do it, and
fail where one refuses it. Needs neither a GPU nor a driver.

usage: assemble.py LIBNVJITLINK PTX TARGET...
"""

import ctypes
import pathlib
import sys

PTX = 2  # nvJitLinkInputType


def assemble(lib, code, target):
    handle = ctypes.c_void_p()
    option = (ctypes.c_char_p * 1)(f"-arch={target}".encode())

    def call(name, *args):
        rc = getattr(lib, f"__nvJitLink{name}_12_0")(*args)
        if rc != 0:
            size = ctypes.c_size_t()
            lib.__getattr__("__nvJitLinkGetErrorLogSize_12_0")(handle, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value + 1)
            lib.__getattr__("__nvJitLinkGetErrorLog_12_0")(handle, log)
            raise SystemExit(f"{target}: {name}: error {rc}: {log.value.decode()}")

    call("Create", ctypes.byref(handle), 1, option)
    call("AddData", handle, PTX, code, len(code), b"copy.ptx")
    call("Complete", handle)
    size = ctypes.c_size_t()
    call("GetLinkedCubinSize", handle, ctypes.byref(size))
    return size.value


def main(library, ptx, *targets):
    lib = ctypes.CDLL(library)
    code = pathlib.Path(ptx).read_bytes()
    for target in targets:
        print(f"{target}: {assemble(lib, code, target)} bytes of machine code")


main(*sys.argv[1:])
