// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package nixl

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/internal/nixltest"
)

// codesOf are the codes that a row is about: its own, or all that no row above
// has.
func codesOf(rows []Evidence, n int) []Code {
	row := rows[n]
	if row.Refused {
		return []Code{CodeSuccess} // what NIXL would say to all of it
	}
	if row.Codes != nil {
		return row.Codes
	}
	var out []Code
	for _, c := range everyCode {
		taken := slices.ContainsFunc(rows[:n], func(o Evidence) bool {
			return o.Call == row.Call && o.Phase == row.Phase && !o.Refused && !o.OnlyUCX && slices.Contains(o.Codes, c)
		})
		if !taken {
			out = append(out, c)
		}
	}
	return out
}

// everyCode is all that the library knows, and some that it does not.
var everyCode = []Code{
	CodeSuccess, CodeInProgress, CodeInvalidParam, CodeBackend, CodeInvalidState,
	CodeException, CodeNoTelemetry, CodeNotFound, 2, -7, -99,
}

// Every row of the table, every code of the row, on the fake: what the binding
// says, what it keeps, and what the library heard.
func TestEvidence(t *testing.T) {
	dir := nixltest.Wheel(t, "1.5.1")
	rows := Evidences()
	for n, row := range rows {
		for _, code := range codesOf(rows, n) {
			for _, ucx := range []bool{true, false} {
				if row.OnlyUCX && !ucx || code == CodeNotFound && row.Call == "post_xfer_req" && !row.OnlyUCX && ucx && row.Phase == PhaseUnposted {
					continue
				}
				t.Run(fmt.Sprintf("%s %v %v ucx=%v", row.Call, row.Phase, code, ucx), func(t *testing.T) {
					drive := drives[row.Call]
					if drive == nil {
						t.Fatal("no way to bring the library there")
					}
					a := fakeAgent(t, dir)
					got := drive(t, a, row, code, ucx)
					got.check(t, a, row, code)
				})
			}
		}
	}
}

// seen is what a row led to.
type seen struct {
	q     *Request
	err   error
	calls []string // what the library heard of it
}

func (s *seen) check(t *testing.T, a *Agent, row Evidence, code Code) {
	t.Helper()
	if row.Refused != (len(s.calls) == 0) && row.Phase != PhaseBuild && s.calls != nil {
		t.Errorf("refused %v, but the library heard %q", row.Refused, s.calls)
	}
	if row.Err != nil && !errors.Is(s.err, row.Err) {
		t.Errorf("got %v, want %v", s.err, row.Err)
	}
	if row.Refused && row.Err == nil && s.err != nil {
		t.Errorf("got %v", s.err)
	}
	if s.q == nil { // never made
		if code != CodeSuccess && s.err == nil {
			t.Error("no error")
		}
		return
	}
	if row.Status != 0 {
		if o := s.q.now(); o != row.Status {
			t.Errorf("the request is %v, want %v", o, row.Status)
		}
	}
	// What proves nothing of our memory must still be held.
	if held := a.InFlight() == 1; held == row.Own {
		t.Errorf("held %v, but own proof %v", held, row.Own)
	}
}

// now is the request's status without asking the library.
func (r *Request) now() Status {
	switch r.phase.Load() {
	case phaseCreated:
		return StatusNotSubmitted
	case phaseDone:
		return StatusDone
	case phaseFailed:
		return StatusFailed
	case phaseActive:
		return StatusInProgress
	}
	return 0
}

// reach makes a request and brings it to a phase; more are the answers of the
// calls that follow.
func reach(t *testing.T, a *Agent, p Phase, ucx bool, more string) *Request {
	t.Helper()
	script := map[Phase]string{
		PhaseUnposted: "x=0", PhaseRunning: "post=1", PhaseDone: "post=0", PhaseFailed: "post=1;status=-2,0", PhaseReleased: "post=0",
	}[p]
	if more != "" {
		script = more
	}
	q := scripted(t, a, script)
	q.ucx = ucx
	var err error
	switch p {
	case PhaseRunning, PhaseDone:
		_, err = q.Post()
	case PhaseFailed:
		_, err = q.Post()
		if s, _ := q.Status(); s != StatusFailed {
			t.Fatal(s)
		}
	case PhaseReleased:
		_, err = q.Post()
		err = errors.Join(err, q.Release())
	}
	if err != nil {
		t.Fatal(err)
	}
	calls(t, a)
	return q
}

// heard is what the library heard since; never nil.
func heard(t *testing.T, a *Agent) []string {
	if a.Closed() {
		return nil
	}
	return append([]string{}, calls(t, a)...)
}

// drives bring the library to a row: they make the row's call in its phase and
// have it answer the code.
var drives = map[string]func(*testing.T, *Agent, Evidence, Code, bool) seen{
	"prep_xfer_dlist": func(t *testing.T, a *Agent, _ Evidence, code Code, _ bool) seen {
		meet(t, a, "prep="+itoa(code))
		_, err := a.Prepare(PrepareConfig{Peer: "prep=" + itoa(code), Segments: []Segment{{Addr: 0x20000, Len: 64}}})
		return seen{err: err}
	},
	"create_xfer_req": func(t *testing.T, a *Agent, _ Evidence, code Code, _ bool) seen {
		meet(t, a, "create="+itoa(code))
		_, err := a.NewRequest(fakeConfig("create=" + itoa(code)))
		return seen{err: err}
	},
	"make_xfer_req": func(t *testing.T, a *Agent, _ Evidence, code Code, _ bool) seen {
		name := "create=" + itoa(code)
		meet(t, a, name)
		local, err1 := a.Prepare(PrepareConfig{Segments: []Segment{{Addr: 0x10000, Len: 64}}})
		remote, err2 := a.Prepare(PrepareConfig{Peer: name, Segments: []Segment{{Addr: 0x20000, Len: 64}}})
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		_, err := a.MakeRequest(MakeConfig{Op: Write, Local: local, LocalIndex: []int32{0}, Remote: remote, RemoteIndex: []int32{0}})
		return seen{err: err}
	},
	"post_xfer_req": func(t *testing.T, a *Agent, row Evidence, code Code, ucx bool) seen {
		script := map[Phase]string{PhaseUnposted: "post=" + itoa(code), PhaseDone: "post=0," + itoa(code)}[row.Phase]
		q := reach(t, a, row.Phase, ucx, script)
		_, err := q.Post()
		return seen{q, err, heard(t, a)}
	},
	"get_xfer_status": func(t *testing.T, a *Agent, row Evidence, code Code, ucx bool) seen {
		script := ""
		if row.Phase == PhaseRunning {
			script = "post=1;status=" + itoa(code) + ",0"
		}
		q := reach(t, a, row.Phase, ucx, script)
		s, err := q.Status()
		h := heard(t, a)
		if row.Phase == PhaseRunning && row.Status == StatusFailed { // asked again, it says the same, unasked
			if again, err2 := q.Status(); s != StatusFailed || again != s || err2 != err || len(heard(t, a)) != 0 {
				t.Errorf("%v then %v, %v", s, again, err2)
			}
		}
		return seen{q, err, h}
	},
	"release_xfer_req": func(t *testing.T, a *Agent, row Evidence, code Code, ucx bool) seen {
		script := map[Phase]string{
			PhaseUnposted: "release=" + itoa(code), PhaseDone: "post=0;release=" + itoa(code),
			PhaseRunning: "post=1", PhaseFailed: "post=1;status=-2,0",
		}[row.Phase]
		q := reach(t, a, row.Phase, ucx, script)
		err := q.Release()
		return seen{q, err, heard(t, a)}
	},
	"deregister_mem": func(t *testing.T, a *Agent, row Evidence, code Code, ucx bool) seen {
		q := reach(t, a, row.Phase, ucx, "")
		order(t, a, "deregister", code, row)
		return seen{q, q.regions[0].Deregister(), heard(t, a)}
	},
	"invalidate_remote_md": func(t *testing.T, a *Agent, row Evidence, code Code, ucx bool) seen {
		q := reach(t, a, row.Phase, ucx, "")
		order(t, a, "invalidate", code, row)
		return seen{q, a.Invalidate(q.peer.name), heard(t, a)}
	},
	"destroy_agent": func(t *testing.T, a *Agent, row Evidence, code Code, ucx bool) seen {
		q := reach(t, a, row.Phase, ucx, "")
		if err := a.Destroy(); !errors.Is(err, ErrInFlight) {
			t.Errorf("destroy: %v", err)
		}
		order(t, a, "destroy", code, row)
		err := a.Fence()
		if (err == nil) != (code == CodeSuccess) {
			t.Errorf("fence: %v", err)
		}
		if err == nil && q.Release() != nil {
			t.Error("not let go after the fence")
		}
		return seen{q: q, err: err}
	},
	"get_notifs": func(t *testing.T, a *Agent, row Evidence, code Code, ucx bool) seen {
		q := reach(t, a, row.Phase, ucx, "")
		order(t, a, "notifs", code, row)
		_, err := a.Notifications()
		return seen{q: q, err: err}
	},
}

// order tells the fake what the next call of a kind answers.
func order(t *testing.T, a *Agent, what string, code Code, row Evidence) {
	t.Helper()
	if row.Refused {
		return
	}
	if err := a.Notify(nixltest.Control, []byte(what+"="+itoa(code))); err != nil {
		t.Fatal(err)
	}
}

func meet(t *testing.T, a *Agent, name string) {
	t.Helper()
	envelope, err := seal(name, []byte(name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.LoadMetadata(envelope, name); err != nil {
		t.Fatal(err)
	}
}

// Each test that a row names is there.
func TestEvidenceNamesItsTests(t *testing.T) {
	var text strings.Builder
	for _, pattern := range []string{"*_test.go", "../internal/nixlc/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(b)
		}
	}
	for _, e := range evidence {
		if !strings.Contains(text.String(), "func "+e.Test+"(t *testing.T)") {
			t.Errorf("%s %v: no test %s", e.Call, e.Phase, e.Test)
		}
		if (e.Own || e.Peer) && e.Status != 0 && e.Status != StatusDone && e.Status != StatusNotSubmitted {
			t.Errorf("%s %v: %v is called a proof", e.Call, e.Phase, e.Status)
		}
	}
}

var update = flag.Bool("update", false, "write the table into docs/nixl.md")

const (
	docs  = "../docs/nixl.md"
	begin = "<!-- evidence: made by go test ./nixl -run TestEvidenceInTheDocs -update -->\n"
	end   = "<!-- end of evidence -->\n"
)

// The page shows the table as it is.
func TestEvidenceInTheDocs(t *testing.T) {
	b, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(b), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the table", docs)
	}
	want := markdown()
	if *update {
		if err := os.WriteFile(docs, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old != want {
		t.Errorf("%s differs from the table: run the command in its first line", docs)
	}
}

func markdown() string {
	var b strings.Builder
	b.WriteString("| call | phase | codes | the binding says | proof: ours | peer's | why | test |\n|---|---|---|---|---|---|---|---|\n")
	mark := map[bool]string{true: "yes", false: "no"}
	for _, e := range evidence {
		codes := "every other"
		if e.Codes != nil {
			codes = strings.Trim(fmt.Sprint(e.Codes), "[]")
		}
		says := e.Status.String()
		switch {
		case e.Status == 0 && e.Err == nil:
			says = "released, or destroyed"
		case e.Status == 0:
			says = "-"
		}
		if e.Refused {
			codes = "not asked"
		}
		if e.Err != nil {
			says += ", " + strings.TrimPrefix(e.Err.Error(), "nixl: ")
		}
		if e.OnlyUCX {
			codes += " (UCX)"
		}
		fmt.Fprintf(&b, "| %s | %v | %s | %s | %s | %s | %s | %s |\n",
			e.Call, e.Phase, codes, says, mark[e.Own], mark[e.Peer], e.Why, e.Test)
	}
	return b.String()
}

// What the table may say at all, apart from the table: success alone is an
// end, and one error of one call a proof that nothing began.
func TestOnlySuccessIsAnEnd(t *testing.T) {
	for c := range callsOfRequest {
		for code := Code(-2000); code < 100; code++ {
			want := StatusFailed
			switch {
			case code == CodeSuccess:
				want = StatusDone
			case code == CodeInProgress:
				want = StatusInProgress
			case code == CodeNotFound && c == callPost:
				want = StatusNotSubmitted
			}
			if got := statusOf(c, code); got != want {
				t.Errorf("%v (%d) answers %v: %v, want %v", c, c, code, got, want)
			}
		}
	}
	for _, e := range evidence {
		if e.Status == StatusInProgress && (e.Own || e.Peer) || e.Status == StatusFailed && (e.Own || e.Peer) {
			t.Errorf("%s %v: no proof can come of %v", e.Call, e.Phase, e.Status)
		}
		if e.Peer && !e.Own {
			t.Errorf("%s %v: proof for the peer's memory and not for ours", e.Call, e.Phase)
		}
	}
}
