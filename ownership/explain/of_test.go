// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package explain_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/ownership/blocks"
	"github.com/kvxfer/kvxfer/ownership/explain"
)

var update = flag.Bool("update", false, "accept the new output")

// desk drives one registry with times and names that do not change.
type desk struct {
	t      *testing.T
	reg    *ownership.Registry
	claims map[string][]ownership.ClaimName // by region
}

var self = ownership.Incarnation{0xab}

func newDesk(t *testing.T, change ...func(*ownership.Config)) *desk {
	config := ownership.Config{
		Name: "decode-0", Incarnation: self, RequestTimeout: 60 * time.Second, Grace: 30 * time.Second,
		Contain: func(ownership.Containment) error { return errors.New("no way to isolate it") },
	}
	for _, f := range change {
		f(&config)
	}
	reg, err := ownership.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return &desk{t: t, reg: reg, claims: map[string][]ownership.ClaimName{}}
}

func (d *desk) ok(_ ownership.Effects, err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func session(n uint64) ownership.SessionName {
	return ownership.SessionName{Request: ownership.RequestID{Endpoint: "decode-0", Number: n}, Attempt: 1}
}

// piece admits session n with one piece in a region of its own.
func (d *desk) piece(at time.Duration, n uint64, region string, side ownership.Side, change func(*ownership.PieceSpec), cohort ...ownership.Accessor) ownership.PieceName {
	d.t.Helper()
	d.ok(nil, d.reg.AddRegion(ownership.RegionSpec{ID: region, Len: 4096}))
	spec := ownership.PieceSpec{Name: ownership.PieceName{Session: session(n), Piece: "kv"}, Region: region}
	for i, a := range cohort {
		spec.Cohort = append(spec.Cohort, ownership.Member{Accessor: a, Incarnation: ownership.Incarnation{0xcd}})
		if side == ownership.Send {
			spec.Cohort[i].Sequence = 1
		}
	}
	if change != nil {
		change(&spec)
	}
	d.ok(d.reg.Admit(at, ownership.SessionSpec{Name: session(n), Side: side}))
	claims, effects, err := d.reg.AddPiece(at, spec)
	d.ok(effects, err)
	d.claims[region] = claims
	return spec.Name
}

// publish seals a piece and says that its fan-out returned.
func (d *desk) publish(at time.Duration, p ownership.PieceName) {
	d.t.Helper()
	d.ok(d.reg.Seal(at, p))
	d.ok(d.reg.Finish(at, p))
}

func (d *desk) report(at time.Duration, region string, i int, e ownership.Evidence) {
	d.t.Helper()
	c := d.claims[region][i]
	d.ok(d.reg.Report(at, ownership.PeerReport{Claim: c, From: c.Accessor, Evidence: e}))
}

func (d *desk) operation(at time.Duration, region string, statuses ...operation.Status) {
	d.t.Helper()
	for _, s := range statuses {
		d.ok(d.reg.Operation(at, ownership.OperationReport{Claim: d.claims[region][0], Status: s}))
	}
}

func (d *desk) explain(at time.Duration, pools ...explain.Pool) *explain.Report {
	taken := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return explain.Of(explain.Endpoint{Name: "decode-0", Incarnation: self, Taken: taken, Elapsed: at, Pools: pools}, d.reg.Snapshot())
}

// pool has a request that holds three blocks, one of which is being written.
func pool(t *testing.T) explain.Pool {
	t.Helper()
	p, err := blocks.New(8)
	if err != nil {
		t.Fatal(err)
	}
	table := make([]blocks.Block, 3)
	_, err = p.Allocate("request 1", table)
	_, pinned := p.Pin("transfer 1", blocks.Write, table[:1])
	if err := errors.Join(err, pinned); err != nil {
		t.Fatal(err)
	}
	return explain.PoolOf("cache", p)
}

const s = time.Second

// everything brings a registry into each state that a reason knows, but FATAL.
// Claims of the peers go into doubt last: that closes admission.
func everything(t *testing.T) *desk {
	d := newDesk(t)
	recv, send := ownership.Receive, ownership.Send
	d.ok(nil, d.reg.AddRegion(ownership.RegionSpec{ID: "a free one", Len: 4096}))
	d.piece(0, 1, "b not sealed", recv, nil, "prefill-0")
	d.publish(1*s, d.piece(0, 2, "c published", recv, nil, "prefill-0", "prefill-1"))
	d.report(2*s, "c published", 0, ownership.OK)
	d.publish(1*s, d.piece(0, 3, "d counted", recv, func(p *ownership.PieceSpec) { p.Count = 1 }, "prefill-0", "prefill-1"))
	d.ok(d.reg.Seal(1*s, d.piece(0, 4, "e fan-out", recv, nil, "prefill-0")))
	d.publish(1*s, d.piece(0, 5, "f local", recv, func(p *ownership.PieceSpec) { p.Local = true }, "prefill-0"))
	d.report(2*s, "f local", 0, ownership.OK)
	d.publish(1*s, d.piece(0, 6, "g not closed", recv, nil, "prefill-0"))
	d.report(2*s, "g not closed", 0, ownership.OK)
	d.ok(d.reg.Complete(2*s, session(6)))
	d.publish(1*s, d.piece(0, 7, "h active", recv, nil, "prefill-0"))
	d.report(2*s, "h active", 0, ownership.OK)
	d.publish(1*s, d.piece(0, 8, "i idle operation", send, nil, "prefill-0"))
	d.publish(1*s, d.piece(0, 9, "j running operation", send, nil, "prefill-0"))
	d.operation(2*s, "j running operation", operation.StatusSubmitting, operation.StatusSubmitted)
	d.piece(0, 10, "k gather", send, func(p *ownership.PieceSpec) { p.Local = true }, "prefill-0")
	d.ok(d.reg.Local(2*s, d.claims["k gather"][1], ownership.LocalStart))
	d.publish(1*s, d.piece(0, 11, "l in doubt", recv, nil, "prefill-0"))
	d.publish(1*s, d.piece(0, 12, "m gone", recv, nil, "decode-9"))
	d.publish(1*s, d.piece(0, 13, "n overdue operation", send, nil, "prefill-0"))
	d.operation(2*s, "n overdue operation", operation.StatusSubmitting, operation.StatusSubmitted)
	d.publish(1*s, d.piece(0, 14, "o dropped operation", send, nil, "prefill-0"))
	d.operation(2*s, "o dropped operation", operation.StatusSubmitting, operation.StatusSubmitted)
	d.publish(1*s, d.piece(0, 15, "p invalid", recv, nil, "prefill-0"))
	d.report(2*s, "p invalid", 0, ownership.OK)
	d.publish(1*s, d.piece(0, 16, "q cancelled", recv, nil, "prefill-0"))
	_, effects, err := d.reg.Cancel(2*s, ownership.CancelSpec{Session: session(16)})
	d.ok(effects, err)
	d.report(3*s, "l in doubt", 0, ownership.InDoubt)
	d.ok(d.reg.Gone(3*s, "decode-9", ownership.Incarnation{0xcd}))
	d.operation(3*s, "n overdue operation", operation.StatusOverdue)
	d.operation(3*s, "o dropped operation", operation.StatusLost)
	c := d.claims["p invalid"][0]
	if _, err := d.reg.Report(3*s, ownership.PeerReport{Claim: c, From: c.Accessor, Evidence: ownership.Failed}); !errors.Is(err, ownership.ErrConflict) {
		t.Fatalf("got %v, want a conflict", err)
	}
	d.ok(nil, d.reg.AddRegion(ownership.RegionSpec{ID: "z not registered", Len: 4096}))
	d.ok(d.reg.Deregister(3*s, "z not registered"))
	return d
}

// golden compares with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test -update accepts it):\n%s", path, got)
	}
}

func text(t *testing.T, r *explain.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Every reason is told in words. What each says must agree with the contract's
// tables: read a change of this file against contract §2.
func TestText(t *testing.T) {
	d := everything(t)
	golden(t, "everything.txt", text(t, d.explain(4500*time.Millisecond, pool(t))))
	d.ok(d.reg.Tick(33 * s)) // the drain of session 16 began at 2 s, of the doubts at 3 s
	golden(t, "fatal.txt", text(t, d.explain(40*s, pool(t))))
	empty := newDesk(t)
	golden(t, "empty.txt", text(t, empty.explain(s)))
	if _, err := empty.reg.Stop(s); err != nil {
		t.Fatal(err)
	}
	golden(t, "closed.txt", text(t, empty.explain(s)))
}

// A quarantine says what it refuses, which its scope decides (contract §7).
func TestQuarantineScope(t *testing.T) {
	for scope, want := range map[ownership.Quarantine][2]string{
		ownership.QuarantineEndpoint: {"QUARANTINED", "new sessions and pieces are refused, since a claim of prefill-0 "},
		ownership.QuarantineAccessor: {"QUARANTINED", "new pieces whose cohort names prefill-0 are refused, since "},
		ownership.QuarantineOff:      {"OPEN", "new sessions and pieces are taken in"},
	} {
		t.Run(scope.String(), func(t *testing.T) {
			d := newDesk(t, func(c *ownership.Config) { c.Quarantine = scope })
			d.publish(1*s, d.piece(0, 1, "pool", ownership.Receive, nil, "prefill-0"))
			d.report(2*s, "pool", 0, ownership.InDoubt)
			a := d.explain(3 * s).Admission
			if a.Scope != scope.String() || a.State != want[0] || !strings.HasPrefix(a.Text, want[0]+": "+want[1]) {
				t.Errorf("%+v", a)
			}
		})
	}
}

// The JSON shape is a promise: fields are added, never renamed.
func TestShape(t *testing.T) {
	d := newDesk(t)
	d.publish(1*s, d.piece(0, 1, "pool", ownership.Receive, nil, "prefill-0"))
	d.report(2*s, "pool", 0, ownership.InDoubt)
	d.ok(nil, d.reg.AddRegion(ownership.RegionSpec{ID: "spare", Len: 4096}))
	r := d.explain(5*s, pool(t))
	got, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "shape.json", append(got, '\n'))
	d.ok(d.reg.Tick(40 * s))
	if got, err = json.MarshalIndent(d.explain(40*s), "", "  "); err != nil {
		t.Fatal(err)
	}
	golden(t, "fatal.json", append(got, '\n'))
}

// A report survives the way through JSON: the same document, the same words.
func TestReadWhatWasWritten(t *testing.T) {
	for _, d := range []*desk{newDesk(t), everything(t)} {
		r := d.explain(4 * s)
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		back, err := explain.Read(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if a, b := text(t, r), text(t, back); !bytes.Equal(a, b) {
			t.Errorf("written\n%s\nread\n%s", a, b)
		}
		if again, _ := json.Marshal(back); !bytes.Equal(again, data) {
			t.Errorf("written\n%s\nread\n%s", data, again)
		}
	}
}

// A reader ignores what a later version may add, and names what is wrong.
func TestReadRefuses(t *testing.T) {
	whole, err := json.Marshal(everything(t).explain(4 * s))
	if err != nil {
		t.Fatal(err)
	}
	change := func(old, new string) string {
		if !bytes.Contains(whole, []byte(old)) {
			t.Fatalf("no %q to change in\n%s", old, whole)
		}
		return strings.Replace(string(whole), old, new, 1)
	}
	if _, err := explain.Read(strings.NewReader(change(`{"schema":1`, `{"schema":1,"later":[1]`))); err != nil {
		t.Errorf("a field of a later version: %v", err)
	}
	for _, tc := range []struct{ name, document, want string }{
		{"empty", "", "explain: 1:1: unexpected end of JSON input"},
		{"no JSON", "{\n  \"schema\": 1,\n  oops", "explain: 3:3: invalid character 'o' looking for beginning of object key string"},
		{"cut short", string(whole[:40]), "explain: 1:40: unexpected end of JSON input"},
		{"a list", "[]", "explain: 1:1: the document: is a JSON array, not an object"},
		{"another document", `{"event":"run"}`, "explain: schema: is missing: this is no snapshot of kvxfer"},
		{"another version", `{"schema":2}`, "explain: schema: is 2, and only 1 is known"},
		{"a wrong type", "{\"schema\":1,\n\"regions\":[{\"id\":7}]}", "explain: 2:18: regions.id: is a JSON number, not a string"},
		{"an unknown admission", change(`"state":"QUARANTINED"`, `"state":"AJAR"`), `explain: admission.state: is "AJAR"`},
		{"fatal without its reason", change(`"state":"QUARANTINED"`, `"state":"FATAL"`), "explain: fatal: does not agree with admission.state, which is FATAL"},
		{"no name", change(`"id":"a free one"`, `"id":""`), "explain: regions[0].id: is empty"},
		{"a holding that is better than its owners", change(`"holding":"retained"`, `"holding":"free"`), `explain: regions[1].holding: is "free", but its owners make it "retained"`},
		{"an unknown state", change(`"state":"UNPUBLISHED"`, `"state":"FINE"`), `explain: regions[1].owners[0].reasons[0].state: is "FINE", which is no state of a claim`},
	} {
		_, err := explain.Read(strings.NewReader(tc.document))
		var format *explain.FormatError
		if !errors.As(err, &format) || err.Error() != tc.want {
			t.Errorf("%s:\n got %v\nwant %s", tc.name, err, tc.want)
		}
	}
}
