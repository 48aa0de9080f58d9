// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/rpc/pb"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// DialTimeout is how long Dial waits for an answer if its context allows more.
const DialTimeout = 10 * time.Second

// Dial opens a stream to a Listener at a local address. The error is an
// *AddressError if nobody could be reached, and a *PeerError if who was reached
// is not a kvxfer endpoint, is another user's process, or left in between.
func Dial(ctx context.Context, addr string) (*Stream, error) {
	t, err := parse(addr)
	if err != nil {
		return nil, err
	}
	d := &dialer{addr: addr, target: t}
	conn, err := grpc.NewClient("passthrough:///"+marker,
		grpc.WithContextDialer(d.dial), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority(marker), grpc.WithNoProxy(), grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxMessage), grpc.MaxCallSendMsgSize(wire.MaxMessage)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.WithIdleTimeout(0),
	)
	if err != nil {
		return nil, &AddressError{Addr: addr, Kind: ErrInvalidAddress, Err: err}
	}
	s, err := d.open(ctx, conn)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return s, nil
}

// dialer opens one stream and remembers what happened below gRPC, whose own
// errors are text.
type dialer struct {
	addr   string
	target target

	mu      sync.Mutex
	dialErr error  // guarded by mu
	taps    []*tap // guarded by mu; one for each connection
}

// dial is called by gRPC, perhaps again after a failure.
func (d *dialer) dial(ctx context.Context, _ string) (net.Conn, error) {
	var nd net.Dialer
	c, err := nd.DialContext(ctx, d.target.network, d.target.address)
	if err == nil {
		if err = checkUser(c); err != nil {
			_ = c.Close()
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		d.dialErr = err
		return nil, err
	}
	t := &tap{Conn: c}
	d.taps = append(d.taps, t)
	return t, nil
}

// open starts the call and waits for the listener's marker.
func (d *dialer) open(ctx context.Context, conn *grpc.ClientConn) (*Stream, error) {
	callCtx, abort := context.WithCancel(context.Background())
	timer := time.AfterFunc(DialTimeout, abort)
	stopFollowing := context.AfterFunc(ctx, abort)
	call, err := pb.NewControlClient(conn).Attach(callCtx)
	if err == nil {
		err = d.await(call)
	}
	timely := timer.Stop()
	following := stopFollowing()
	if err != nil {
		abort()
		return nil, d.explain(ctx, err, timely)
	}
	if !timely || !following {
		abort()
		return nil, d.explain(ctx, context.DeadlineExceeded, timely)
	}
	s := newStream(d.addr, call, abort)
	s.closeCall = func() {
		if s.quiet() {
			_ = call.CloseSend()
			select { // the listener's end of the call says that it has read everything
			case <-call.Context().Done():
			case <-time.After(flushTime):
			}
		}
		abort()
		_ = conn.Close()
	}
	return s, nil
}

var errNoMarker = errors.New("it speaks gRPC, but not this protocol")

// await checks that the call was answered by a Listener.
func (d *dialer) await(call grpc.BidiStreamingClient[pb.Frame, pb.Frame]) error {
	header, err := call.Header()
	if err != nil {
		return err
	}
	if len(header.Get(marker)) > 0 {
		return nil
	}
	// No header: the call has ended, and its status says why.
	if _, err := call.Recv(); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return errNoMarker
}

// explain makes one typed error of what gRPC said and what the tap saw.
func (d *dialer) explain(ctx context.Context, err error, timely bool) error {
	connected, http2, words, dialErr := d.seen()
	peer := func(kind error, reason string, cause error) error {
		return &PeerError{Addr: d.addr, Kind: kind, Reason: reason, Err: cause}
	}
	switch {
	case ctx.Err() != nil:
		return peer(transfer.ErrHandshake, "gave up waiting for an answer", ctx.Err())
	case !connected && errors.Is(dialErr, ErrForeignUser):
		return peer(ErrForeignUser, "", dialErr)
	case !connected && dialErr != nil:
		return &AddressError{Addr: d.addr, Kind: ErrUnreachable, Err: dialErr}
	case errors.Is(err, errNoMarker), status.Code(err) == codes.Unimplemented:
		return peer(ErrNotPeer, errNoMarker.Error(), nil)
	case !timely:
		return peer(ErrNotPeer, "no answer in "+DialTimeout.String(), nil)
	case status.Code(err) == codes.ResourceExhausted:
		return peer(transfer.ErrHandshake, "", err)
	case http2 || !words:
		return peer(transfer.ErrHandshake, "the peer went away", nil)
	}
	return peer(ErrNotPeer, "it does not speak gRPC", nil)
}

// seen sums up all connections: whether there was one, whether HTTP/2 was
// spoken on any of them, whether anything was said at all, and what went wrong
// before there was one.
func (d *dialer) seen() (connected, http2, words bool, dialErr error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.taps {
		first := t.beginning()
		http2 = http2 || len(first) == frameHeader && first[3] == settingsFrame
		words = words || len(first) > 0
	}
	return len(d.taps) > 0, http2, words, d.dialErr
}

// tap remembers how a connection began.
type tap struct {
	net.Conn

	mu    sync.Mutex
	first []byte // guarded by mu; up to an HTTP/2 frame header
}

// frameHeader is the size of an HTTP/2 frame's header, settingsFrame the type
// of the frame that every HTTP/2 server must send first (RFC 9113, 3.4).
const (
	frameHeader   = 9
	settingsFrame = 4
)

// Read reads and remembers.
func (t *tap) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.first = append(t.first, p[:min(n, frameHeader-len(t.first))]...)
	return n, err
}

func (t *tap) beginning() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.first
}
