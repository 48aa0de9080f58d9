# SPDX-FileCopyrightText: The kvxfer authors
# SPDX-License-Identifier: Apache-2.0
"""Compile copy.cu to PTX with NVRTC, which needs neither a GPU nor a driver.

usage: nvrtc.py LIBNVRTC SOURCE TARGET PTX
"""

import ctypes
import hashlib
import pathlib
import sys


def main(library, source, target, ptx):
    nvrtc = ctypes.CDLL(library)
    nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p

    def call(name, *args):
        rc = getattr(nvrtc, name)(*args)
        if rc != 0:
            raise SystemExit(f"{name}: {nvrtc.nvrtcGetErrorString(rc).decode()}\n{log()}")

    program = ctypes.c_void_p()

    def log():
        size = ctypes.c_size_t()
        if nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size)) != 0:
            return ""
        text = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, text)
        return text.value.decode()

    major, minor = ctypes.c_int(), ctypes.c_int()
    call("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
    code = pathlib.Path(source).read_bytes()
    call("nvrtcCreateProgram", ctypes.byref(program), code, b"copy.cu", 0, None, None)
    flags = [f"--gpu-architecture={target}".encode(), b"--std=c++14"]
    call("nvrtcCompileProgram", program, len(flags), (ctypes.c_char_p * len(flags))(*flags))
    size = ctypes.c_size_t()
    call("nvrtcGetPTXSize", program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    call("nvrtcGetPTX", program, text)
    head = (
        f"// Code generated from copy.cu by NVRTC {major.value}.{minor.value} for {target}. DO NOT EDIT.\n"
        f"// copy.cu sha256 {hashlib.sha256(code).hexdigest()}\n"
    )
    pathlib.Path(ptx).write_text(head + text.value.decode())


main(*sys.argv[1:])
