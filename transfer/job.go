// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// job is one own operation, or one local copy: a claim, and the retained handle
// that answers for it. It keeps the exact claim name, so that a status that comes late, perhaps
// after the request was tried again, never touches another claim.
type job struct {
	session *Session
	life    *life // in which it was asked for: the agent of no other one may post it
	claim   ownership.ClaimName
	request backend.Request
	remote  ownership.ClaimName // the peer's own claim, which the operation answers
	handle  backend.Operation   // nil until it is prepared
	local   backend.Local       // of a local copy, which has no handle
	then    func()              // what a copy that has ended makes possible; may block
	// last is the latest status that was passed on. It belongs to the goroutine
	// that posts, and from then on to the poller.
	last  backend.Status
	dueAt time.Duration // when our wait runs out; guarded by watchdog.mu
	over  atomic.Bool   // an answer ended it: nobody waits any more
	wait  atomic.Int32  // of a copy: which came first, its answer or the end of our wait
}

// States of job.wait. A doubt after a proof would take that back, and no further
// proof would come: the watchdog and the poller agree first on who is to be heard.
const (
	awaited  int32 = iota
	answered       // the doubt is not said any more
	doubting       // the answer has to wait, until the doubt is said
	doubted
)

// mayAnswer reports whether a copy's answer can be passed on now.
func (j *job) mayAnswer() bool {
	return j.local == nil || j.wait.CompareAndSwap(awaited, answered) || j.wait.Load() != doubting
}

// ranOut says that our wait for a job ran out, unless its answer was faster.
func (e *Endpoint) ranOut(j *job, now time.Duration) {
	if j.local != nil && !j.wait.CompareAndSwap(awaited, doubting) {
		return
	}
	e.noteAt(now, j.session, j.kind()+" "+j.claim.String()+": our wait for it ran out")
	_ = e.offer(j, now, operation.StatusOverdue)
	if j.local != nil {
		j.wait.Store(doubted)
	}
}

// status maps what a backend says to what the table of spec/operation.yaml is
// asked; the numbers are equal. Whatever is not an answer is ambiguous.
func status(s backend.Status) operation.Status {
	if !s.IsValid() {
		return operation.StatusError
	}
	return operation.Status(s)
}

// offer passes on a status under the claim's whole name, with the time at which
// it was seen. The registry decides what it means.
func (e *Endpoint) offer(j *job, at time.Duration, s operation.Status) error {
	if j.local != nil {
		return e.offerLocal(j, at, s)
	}
	effects, err := e.registry.Operation(at, ownership.OperationReport{Claim: j.claim, Status: s})
	e.apply(effects)
	if err != nil && !errors.Is(err, ownership.ErrStale) && !errors.Is(err, ownership.ErrClosed) {
		e.config.Log.Warn("status of an own operation", "claim", j.claim, "status", s, "error", err)
	}
	return err
}

// operate runs one operation from Prepare to the moment when the poller takes
// over. It is a goroutine of its own: Post may block for as long as a copy takes.
// The caller has said that it is expected.
func (e *Endpoint) operate(j *job) {
	defer e.leaveBackend()
	defer e.finish(j.session, j.claim.Piece)
	b, err := e.enterBackend(j.life)
	if err != nil {
		e.note(j.session, fmt.Sprintf("operation %v not prepared: %v", j.claim, err))
		e.neverSubmitted(j, e.now())
		return
	}
	defer e.leaveBackend()
	if e.config.Notify {
		j.request.Notify = wire.Notification(wireClaim(j.remote))
	}
	handle, err := b.Prepare(j.request)
	if err != nil { // nothing is submitted, and nothing ever will be
		e.note(j.session, fmt.Sprintf("operation %v not prepared: %v", j.claim, err))
		e.neverSubmitted(j, e.now())
		return
	}
	j.handle = handle
	if e.offer(j, e.now(), operation.StatusSubmitting) != nil { // a cancel was faster, or the peer went away
		e.release(j)
		e.neverSubmitted(j, e.now())
		return
	}
	seen := handle.Post()
	e.posted(j, e.now(), seen)
}

// posted passes on what Post answered, and gives the operation to the poller
// unless that was the end of it. Our wait starts here and not before Post: while
// that blocks nothing is known, and it may still answer that nothing started.
func (e *Endpoint) posted(j *job, at time.Duration, seen backend.Observation) {
	e.noteAt(at, j.session, fmt.Sprintf("operation %v: post: %v%v", j.claim, seen.Status, cause(seen.Err)))
	switch seen.Status {
	case backend.Submitted, backend.InProgress:
		j.last = backend.Submitted
		_ = e.offer(j, at, operation.StatusSubmitted)
	case backend.Done: // the copy ran inside of Post
		_ = e.offer(j, at, operation.StatusSubmitted)
		e.seen(j, at, seen)
	case backend.NotSubmitted:
		j.over.Store(true)
		e.release(j)
		e.neverSubmitted(j, at)
	default:
		e.seen(j, at, seen)
	}
	e.await(j, at)
}

// await has the poller ask and the watchdog wait, unless the job is over.
func (e *Endpoint) await(j *job, since time.Duration) {
	if !j.over.Load() {
		e.watchdog.watch(j, since+e.config.OperationWait)
		e.poller.add(j)
	}
}

// seen passes on a status, ends the job where the status is an end, and reports
// whether it was news.
func (e *Endpoint) seen(j *job, at time.Duration, o backend.Observation) bool {
	first := j.last == 0 // the answer of Post or Start
	if !o.Status.IsValid() || j.local != nil && !first && o.Status == backend.NotSubmitted {
		o.Status = backend.Error // no answer is an ambiguous one, and what was submitted may have begun
	}
	if o.Status == j.last || o.Status == backend.InProgress || !j.mayAnswer() {
		return false
	}
	if !first {
		e.noteAt(at, j.session, fmt.Sprintf("%s %v: poll: %v%v", j.kind(), j.claim, o.Status, cause(o.Err)))
	}
	j.last = o.Status
	_ = e.offer(j, at, status(o.Status))
	switch o.Status {
	case backend.Done, backend.NotSubmitted:
		j.over.Store(true)
		e.release(j)
		if j.then != nil && o.Status == backend.Done {
			go j.then()
		}
	case backend.Error:
		// What a copy says after an error proves nothing (backend.Local): it is
		// kept and not asked any more.
		j.over.Store(j.local != nil)
	case backend.NotFound, backend.Replaced, backend.Lost:
		// The handle stands for nothing, or for something else: it is not ours
		// to release, and it can prove nothing any more.
		j.over.Store(true)
	}
	return true
}

func (j *job) kind() string {
	if j.local != nil {
		return "local copy"
	}
	return "operation"
}

func cause(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// release frees the handle of an operation that ended on proof.
func (e *Endpoint) release(j *job) {
	if j.local != nil {
		e.releaseLocal(j)
		return
	}
	if err := j.handle.Release(); err != nil {
		e.config.Log.Error("handle not released", "claim", j.claim, "error", err)
	}
}

// finish says that the fan-out of a piece has returned.
func (e *Endpoint) finish(s *Session, piece ownership.PieceName) {
	effects, err := e.registry.Finish(e.now(), piece)
	e.apply(effects)
	if err != nil {
		e.config.Log.Error("finish", "piece", piece, "session", s.name, "error", err)
	}
}
