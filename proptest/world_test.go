// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package proptest

import (
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/proptest/model"
)

// world is a registry of the library beside one of the model. Each of its calls
// goes to both, and every answer and all that can be seen is compared.
type world struct {
	t     *rapid.T
	lib   *ownership.Registry
	model *model.Registry
	now   time.Duration
	steps int // calls so far

	lives   map[string]int // of an accessor, from 1
	claims  map[model.PieceName][]ownership.ClaimName
	pieces  []model.PieceName // all that ever were, in the order of admission
	script  script
	checker *ownership.Checker // nil: the model alone judges
	test    string             // for the name of the file
}

const clock = 5 * time.Second // request timeout and grace

func newWorld(t *rapid.T, test string, c model.Config) *world {
	c.T, c.G = clock, clock
	w := &world{t: t, test: test, model: model.New(c), lives: make(map[string]int), claims: make(map[model.PieceName][]ownership.ClaimName)}
	lib, err := ownership.New(ownership.Config{
		Name: "self", Incarnation: incarnation("", 1), RequestTimeout: c.T, Grace: c.G, Quarantine: quarantines[c.Quarantine],
		Owners: c.Owners, Sessions: c.Sessions, Tombstones: c.Tombstones, Requests: c.Requests, Outbox: c.Outbox,
		PeerTombstones: orMany(c.PeerTombstones), PeerRequests: orMany(c.PeerRequests), PeerOutbox: orMany(c.PeerOutbox),
		Contain: func(ownership.Containment) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	w.lib = lib
	w.script = script{config: c, pieces: make(map[string]bool), requests: make(map[model.Request]bool)}
	return w
}

// orMany is a share of a table; that of a registry is never without bound.
func orMany(n int) int {
	if n == 0 {
		return 1 << 20
	}
	return n
}

var quarantines = map[string]ownership.Quarantine{
	"": ownership.QuarantineEndpoint, "endpoint": ownership.QuarantineEndpoint,
	"accessor": ownership.QuarantineAccessor, "off": ownership.QuarantineOff,
}

var (
	sides   = map[string]ownership.Side{"receive": ownership.Receive, "send": ownership.Send}
	scopes  = map[string]ownership.Scope{"own": ownership.Own, "passive": ownership.Passive, "all": ownership.All}
	locals  = map[string]ownership.LocalEvent{"start": ownership.LocalStart, "done": ownership.LocalDone, "doubt": ownership.LocalDoubt}
	results = map[string]ownership.Evidence{"ok": ownership.OK, "failed": ownership.Failed, "in_doubt": ownership.InDoubt, "failed_quiesced": ownership.FailedQuiesced}
	origins = map[string]ownership.Origin{"local": ownership.FromLocal, "peer": ownership.FromPeer}
)

var accesses = map[string]ownership.Access{"writes": ownership.Writes, "reads": ownership.Reads}

// statuses are the library's, by the contract's words.
var statuses = func() map[string]operation.Status {
	m := make(map[string]operation.Status)
	for _, s := range operation.AllStatuses() {
		m[s.String()] = s
	}
	return m
}()

// incarnation gives each life of an accessor its own, the same in every run.
func incarnation(accessor string, life int) ownership.Incarnation {
	var i ownership.Incarnation
	i[0] = byte(life)
	copy(i[1:], accessor)
	return i
}

func (w *world) member(accessor string) model.Member {
	return model.Member{Accessor: accessor, Life: w.lives[accessor] + 1}
}

func libMember(m model.Member) ownership.Member {
	if m.Accessor == "" {
		return ownership.Member{}
	}
	return ownership.Member{Accessor: ownership.Accessor(m.Accessor), Incarnation: incarnation(m.Accessor, m.Life)}
}

func libName(n model.Name) ownership.SessionName {
	return ownership.SessionName{Request: ownership.RequestID{Endpoint: n.Request.Endpoint, Number: uint64(n.Request.Number)}, Attempt: uint32(n.Attempt)}
}

func libPiece(n model.PieceName) ownership.PieceName {
	return ownership.PieceName{Session: libName(n.Session), Piece: n.Piece}
}

// names of sessions and pieces as a scenario file has them.
func sessionText(n model.Name) string {
	return fmt.Sprintf("%s%d@%d", n.Request.Endpoint, n.Request.Number, n.Attempt)
}

func pieceText(n model.PieceName) string { return fmt.Sprintf("%s@%d", n.Piece, n.Session.Attempt) }

func pieceTexts(list []model.PieceName) string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = pieceText(n)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// claimName returns the library's and the model's name of an accessor's claim;
// for somebody outside of the cohort, a name that is current but for him.
func (w *world) claimName(n model.PieceName, accessor string) (ownership.ClaimName, model.ClaimName) {
	m := w.member(accessor)
	theirs := ownership.ClaimName{Owner: incarnation("", 1), Piece: libPiece(n), Accessor: ownership.Accessor(accessor), Incarnation: incarnation(accessor, m.Life)}
	for _, c := range w.claims[n] {
		if string(c.Accessor) == accessor {
			return c, model.ClaimName{Piece: n, Of: model.Member{Accessor: accessor, Life: int(c.Incarnation[0])}}
		}
		if theirs.Sequence == 0 {
			theirs.Sequence = c.Sequence
		}
	}
	return theirs, model.ClaimName{Piece: n, Of: m}
}

// did takes in one call: the library's answer must be the model's, and so must
// everything that can be seen afterwards.
func (w *world) did(want string, effects ownership.Effects, err error) {
	w.steps++
	steps.Add(1)
	w.script.end(want)
	got := ""
	if err != nil {
		got = ownership.KindOf(err).String()
	}
	if got != want {
		w.fail("the error is %q (%v), the contract wants %q", got, err, want)
	}
	snapshot := w.lib.Snapshot()
	if bad := w.compare(&snapshot); bad != "" {
		w.fail("%s", bad)
	}
	if w.checker != nil {
		if bad := w.checker.Step(snapshot, effects, err, false); bad != nil {
			w.fail("%v", bad)
		}
	}
}

// fail writes the scenario and ends the run.
func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	path := w.script.write(w)
	w.t.Logf("the steps, as a scenario:\n%s\nreplay with: go run ./cmd/kvxfer replay %s", w.script.text(w), path)
	w.t.Fatalf(format, args...)
}

func (w *world) admit(n model.Name, side string) {
	w.script.requests[n.Request] = true
	w.script.step("session: {id: %s, side: %s}", sessionText(n), side)
	effects, err := w.lib.Admit(w.now, ownership.SessionSpec{Name: libName(n), Side: sides[side]})
	w.did(w.model.Admit(w.now, n, side), effects, err)
}

// named makes sure that a file has a name for a session that a step is about.
func (w *world) named(n model.Name) {
	if !w.script.requests[n.Request] {
		w.admit(n, "receive")
	}
}

func (w *world) region(id string) {
	if w.model.Regions[id] != nil {
		return
	}
	w.model.AddRegion(id)
	if err := w.lib.AddRegion(ownership.RegionSpec{ID: id, Len: 1}); err != nil {
		w.fail("region %s: %v", id, err)
	}
}

func (w *world) add(spec model.PieceSpec) {
	w.region(spec.Region)
	w.named(spec.Name.Session)
	w.script.piece(spec)
	theirs := ownership.PieceSpec{Name: libPiece(spec.Name), Region: spec.Region, Count: spec.Count, Local: spec.Local, Access: accesses[spec.Access]}
	s := w.model.Find(spec.Name.Session)
	for i, m := range spec.Cohort {
		member := libMember(m)
		if s != nil && s.Side == "send" {
			member.Sequence = uint64(i + 1)
		}
		theirs.Cohort = append(theirs.Cohort, member)
	}
	claims, effects, err := w.lib.AddPiece(w.now, theirs)
	want := w.model.AddPiece(w.now, spec)
	if err == nil {
		w.claims[spec.Name] = claims
		w.pieces = append(w.pieces, spec.Name)
	}
	w.did(want, effects, err)
}

func (w *world) gate(step string, list ...model.PieceName) {
	w.script.step("%s: %s", step, pieceTexts(list))
	theirs := make([]ownership.PieceName, len(list))
	for i, n := range list {
		theirs[i] = libPiece(n)
	}
	if step == "seal" {
		effects, err := w.lib.Seal(w.now, theirs...)
		w.did(w.model.Seal(w.now, list...), effects, err)
		return
	}
	effects, err := w.lib.Finish(w.now, theirs...)
	w.did(w.model.Finish(w.now, list...), effects, err)
}

func (w *world) failSend(n model.PieceName, published []string) {
	w.script.step("send_failed: {piece: %s, published: [%s]}", pieceText(n), strings.Join(published, ", "))
	theirs := make([]ownership.Accessor, len(published))
	for i, a := range published {
		theirs[i] = ownership.Accessor(a)
	}
	effects, err := w.lib.FailSend(w.now, libPiece(n), theirs)
	w.did(w.model.FailSend(w.now, n, published), effects, err)
}

// report comes under the current name, or as "stale" or "old".
func (w *world) report(n model.PieceName, from, evidence, as string) {
	theirs, ours := w.claimName(n, from)
	suffix := ""
	switch as {
	case "stale":
		theirs.Sequence, ours.Old, suffix = 0, true, ", as: stale"
	case "old":
		theirs.Owner, ours.Old, suffix = incarnation("", 2), true, ", as: {incarnation: old}"
	}
	w.script.step("report: {piece: %s, from: %s, evidence: %s%s}", pieceText(n), from, evidence, suffix)
	effects, err := w.lib.Report(w.now, ownership.PeerReport{Claim: theirs, From: ownership.Accessor(from), Evidence: results[evidence]})
	w.did(w.model.Report(w.now, ours, from, evidence), effects, err)
}

// forged is a report that names somebody else than its stream's peer.
func (w *world) forged(n model.PieceName, claims, from, evidence string) {
	theirs, ours := w.claimName(n, claims)
	w.script.comment("report for %s of %s, from %s: no step expresses it", claims, pieceText(n), from)
	effects, err := w.lib.Report(w.now, ownership.PeerReport{Claim: theirs, From: ownership.Accessor(from), Evidence: results[evidence]})
	w.did(w.model.Report(w.now, ours, from, evidence), effects, err)
}

func (w *world) operation(n model.PieceName, to, status string) {
	theirs, ours := w.claimName(n, to)
	w.script.step("operation: {piece: %s, to: %s, status: %s}", pieceText(n), to, status)
	effects, err := w.lib.Operation(w.now, ownership.OperationReport{Claim: theirs, Status: statuses[status]})
	w.did(w.model.Operation(w.now, ours, status), effects, err)
}

func (w *world) local(n model.PieceName, event string) {
	theirs, _ := w.claimName(n, model.Local)
	w.script.step("local: {piece: %s, event: %s}", pieceText(n), event)
	effects, err := w.lib.Local(w.now, theirs, locals[event])
	w.did(w.model.Local(w.now, n, event), effects, err)
}

// ack comes from the life that the accessor's newest claim of the session names.
func (w *world) ack(n model.Name, from string) {
	m, newest := w.member(from), uint64(0)
	for p, claims := range w.claims {
		for _, c := range claims {
			if p.Session == n && string(c.Accessor) == from && c.Sequence > newest {
				m.Life, newest = int(c.Incarnation[0]), c.Sequence
			}
		}
	}
	w.script.step("ack: {session: %s, from: %s}", sessionText(n), from)
	effects, err := w.lib.Ack(w.now, libName(n), libMember(m))
	w.did(w.model.Ack(w.now, n, m), effects, err)
}

func (w *world) request(n model.Name, from string) {
	w.script.step("request: {session: %s, from: %s}", sessionText(n), from)
	m := w.member(from)
	effects, err := w.lib.Requested(w.now, libName(n), libMember(m))
	w.did(w.model.Requested(w.now, n, m), effects, err)
}

func (w *world) cancel(n model.Name, origin, from string) {
	m, suffix := model.Member{}, ""
	if n.Attempt > 0 {
		suffix = fmt.Sprintf(", attempt: %d", n.Attempt)
	}
	if from != "" {
		m, suffix = w.member(from), suffix+", from: "+from
	}
	w.script.step("cancel: {session: %s%d, by: %s%s}", n.Request.Endpoint, n.Request.Number, origin, suffix)
	got, effects, err := w.lib.Cancel(w.now, ownership.CancelSpec{Session: libName(n), Origin: origins[origin], From: libMember(m)})
	want, kind := w.model.Cancel(w.now, n, origin, m)
	w.did(kind, effects, err)
	if err != nil {
		return
	}
	answer := model.Answer{Cause: string(got.Cause), Origin: plain(got.Origin.String()), Physical: got.Physical.String()}
	if got.Outcome.IsValid() {
		answer.Outcome = got.Outcome.String()
	}
	if answer != want {
		w.fail("cancel answers %+v, the contract wants %+v", answer, want)
	}
}

func (w *world) failed(n model.Name, reason string) {
	w.named(n)
	w.script.step("fail: {session: %s, reason: %s}", sessionText(n), reason)
	effects, err := w.lib.Fail(w.now, libName(n), ownership.Cause(reason))
	w.did(w.model.Fail(w.now, n, reason), effects, err)
}

func (w *world) failPiece(n model.PieceName, reason string) {
	w.script.step("fail: {piece: %s, reason: %s}", pieceText(n), reason)
	effects, err := w.lib.FailPiece(w.now, libPiece(n), ownership.Cause(reason))
	w.did(w.model.FailPiece(w.now, n, reason), effects, err)
}

func (w *world) complete(n model.Name) {
	w.named(n)
	w.script.step("complete: %s", sessionText(n))
	effects, err := w.lib.Complete(w.now, libName(n))
	w.did(w.model.Complete(w.now, n), effects, err)
}

func (w *world) close(n model.Name) {
	w.named(n)
	w.script.step("close: %s", sessionText(n))
	effects, err := w.lib.Close(w.now, libName(n))
	w.did(w.model.Close(w.now, n), effects, err)
}

// fence proves every life so far; the accessor goes on in its next one.
func (w *world) fence(accessor, scope string) {
	w.script.step("fence: {accessor: %s, scope: %s}", accessor, scope)
	if accessor != model.Local {
		w.lives[accessor]++
	}
	effects, err := w.lib.Fence(w.now, ownership.FenceSpec{Accessor: ownership.Accessor(accessor), Scope: scopes[scope]})
	w.did(w.model.Fence(w.now, model.Member{Accessor: accessor}, scope), effects, err)
}

func (w *world) gone(accessor string) {
	w.script.step("gone: %s", accessor)
	w.lives[accessor]++
	effects, err := w.lib.Gone(w.now, ownership.Accessor(accessor), ownership.Incarnation{})
	w.did(w.model.Gone(w.now, model.Member{Accessor: accessor}), effects, err)
}

func (w *world) advance(by time.Duration) {
	w.now += by
	w.script.step("advance: %v", by)
	effects, err := w.lib.Tick(w.now)
	w.did(w.model.Tick(w.now), effects, err)
}

// time passes a little, most of the time; else up to the next deadline, or to one
// nanosecond before or after it.
func (w *world) time(t *rapid.T) {
	when, any := w.model.NextDeadline()
	if d := when + offset.Draw(t, "offset"); any && d > w.now && dice.Draw(t, "time") > 8 {
		w.advance(d - w.now)
		return
	}
	w.advance(pause.Draw(t, "pause"))
}

func (w *world) stop() {
	w.script.step("stop: registry")
	effects, err := w.lib.Stop(w.now)
	w.did(w.model.Stop(w.now), effects, err)
}

func (w *world) reopen() {
	w.script.step("reopen: registry")
	effects, err := w.lib.Reopen(w.now)
	w.did(w.model.Reopen(w.now), effects, err)
}

func (w *world) watermark(q model.Request) {
	w.script.step("watermark: {below: %s%d}", q.Endpoint, q.Number)
	effects, err := w.lib.Watermark(w.now, q.Endpoint, uint64(q.Number))
	w.did(w.model.Watermark(w.now, q.Endpoint, q.Number), effects, err)
}

func (w *world) reuse(region string) {
	w.region(region)
	w.script.step("reuse: %s", region)
	effects, err := w.lib.Reuse(w.now, region)
	w.did(w.model.Reuse(w.now, region), effects, err)
}

// tear ends a registration, or forgets a region.
func (w *world) tear(region string, forget bool) {
	w.region(region)
	w.script.comment("region %s is deregistered (%v) or removed (%v): no step expresses it", region, !forget, forget)
	if forget {
		effects, err := w.lib.RemoveRegion(w.now, region)
		w.did(w.model.RemoveRegion(w.now, region), effects, err)
		return
	}
	effects, err := w.lib.Deregister(w.now, region)
	w.did(w.model.Deregister(w.now, region), effects, err)
}

func (w *world) register(region string) {
	w.script.comment("region %s is registered: no step expresses it", region)
	err := w.lib.AddRegion(ownership.RegionSpec{ID: region, Len: 1})
	w.did(w.model.AddRegion(region), nil, err)
}

// deliver lets the oldest message for an accessor leave.
func (w *world) deliver(to string) {
	w.steps++
	steps.Add(1)
	w.script.step("deliver: {to: %s, result: ok}", to)
	out, waits := w.lib.Peek(ownership.Accessor(to))
	if !waits {
		w.script.end(model.Reject)
		if len(w.model.For(to)) > 0 {
			w.fail("nothing waits for %s, want %v", to, w.model.For(to))
		}
		return
	}
	for _, m := range w.model.For(to) {
		if sameMessage(out, m) {
			if !w.model.Delivered(m.Message) || !w.lib.Delivered(out.To.Accessor, out.Number) {
				w.fail("%v leaves out of turn: %v", out, w.model.For(to))
			}
			return
		}
	}
	w.fail("%v leaves, want one of %v", out, w.model.For(to))
}

// accessorsOf are those of a piece's cohort.
func (w *world) accessorsOf(n model.PieceName) (out []string) {
	for _, c := range w.claims[n] {
		if c.Accessor != ownership.Local {
			out = append(out, string(c.Accessor))
		}
	}
	return out
}

func plain(word string) string {
	if word == "none" {
		return ""
	}
	return word
}
