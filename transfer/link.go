// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// Link is an attached stream. Losing it is no event: reports and requests
// resume in order on the next stream to the same incarnation.
type Link struct {
	peer   *peer
	member ownership.Member
	stream Stream
	ctx    context.Context // ends with the link
	cancel context.CancelCauseFunc
	ended  chan struct{} // closed when both goroutines are gone

	theirs uint64 // the peer's watermark, as of the latest Receipt; of receive only

	// Guarded by peer.mu.
	resumed   bool   // the peer's first Receipt has come
	announced bool   // our first Receipt was sent
	confirmed uint64 // the number in our latest Receipt
	mark      uint64 // the watermark that the peer has
	leaving   bool   // Goodbye is to follow what else there is to send
	left      bool   // Goodbye was sent
	busy      bool   // the sender is inside of Stream.Send
}

// Peer returns the peer's name.
func (l *Link) Peer() string { return string(l.member.Accessor) }

// Incarnation returns the peer's life that the stream leads to.
func (l *Link) Incarnation() ownership.Incarnation { return l.member.Incarnation }

// Done returns a channel that is closed when the stream has ended.
func (l *Link) Done() <-chan struct{} { return l.ended }

// Err says why the stream ended, nil while it lives: io.EOF when the peer
// closed it, ErrReplaced, ErrHalted, or what broke it.
func (l *Link) Err() error {
	select {
	case <-l.ended:
		return l.cause()
	default:
		return nil
	}
}

func (l *Link) cause() error {
	if err := context.Cause(l.ctx); err != context.Canceled { // of the endpoint's own context
		return err
	}
	return ErrHalted
}

// Close ends the stream. It cancels nothing.
func (l *Link) Close() error {
	l.end(io.ErrClosedPipe)
	<-l.ended
	return nil
}

func (l *Link) end(cause error) { l.cancel(cause) }

// Attach says Hello on a stream, loads the peer's metadata, and uses the stream
// from then on; the endpoint closes it in the end, and at once if there is an
// error. The context bounds the handshake alone. A stream to the same
// incarnation takes over from the one before; the Hello of a new incarnation
// means that the old one is gone, whether or not the new one can be attached.
//
// The error matches ErrHandshake when the stream ended too early,
// wire.ErrVersion, wire.ErrInvalid, ErrGone, or backend.ErrMetadata;
// ownership.ErrCapacity where Config.Peers are in use.
func (e *Endpoint) Attach(ctx context.Context, stream Stream) (*Link, error) {
	l, err := e.handshake(ctx, stream)
	if err != nil {
		_ = stream.Close()
		e.counts.handshakes.Add(1)
		return nil, err
	}
	return l, nil
}

func (e *Endpoint) handshake(ctx context.Context, stream Stream) (*Link, error) {
	ctx, stop := context.WithTimeout(ctx, e.config.HandshakeTimeout)
	defer stop()
	defer context.AfterFunc(e.ctx, stop)()
	ours, hello := e.hello(stream)
	theirs, err := greet(ctx, stream, hello)
	if err != nil {
		return nil, &Error{What: "endpoint " + e.config.Name, Kind: ErrHandshake, Err: err}
	}
	what := "peer " + theirs.Endpoint
	if theirs.Endpoint == string(ownership.Local) { // what our own gather and scatter are called
		return nil, &Error{What: what, Kind: ErrHandshake, Err: errors.New("the name is reserved")}
	}
	if theirs.Endpoint == e.config.Name {
		return nil, &Error{What: what, Kind: ErrHandshake, Err: errors.New("it has our own name")}
	}
	p, err := e.meet(ctx, ownership.Accessor(theirs.Endpoint))
	if err != nil {
		return nil, &Error{What: what, Kind: ErrHandshake, Err: err}
	}
	defer p.part()
	life := ownership.Incarnation(theirs.Incarnation)
	select {
	case p.attach <- struct{}{}:
		defer p.detach()
	case <-ctx.Done():
		return nil, &Error{What: what, Kind: ErrHandshake, Err: ctx.Err()}
	}
	if p.isGone(life) {
		return nil, &Error{What: what, Kind: ErrGone}
	}
	p.supersede(life)
	p.identify(life, stream, theirs.Process)
	agent := theirs.Agent
	if agent == "" {
		agent = theirs.Endpoint
	}
	if err := p.connected(ctx, agent, theirs.Metadata); err != nil {
		return nil, &Error{What: what, Kind: ErrHandshake, Err: fmt.Errorf("load its metadata: %w", err)}
	}
	return p.install(stream, life, ours, theirs)
}

// greeting is what our own Hello has said.
type greeting struct {
	life       *life
	generation uint64 // of the metadata
	watermark  uint64
}

// hello returns our Hello.
func (e *Endpoint) hello(stream Stream) (greeting, wire.Hello) {
	e.mu.Lock()
	defer e.mu.Unlock()
	life := e.life.Load()
	h := wire.Hello{
		Version: wire.Current, Endpoint: e.config.Name, Incarnation: wire.Incarnation(life.incarnation),
		Watermark: e.watermark, Metadata: e.metadata,
	}
	if life.agent != e.config.Name {
		h.Agent = life.agent
	}
	if s, ok := stream.(ProcessStream); ok {
		if _, local := s.PeerProcess(); local { // no other host learns of it
			h.Process = ourProcess()
		}
	}
	return greeting{life, e.fetched, e.watermark}, h
}

// greet exchanges Hellos. Both sides send first, so neither waits for the other
// to begin.
func greet(ctx context.Context, stream Stream, ours wire.Hello) (theirs wire.Hello, err error) {
	sent := make(chan error, 1)
	go func() { sent <- stream.Send(ctx, ours) }()
	m, err := stream.Recv(ctx)
	if err != nil {
		_ = stream.Close()
		<-sent
		if errors.Is(err, io.EOF) {
			err = errors.New("the peer went away")
		}
		return theirs, err
	}
	if err := <-sent; err != nil {
		return theirs, err
	}
	theirs, ok := m.(wire.Hello)
	if !ok {
		return theirs, fmt.Errorf("%w: %v before HELLO", ErrProtocol, m.Kind())
	}
	if err := theirs.Version.Check(); err != nil {
		return theirs, err
	}
	return theirs, theirs.Validate()
}

func (e *Endpoint) mark() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.watermark
}

// passed takes the peer's own watermark in.
func (p *peer) passed(watermark uint64) {
	if watermark == 0 {
		return
	}
	if err := p.endpoint.passed(string(p.name), watermark); err != nil {
		p.endpoint.config.Log.Warn("watermark", "peer", p.name, "error", err)
	}
}

// install makes the stream the peer's link. The one before has ended, with all
// that it received taken in, before the new one says from where to resume.
func (p *peer) install(stream Stream, life ownership.Incarnation, ours greeting, theirs wire.Hello) (*Link, error) {
	e := p.endpoint
	p.mu.Lock()
	old := p.link
	p.mu.Unlock()
	if old != nil {
		old.end(ErrReplaced)
		<-old.ended
	}
	p.begin(life)
	p.passed(theirs.Watermark)
	l := &Link{peer: p, member: ownership.Member{Accessor: p.name, Incarnation: life}, stream: stream, ended: make(chan struct{}), mark: ours.watermark}
	l.ctx, l.cancel = context.WithCancelCause(e.ctx)
	p.mu.Lock()
	current := e.life.Load() == ours.life // or startOver, which comes afterwards, ends this link
	if current {
		p.link = l
		p.out.resume(ours.generation)
	}
	p.mu.Unlock()
	if !current {
		l.cancel(ErrReincarnated)
		return nil, &Error{What: "endpoint " + e.config.Name, Kind: ErrReincarnated}
	}
	if !e.start(l.run) {
		l.end(ErrHalted)
		close(l.ended)
		return nil, &Error{What: "endpoint " + e.config.Name, Kind: ErrHalted}
	}
	e.note(nil, "stream to "+string(p.name)+" attached")
	return l, nil
}

// run reads and sends until the stream or the endpoint ends.
func (l *Link) run() {
	var both sync.WaitGroup
	both.Go(func() { l.end(l.receive()) })
	both.Go(func() { l.end(l.send()) })
	<-l.ctx.Done()
	_ = l.stream.Close()
	both.Wait()
	p := l.peer
	p.mu.Lock()
	if p.link == l {
		p.link = nil
	}
	p.mu.Unlock()
	p.endpoint.note(nil, fmt.Sprintf("stream to %s ended: %v", p.name, l.cause()))
	close(l.ended)
	p.endpoint.changed.send()
	p.lookOut(l.member.Incarnation)
}

// send is the sender: the link's only goroutine that calls Stream.Send. Each
// stream waits only for itself.
func (l *Link) send() error {
	for {
		m, pub := l.next()
		if m == nil {
			select {
			case <-l.peer.wake:
				continue
			case <-l.ctx.Done():
				return l.ctx.Err()
			}
		}
		err := l.stream.Send(l.ctx, m)
		if pub != nil {
			close(pub.done) // after an error it may have left: it counts as sent
		}
		l.sent(m)
		if err != nil {
			return err
		}
	}
}

// next returns what is to be sent now: a Receipt if there is something new to
// confirm, then, once the peer has said from where to resume, the rest, and
// Goodbye after everything.
func (l *Link) next() (m wire.Message, pub *publication) {
	p := l.peer
	mark := p.endpoint.mark()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !l.announced || p.received > l.confirmed || mark > l.mark:
		l.announced, l.confirmed, l.mark = true, p.received, mark
		m = wire.Receipt{Received: p.received, Watermark: mark}
	case l.left || !l.resumed:
	default:
		if next, its := p.out.next(p); next != nil {
			m, pub = next, its
		} else if l.leaving {
			m = wire.Goodbye{}
		}
	}
	l.busy = m != nil
	return m, pub
}

func (l *Link) sent(m wire.Message) {
	p := l.peer
	p.mu.Lock()
	l.busy = false
	l.left = l.left || m.Kind() == wire.KindGoodbye
	p.mu.Unlock()
	p.endpoint.changed.send()
}
