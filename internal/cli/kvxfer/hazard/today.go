// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package hazard

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/blocks"
	"github.com/kvxfer/kvxfer/internal/nixlc"
	"github.com/kvxfer/kvxfer/internal/proc"
)

// today is the transfer as engines do it: whoever cancels a request releases
// its handle, is told that this worked, and gives the memory to the next one.
func (h *Hazard) today(ctx context.Context, seed uint64, tell func(Step)) (Half, error) {
	rec := newRecorder(tell)
	agent, err := newRawAgent(h.Op.us(), h.Library, h.Transport, h.Bytes)
	if err != nil {
		return Half{}, err
	}
	defer func() { _ = agent.close() }()
	child, hello, err := h.startPeer(ctx, h.job(halfToday, seed))
	if err != nil {
		return Half{}, err
	}
	defer func() { _ = child.Close() }()
	if _, code := agent.api.LoadRemoteMD(agent.agent, hello.Metadata); code != 0 {
		return Half{}, failed("load_remote_md", code)
	}
	t := &unsafeTransfer{hazard: h, rec: rec, agent: agent, child: child, remote: hello.Addr, seed: seed}
	if err := t.run(ctx); err != nil {
		return Half{}, err
	}
	return rec.half, nil
}

// unsafeTransfer walks through the phases.
type unsafeTransfer struct {
	hazard *Hazard
	rec    *recorder
	agent  *rawAgent
	child  *proc.Child
	remote uint64
	seed   uint64
}

func (t *unsafeTransfer) run(ctx context.Context) error {
	memory, op := t.agent.counted(), t.hazard.Op
	if op == Write {
		op.fillSource(memory, t.seed)
	}
	if err := t.uncounted(ctx); err != nil { // connections are made by the first transfer
		return err
	}
	t.rec.step(Primed, "done; the connection is up")
	if err := t.child.Stop(ctx); err != nil {
		return err
	}
	t.rec.step(Stopped, "SIGSTOP, confirmed by wait4")

	req, err := t.create(0, t.hazard.Bytes, t.hazard.Pieces)
	if err != nil {
		return err
	}
	code := t.agent.api.Post(t.agent.agent, req)
	t.rec.half.InFlight = code == nixlc.CodeInProgress
	t.rec.step(Posted, "post_xfer_req = "+codeText(code))
	if code < 0 {
		return failed("post_xfer_req", code)
	}
	t.rec.step(Cancelled, "the request is forgotten")
	if err := t.release(req); err != nil {
		return err
	}
	t.rec.step(Released, "release_xfer_req = "+codeText(nixlc.CodeSuccess))
	op.fillNext(memory, t.seed)
	t.rec.step(Reused, "another request writes its bytes into it")
	t.rec.step(Overdue, "nobody waits")
	if err := t.child.Continue(ctx); err != nil {
		return err
	}
	t.rec.step(Continued, "SIGCONT")
	return t.settle(ctx)
}

// settle waits until nothing of the released transfer can still be on its way,
// and lets the peer count. A later transfer over the same connection is DONE
// only after everything before it has arrived.
func (t *unsafeTransfer) settle(ctx context.Context) error {
	if err := t.uncounted(ctx); err != nil {
		return err
	}
	m, err := t.count(ctx)
	if err != nil {
		return err
	}
	half := &t.rec.half
	half.Map, half.Arrived, half.Outcome = m, sum(m), "success"
	if half.InFlight {
		t.rec.step(Ended, "goes on; nobody is told when it ends")
	} else {
		t.rec.step(Ended, "had ended inside the post")
	}
	t.rec.step(Closed, "nothing is left to close")
	t.rec.step(Outcome, "the caller was told: success")
	return nil
}

// count looks at the buffer that the operation has written: the peer's, or ours.
func (t *unsafeTransfer) count(ctx context.Context) ([]blocks.Origins, error) {
	if t.hazard.Op == Read {
		return mapOf(t.agent.counted(), t.hazard.Pieces), nil
	}
	if err := t.child.Send(count{true}); err != nil {
		return nil, err
	}
	var c counted
	if err := t.child.Recv(ctx, &c); err != nil {
		return nil, err
	}
	if c.Error != "" {
		return nil, errors.New(c.Error)
	}
	return c.Map, nil
}

// uncounted runs a small transfer behind the counted bytes to its end.
func (t *unsafeTransfer) uncounted(ctx context.Context) error {
	req, err := t.create(uint64(t.hazard.Bytes), tail, 1)
	if err != nil {
		return err
	}
	code := t.agent.api.Post(t.agent.agent, req)
	for code == nixlc.CodeInProgress {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		runtime.Gosched()
		code = t.agent.api.Status(t.agent.agent, req)
	}
	if code != nixlc.CodeSuccess {
		return failed("get_xfer_status", code)
	}
	return t.release(req)
}

// release is all that the library offers, and it is safe only when the
// request is done.
func (t *unsafeTransfer) release(req nixlc.Request) error {
	if code := t.agent.api.ReleaseRequest(t.agent.agent, req); code != nixlc.CodeSuccess {
		return failed("release_xfer_req", code)
	}
	return failed("destroy_xfer_req", t.agent.api.DestroyRequest(req))
}

func (t *unsafeTransfer) create(offset uint64, bytes int64, pieces int) (nixlc.Request, error) {
	req, code := t.agent.api.CreateRequest(t.agent.agent, &nixlc.RequestSpec{
		Op:      t.hazard.Op.raw(),
		Local:   nixlc.List{Mem: nixlc.MemDRAM, Descs: split(uint64(t.agent.buffer.Addr())+offset, uint64(bytes), pieces)},
		Remote:  nixlc.List{Mem: nixlc.MemDRAM, Descs: split(t.remote+offset, uint64(bytes), pieces)},
		Peer:    t.hazard.Op.peer(),
		Backend: t.agent.backend,
	})
	return req, failed("create_xfer_req", code)
}

// codeText is a code as the library's users know it.
func codeText(c nixlc.Code) string {
	word := map[nixlc.Code]string{nixlc.CodeSuccess: "success", nixlc.CodeInProgress: "in progress"}[c]
	if word == "" {
		word = c.String()
	}
	return fmt.Sprintf("%d (%s)", int32(c), word)
}
