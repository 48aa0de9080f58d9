#!/bin/sh
# SPDX-FileCopyrightText: The kvxfer authors
# SPDX-License-Identifier: Apache-2.0

# Rebuilds transfer/rpc/pb/*.pb.go from control.proto. Needs Go, Python 3 with
# pip, and the network the first time; the result is committed, so that only
# who changes the protocol runs this. protoc comes from the grpcio-tools wheel,
# the two plugins from tools/go.mod: all three are pinned.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
venv="$root/bin/protoc"
grpcio_tools=1.85.1

if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -c 'import grpc_tools' 2>/dev/null; then
	python3 -m venv "$venv"
	"$venv/bin/pip" install --quiet --disable-pip-version-check "grpcio-tools==$grpcio_tools"
fi

cd "$root"
GOBIN="$venv/bin" go install -modfile=tools/go.mod \
	google.golang.org/protobuf/cmd/protoc-gen-go google.golang.org/grpc/cmd/protoc-gen-go-grpc

cd transfer/rpc/pb
"$venv/bin/python" -m grpc_tools.protoc -I. \
	--plugin=protoc-gen-go="$venv/bin/protoc-gen-go" --go_out=. --go_opt=paths=source_relative \
	--plugin=protoc-gen-go-grpc="$venv/bin/protoc-gen-go-grpc" --go-grpc_out=. --go-grpc_opt=paths=source_relative \
	control.proto
