// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/kvxfer/kvxfer/transfer/rpc/pb"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

const (
	// marker is a header that a kvxfer listener sends first, so that a dialler
	// knows at once whom it has reached.
	marker = "kvxfer"
	// backlog is how many peers may wait for Accept; more are turned away.
	backlog = 64
	// keepaliveTime after the last sign of life a peer is asked for one, and
	// keepaliveTimeout later the stream is given up. A peer that was merely
	// stopped for longer attaches again; its claims are not touched by that.
	keepaliveTime    = 20 * time.Second
	keepaliveTimeout = 20 * time.Second
	// flushTime is how long a Close waits for what was sent before it.
	flushTime = 250 * time.Millisecond
	// connectTime bounds the HTTP/2 handshake of somebody who connects and
	// then says nothing.
	connectTime = 10 * time.Second
)

var errBacklog = errors.New("too many peers wait to be accepted")

// Listener accepts control streams. Its methods may be called from any goroutine.
type Listener struct {
	config   *Config
	listener *userListener
	accounts accounts
	server   *grpc.Server
	streams  chan *Stream
	closed   chan struct{}
	once     sync.Once
	served   sync.WaitGroup
}

// Listen listens on an address. The error is an *AddressError.
func (c Config) Listen(addr string) (*Listener, error) {
	c = c.filled()
	t, err := c.parse(addr)
	if err != nil {
		return nil, err
	}
	socket, err := net.Listen(t.network, t.address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, &AddressError{Addr: addr, Kind: ErrAddressInUse, Reason: "choose another one, or stop what listens there", Err: err}
	case err != nil:
		return nil, &AddressError{Addr: addr, Kind: ErrInvalidAddress, Err: err}
	}
	l := &Listener{
		config:   &c,
		listener: &userListener{Listener: socket, refused: &c.Counters.ForeignUsers},
		accounts: accounts{config: &c, byName: map[string]*account{}},
		streams:  make(chan *Stream, backlog),
		closed:   make(chan struct{}),
	}
	l.server = grpc.NewServer(
		grpc.Creds(c.credentials()), grpc.MaxRecvMsgSize(c.Limits.MessageBytes+besides), grpc.MaxSendMsgSize(wire.MaxMessage+besides),
		grpc.MaxConcurrentStreams(1), grpc.ConnectionTimeout(connectTime),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveTime / 4, PermitWithoutStream: true}),
		grpc.WaitForHandlers(true),
	)
	pb.RegisterControlServer(l.server, &control{listener: l})
	// Serve returns when Close stops the server, or when accepting ended by
	// itself; then the listener is as good as closed.
	l.served.Go(func() { _ = l.server.Serve(l.listener); l.once.Do(l.shut) })
	return l, nil
}

// Addr returns the address to Dial, with the port that the system chose.
func (l *Listener) Addr() string { return format(l.listener.Addr()) }

// Accept returns the next stream; ErrClosed after Close.
func (l *Listener) Accept(ctx context.Context) (*Stream, error) {
	select {
	case <-l.closed:
		return nil, ErrClosed
	default:
	}
	select {
	case s := <-l.streams:
		return s, nil
	case <-l.closed:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close stops listening and ends every stream that this listener accepted.
// When it returns no goroutine of the listener is left.
func (l *Listener) Close() error {
	l.once.Do(l.shut)
	timer := time.AfterFunc(flushTime, l.server.Stop)
	l.server.GracefulStop()
	timer.Stop()
	l.served.Wait()
	return nil
}

func (l *Listener) shut() { close(l.closed) }

// control is the service behind a Listener.
type control struct {
	pb.UnimplementedControlServer
	listener *Listener
}

// Attach keeps the call open until either side closes the stream. Returning
// from it lets gRPC flush what was sent.
func (c *control) Attach(call grpc.BidiStreamingServer[pb.Frame, pb.Frame]) error {
	l := c.listener
	names := peerNames(call.Context())
	meter, done, err := l.accounts.open(names)
	if err == nil && len(l.streams) == cap(l.streams) {
		done()
		err = errBacklog
	}
	if err != nil {
		l.config.Counters.TurnedAway.Add(1)
		return status.Error(codes.ResourceExhausted, err.Error())
	}
	defer done()
	ctx, abort := context.WithCancel(call.Context())
	defer abort()
	who := "peer of " + l.Addr()
	if len(names) > 0 {
		who = names[0]
	}
	s := newStream(ctx, who, call, abort, l.config, names, meter)
	s.pid = peerPID(call.Context())
	if err := call.SendHeader(metadata.Pairs(marker, wire.Current.String())); err != nil {
		return err
	}
	go s.write(ctx)
	select {
	case l.streams <- s:
	default:
		l.config.Counters.TurnedAway.Add(1)
		return status.Error(codes.Unavailable, errBacklog.Error())
	}
	select {
	case <-s.done():
	case <-ctx.Done():
	case <-l.closed:
		_ = s.Close()
	}
	s.quiet() // returning is what unblocks a Send that takes longer
	return nil
}

// userListener turns away other users' processes before a byte of theirs is read.
type userListener struct {
	net.Listener
	refused *atomic.Uint64
}

// Accept passes over connections of other users.
func (l *userListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if pid, err := checkUser(c); err == nil {
			if pid != notLocal {
				c = &processConn{Conn: c, at: processAddr{Addr: c.RemoteAddr(), pid: pid}}
			}
			return c, nil
		}
		l.refused.Add(1)
		_ = c.Close()
	}
}
