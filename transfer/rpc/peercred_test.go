// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc_test

import (
	"os"
	"runtime"
	"testing"

	"github.com/kvxfer/kvxfer/transfer/rpc"
)

// Both ends of a Unix socket know the other's process; those of TCP know nothing.
func TestPeerProcess(t *testing.T) {
	folder, err := os.MkdirTemp("", "kvx") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	for name, tc := range map[string]struct {
		addr  string
		pid   int
		local bool
	}{
		"unix": {"unix:" + folder + "/s", os.Getpid(), true},
		"tcp":  {"127.0.0.1:0", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.local && runtime.GOOS != "linux" {
				t.Skip("known on Linux only")
			}
			l, err := rpc.Listen(tc.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = l.Close() }()
			dialled, err := rpc.Dial(t.Context(), l.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = dialled.Close() }()
			accepted, err := l.Accept(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for end, s := range map[string]*rpc.Stream{"dialled": dialled, "accepted": accepted} {
				if pid, local := s.PeerProcess(); pid != tc.pid || local != tc.local {
					t.Errorf("%s: %d, %v, want %d, %v", end, pid, local, tc.pid, tc.local)
				}
			}
		})
	}
}
