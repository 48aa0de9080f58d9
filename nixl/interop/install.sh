#!/usr/bin/env bash
# SPDX-FileCopyrightText: The kvxfer authors
# SPDX-License-Identifier: Apache-2.0

# Puts the official Python package of NIXL, with the hashes of requirements.lock,
# into a folder of its own, unless it is there: install.sh FOLDER. A folder that is
# there at all is whole: it is filled beside its place and renamed.
set -euo pipefail
to=$1 here=$(dirname "$0")
[ -d "$to" ] && exit 0
command -v python3 >/dev/null || { echo "nixl for Python: there is no python3" >&2; exit 1; }
mkdir -p "$(dirname "$to")"
tmp=$(mktemp -d "$(dirname "$to")/.python-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
echo "nixl for Python: installing into $to (90 MB, pinned hashes)" >&2
python3 -m pip install --quiet --no-deps --require-hashes --only-binary=:all: --no-compile --disable-pip-version-check --no-input \
  --target "$tmp/python" -r "$here/requirements.lock" || { echo "nixl for Python: pip could not install it" >&2; exit 1; }
mv -T "$tmp/python" "$to" 2>/dev/null || [ -d "$to" ]
