// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
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

// Dial opens a stream to a Listener. The error is an *AddressError if nobody
// could be reached, and a *PeerError if who was reached is not a kvxfer
// endpoint, is another user's process, is not trusted or does not trust us, has
// another name than Config.Peer, or left in between.
func (c Config) Dial(ctx context.Context, addr string) (*Stream, error) {
	c = c.filled()
	t, err := c.parse(addr)
	if err != nil {
		return nil, err
	}
	d := &dialer{config: &c, addr: addr, target: t}
	conn, err := grpc.NewClient("passthrough:///"+marker,
		grpc.WithContextDialer(d.dial), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority(marker), grpc.WithNoProxy(), grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(c.Limits.MessageBytes+besides), grpc.MaxCallSendMsgSize(wire.MaxMessage+besides)),
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
	config *Config
	addr   string
	target target

	mu      sync.Mutex
	dialErr error    // guarded by mu
	taps    []*tap   // guarded by mu; one for each connection
	names   []string // guarded by mu; in the certificate of who answered last
	pid     int      // guarded by mu; of who answered last, as checkUser found it
}

// dial is called by gRPC, perhaps again after a failure.
func (d *dialer) dial(ctx context.Context, _ string) (net.Conn, error) {
	t, names, pid, err := d.connect(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dialErr = err; err != nil {
		return nil, err
	}
	d.taps, d.names, d.pid = append(d.taps, t), names, pid
	return t, nil
}

// connect opens a connection to somebody who may be who we want.
func (d *dialer) connect(ctx context.Context) (t *tap, names []string, pid int, err error) {
	var nd net.Dialer
	c, err := nd.DialContext(ctx, d.target.network, d.target.address)
	if err != nil {
		return nil, nil, 0, &AddressError{Addr: d.addr, Kind: ErrUnreachable, Err: err}
	}
	if pid, err = checkUser(c); err != nil {
		_ = c.Close()
		return nil, nil, 0, err
	}
	if d.config.Identity == nil {
		return &tap{Conn: c}, nil, pid, nil
	}
	secure, first, err := d.config.shakeHands(ctx, c)
	if err != nil {
		return nil, nil, 0, err
	}
	return &tap{Conn: secure, ahead: first}, namesOf(secure.ConnectionState().PeerCertificates[0]), pid, nil
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
	d.mu.Lock()
	s := newStream(callCtx, d.addr, call, abort, d.config, d.names, d.config.meter())
	s.pid = d.pid
	d.mu.Unlock()
	go s.write(callCtx)
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

// explain makes one typed error of what gRPC said and what was seen below it.
func (d *dialer) explain(ctx context.Context, err error, timely bool) error {
	peer := func(kind error, reason string, cause error) error {
		return &PeerError{Addr: d.addr, Kind: kind, Reason: reason, Err: cause}
	}
	seen := d.seen()
	var nobody *AddressError
	switch {
	case ctx.Err() != nil:
		return peer(transfer.ErrHandshake, "gave up waiting for an answer", ctx.Err())
	case seen.connected:
	case errors.As(seen.err, &nobody):
		return nobody
	case seen.err != nil:
		for _, kind := range []error{ErrForeignUser, ErrUntrusted, ErrName, ErrNotPeer} {
			if errors.Is(seen.err, kind) {
				return peer(kind, "", seen.err)
			}
		}
		return peer(transfer.ErrHandshake, "", seen.err)
	}
	switch {
	case errors.Is(err, errNoMarker), status.Code(err) == codes.Unimplemented:
		return peer(ErrNotPeer, errNoMarker.Error(), nil)
	case !timely:
		return peer(ErrNotPeer, "no answer in "+DialTimeout.String(), nil)
	case status.Code(err) == codes.ResourceExhausted:
		return peer(ErrLimit, "", err)
	case seen.tls:
		return peer(ErrNotPeer, "it speaks TLS, and we have no certificates", nil)
	case seen.http2 || !seen.words:
		return peer(transfer.ErrHandshake, "the peer went away", nil)
	}
	return peer(ErrNotPeer, "it does not speak gRPC", nil)
}

// seen is what happened below gRPC, on all connections.
type seen struct {
	connected bool  // there was a connection
	words     bool  // anything was said
	http2     bool  // HTTP/2 was
	tls       bool  // an alert of TLS was, without TLS being ours
	err       error // why there is no connection
}

func (d *dialer) seen() (s seen) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.err, s.connected = d.dialErr, len(d.taps) > 0
	for _, t := range d.taps {
		first := t.beginning()
		s.words = s.words || len(first) > 0
		s.http2 = s.http2 || len(first) == frameHeader && first[3] == settingsFrame
		s.tls = s.tls || len(first) > 1 && first[0] == alertRecord && first[1] == tlsMajor
	}
	return s
}

// tap remembers how a connection began.
type tap struct {
	net.Conn

	ahead []byte      // was read already; of whoever reads
	begun atomic.Bool // the first bytes are known: nothing is kept any more
	mu    sync.Mutex
	first []byte // guarded by mu; up to an HTTP/2 frame header
}

// frameHeader is the size of an HTTP/2 frame's header, settingsFrame the type
// of the frame that every HTTP/2 server must send first (RFC 9113, 3.4).
// alertRecord and tlsMajor begin what a TLS server says to who speaks no TLS.
const (
	frameHeader   = 9
	settingsFrame = 4
	alertRecord   = 21
	tlsMajor      = 3
)

// Read reads and remembers.
func (t *tap) Read(p []byte) (int, error) {
	n, err := copy(p, t.ahead), error(nil)
	if t.ahead = t.ahead[n:]; n == 0 {
		n, err = t.Conn.Read(p)
	}
	if t.begun.Load() {
		return n, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.first = append(t.first, p[:min(n, frameHeader-len(t.first))]...)
	t.begun.Store(len(t.first) == frameHeader)
	return n, err
}

func (t *tap) beginning() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.first
}
