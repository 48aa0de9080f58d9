// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package transfer

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/fence"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// socket is a stream of which the kernel has said something.
type socket struct {
	Stream
	pid   int
	local bool
}

func (s socket) PeerProcess() (int, bool) { return s.pid, s.local }

// A peer's process is known where peer, kernel and process table say the same; one
// that differs in anything is none, above all a number that was used again.
func TestIdentify(t *testing.T) {
	us := ourProcess()
	if us == (wire.Process{}) || int(us.PID) != os.Getpid() {
		t.Fatalf("we are %+v", us)
	}
	with := func(change func(*wire.Process)) wire.Process { p := us; change(&p); return p }
	plain, _ := Pipe()
	for name, tc := range map[string]struct {
		stream Stream
		said   wire.Process
		want   string // of the error
		is     error
	}{
		"the same":             {socket{plain, os.Getpid(), true}, us, "", nil},
		"not of a process":     {plain, us, "only a Unix socket does", nil},
		"TCP":                  {socket{plain, 0, false}, us, "only a Unix socket does", nil},
		"nothing said":         {socket{plain, os.Getpid(), true}, wire.Process{}, "did not say", nil},
		"another namespace":    {socket{plain, 0, true}, with(func(p *wire.Process) { p.Namespace = "pid:[1]" }), "", fence.ErrElsewhere},
		"another boot":         {socket{plain, os.Getpid(), true}, with(func(p *wire.Process) { p.Boot = "x" }), "", fence.ErrElsewhere},
		"no number here":       {socket{plain, 0, true}, us, "its socket is of process 0", nil},
		"another's socket":     {socket{plain, 1, true}, us, "its socket is of process 1", nil},
		"number used again":    {socket{plain, os.Getpid(), true}, with(func(p *wire.Process) { p.Started-- }), "but there is process", nil},
		"number says a parent": {socket{plain, os.Getppid(), true}, with(func(p *wire.Process) { p.PID, p.Started = uint32(os.Getppid()), p.Started+1 }), "but there is process", nil}, // a parent began before us, maybe in our tick
	} {
		p, err := identify(tc.stream, tc.said)
		switch {
		case tc.want == "" && tc.is == nil:
			if err != nil || p.PID != os.Getpid() {
				t.Errorf("%s: %v, %v", name, p, err)
			}
		case err == nil || !strings.Contains(err.Error(), tc.want) || tc.is != nil && !errors.Is(err, tc.is):
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
}

// What is known of a life stays known over streams that say less, becomes known when a
// later stream says it, and is lost for good where two streams contradict each other.
func TestIdentityOfALife(t *testing.T) {
	plain, _ := Pipe()
	us, life := ourProcess(), ownership.Incarnation{1}
	p := &peer{}
	p.identify(life, plain, wire.Process{})
	if _, err := p.identities()[0].gone(); err == nil || errors.Is(err, fence.ErrAlive) {
		t.Errorf("unknown: %v", err)
	}
	p.identify(life, socket{plain, os.Getpid(), true}, us)
	p.identify(life, plain, wire.Process{})
	p.identify(ownership.Incarnation{2}, plain, wire.Process{})
	if list := p.identities(); len(list) != 2 || list[0].process.PID != os.Getpid() {
		t.Fatalf("got %+v", list)
	}
	if _, err := p.identities()[0].gone(); !errors.Is(err, fence.ErrAlive) {
		t.Errorf("a living one: %v", err)
	}
	parent, err := fence.Find(os.Getppid())
	if err != nil {
		t.Fatal(err)
	}
	said := wire.Process{PID: uint32(parent.PID), Started: parent.Started, Boot: parent.Boot, Namespace: parent.Namespace}
	p.identify(life, socket{plain, parent.PID, true}, said)
	for range 2 {
		if _, err := p.identities()[0].gone(); err == nil || !strings.Contains(err.Error(), "it was in process") {
			t.Errorf("two processes: %v", err)
		}
		p.identify(life, socket{plain, os.Getpid(), true}, us)
	}
}
