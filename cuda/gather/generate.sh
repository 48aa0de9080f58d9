#!/bin/sh
# SPDX-FileCopyrightText: The kvxfer authors
# SPDX-License-Identifier: Apache-2.0

# Rebuilds copy.ptx from copy.cu. Needs Python 3 with pip on x86-64 Linux, and
# the network the first time; no GPU, no driver and no CUDA toolkit. The result
# is committed, so that only who changes the kernel runs this. Both libraries
# are pinned: an older NVRTC writes PTX that older drivers take (12.0 is
# cuda.MinVersion), a newer nvJitLink knows newer devices.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
wheels="$root/bin/nvrtc"

if [ ! -d "$wheels/nvidia/nvjitlink" ]; then
	mkdir -p "$wheels"
	python3 -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
		--target "$wheels" --requirement "$root/cuda/gather/requirements.txt"
fi

cd "$root/cuda/gather"
python3 nvrtc.py "$wheels/nvidia/cuda_nvrtc/lib/libnvrtc.so.12" copy.cu compute_70 copy.ptx
python3 assemble.py "$wheels/nvidia/nvjitlink/lib/libnvJitLink.so.12" copy.ptx \
	sm_70 sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120
