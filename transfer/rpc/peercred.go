// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"context"
	"net"

	"google.golang.org/grpc/peer"
)

// notLocal stands for the process at the other end of what is no Unix socket.
const notLocal = -1

// processConn is a Unix socket with the process at its other end in its address, which
// is the one thing of a connection that gRPC hands to a call.
type processConn struct {
	net.Conn
	at processAddr
}

// RemoteAddr returns a processAddr.
func (c *processConn) RemoteAddr() net.Addr { return c.at }

type processAddr struct {
	net.Addr
	pid int
}

// peerPID returns the process that made a call, as checkUser found it.
func peerPID(ctx context.Context) int {
	if p, ok := peer.FromContext(ctx); ok {
		if at, ok := p.Addr.(processAddr); ok {
			return at.pid
		}
	}
	return notLocal
}
