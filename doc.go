// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package kvxfer is the map of this module. It holds no code.
//
// kvxfer owns memory that asynchronous hardware may still be touching, and
// gives it back only on proof.
//
// The core, standard library only:
//
//	spec               the contract as YAML: machines, decision tables, systems
//	gen/...            the decisions, generated from spec (do not edit)
//	fsm                runtime of generated code: results and refusals
//	ownership          the registry: sessions, owners, claims, regions, the clock
//	ownership/explain  why memory is still owned, in words and as JSON
//	ownership/blocks   a paged allocator whose reference counts are claims
//	transfer           the public door: an endpoint, its poll loop and its watchdog
//	transfer/wire      the messages between two endpoints
//	backend            the seam to what moves bytes
//	fence              which evidence proves that memory can no longer be reached
//	memory             page-aligned arenas outside of the Go heap
//
// Adapters, each one a choice:
//
//	backend/loop       bytes inside one process, with every fault on demand
//	backend/nixl       NIXL as a backend
//	nixl, nixl/wheel   a Go binding of NIXL; getting the library itself
//	cuda               a Go binding of the CUDA driver whose events are evidence
//	cuda/gather        gather and scatter, on a GPU or the CPU, as local claims
//	cuda/health        what NVML sees of a GPU, and what follows from it
//	cuda/cudatest      a CUDA driver without a device, for tests
//	transfer/rpc       the control stream over gRPC, with mutual TLS
//	transfer/rpc/authority  certificates for tests and trials
//	transfer/admin     ask an endpoint why, over HTTP on a Unix socket
//	cluster            the ranks of a request retire it together
//	cluster/memstore   what ranks share, in memory and with faults
//	cluster/etcd       what ranks share, in etcd, embedded or not
//
// Tools:
//
//	cmd/kvxfer         run, hazard and their like
//	cmd/fsmgen         typed, checked state machines from a spec; stands alone
//	fsm/...            what fsmgen is made of
//	trace              what an endpoint did, as lines, and its check against the spec
//	trace/mapping      another engine's log as a trace
//	cluster/storetest  what any store of ranks must do
//	backend/backendtest  the conformance kit that any backend must pass
//
// README.md starts with two commands; CONTRIBUTING.md says what to run after
// touching each room.
package kvxfer
