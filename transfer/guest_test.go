// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/gen/operation"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/ownership"
)

// told is where log lines go.
type told struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *told) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

func (b *told) log(c *Config) { c.Log = slog.New(slog.NewTextHandler(b, nil)) }

// count returns how many lines have all the parts, in their order.
func (b *told) count(parts ...string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
lines:
	for line := range strings.Lines(b.all.String()) {
		for _, part := range parts {
			_, after, found := strings.Cut(line, part)
			if !found {
				continue lines
			}
			line = after
		}
		n++
	}
	return n
}

// mapped registers memory of the test's own.
func mapped(t *testing.T, e *Endpoint, id string) *Region {
	t.Helper()
	a, err := memory.New(memory.Spec{Len: 4096})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	r, err := e.RegisterMemory(id, backend.Memory{Addr: a.Addr(), Len: 4096})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// asked is a session that waits for a guest's data.
func asked(t *testing.T, e *Endpoint, r *Region) *Session {
	t.Helper()
	s, err := e.Receive(t.Context(), ReceiveSpec{Region: r, From: FromPeers("guest")})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sends is a session of the endpoint's own that a guest asked for, and whose operation
// is under way.
func (e *Endpoint) sends(t *testing.T, g *guest, r *Region) *Session {
	t.Helper()
	name := ownership.PieceName{Session: ownership.SessionName{Request: ownership.RequestID{Endpoint: "guest", Number: 1}, Attempt: 1}, Piece: DefaultPiece}
	member := ownership.Member{Accessor: "guest", Incarnation: g.link.Incarnation()}
	s, err := e.admit(ownership.Send, backend.Write, name.Session, member)
	if err != nil {
		t.Fatal(err)
	}
	s.leave()
	claims, effects, err := e.addPieces([]*Region{r}, []ownership.PieceSpec{{Name: name, Region: r.id, Cohort: []ownership.Member{member}, Access: ownership.Reads}})
	e.apply(effects)
	if err != nil {
		t.Fatal(err)
	}
	j := &job{session: s, claim: claims[0][0], remote: ownership.ClaimName{
		Owner: member.Incarnation, Accessor: ownership.Accessor(e.Name()), Incarnation: e.Incarnation(), Piece: name, Sequence: 1,
	}}
	s.took(j, 1)
	if err := errors.Join(e.seal(j), e.offer(j, e.now(), operation.StatusSubmitting), e.offer(j, e.now(), operation.StatusSubmitted)); err != nil {
		t.Fatal(err)
	}
	return s
}
