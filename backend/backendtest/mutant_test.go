// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package backendtest_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/backendtest"
	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/memory"
)

// slow keeps an operation in flight for some ticks.
var slow = loop.Config{BytesPerTick: 100_000}

// mutants are backends that break one promise each, and the clause that must
// turn red. The first breaks none.
var mutants = []struct {
	name, group, red string
	lies             lies
}{
	{"honest", "", "", lies{config: slow}},
	{"claims a fence that it has not", "fence", "Fence proves that our memory is left alone: WRITE", lies{config: slow, noFence: true}},
	{"claims a passive fence that it has not", "fence", "closing the passive side proves that peers leave its memory alone",
		lies{config: slow, noClose: true}},
	{"hides that it needs passive progress", "transfer", "bytes move without the passive side's help",
		lies{config: loop.Config{PassiveProgress: true}, limits: func(l *backend.Limits) { l.PassiveProgress = false }}},
	{"claims bounded progress", "not checked", "an operation ends in bounded time whatever the peer does",
		lies{config: slow, limits: func(l *backend.Limits) { l.BoundedProgress = true }}},
	{"takes a device's memory for the host's", "register", "a kind of memory that it does not serve is refused",
		lies{register: func(m *backend.Memory) { m.Space = backend.Space{} }}},
	{"deregisters twice", "register", "Deregister ends it once", lies{deregister: forgive(backend.ErrInvalid)}},
	{"swallows broken metadata", "metadata", "cut short at any length is ErrMetadata and changes nothing",
		lies{connect: func(_ *shim, _ string, err error) error { return forgive(backend.ErrMetadata)(err) }}},
	{"loses a peer to broken metadata", "metadata", "changed in any byte is ErrMetadata and changes nothing",
		lies{connect: func(s *shim, peer string, err error) error {
			if err != nil {
				_ = s.Agent.Disconnect(peer)
			}
			return err
		}}},
	{"repairs wrong requests", "prepare", "a wrong request is ErrInvalid", lies{prepare: repair}},
	{"keeps the caller's slices", "prepare", "an operation keeps its own copy of the request", lies{lazy: true}},
	{"moves one byte too many", "transfer", "WRITE moves exactly its bytes", lies{poll: spill}},
	{"says Done early", "transfer", "Done means that the bytes are there, every time",
		lies{config: loop.Config{BytesPerTick: 1000}, poll: say(backend.Done, backend.InProgress), release: forgive(backend.ErrInFlight)}},
	{"notifies early", "notify", "arrives once, with its peer and message, after the data", lies{config: slow, post: notifyAtOnce}},
	{"notifies a stalled peer", "notify", "none before a stalled peer has the data", lies{config: slow, post: notifyAtOnce}},
	{"notifies twice", "notify", "each operation has its own",
		lies{progress: func(_ *shim, n []backend.Notification) []backend.Notification { return append(n, n...) }}},
	{"loses notifications", "notify", "arrives after a READ too",
		lies{progress: func(*shim, []backend.Notification) []backend.Notification { return nil }}},
	{"names itself in notifications", "notify", "arrives after a READ too", lies{progress: wrongPeer}},
	{"notifies without being asked", "notify", "none without Notify", lies{post: notifyAtOnce}},
	{"mixes up its answers", "poll", "each answer is about the operation at its place", lies{config: slow, answers: slices.Reverse[[]backend.Observation]}},
	{"forgets what is done", "poll", "Done stays Done", lies{config: slow, poll: doneOnce()}},
	{"posts twice", "poll", "a second Post submits nothing and answers Error",
		lies{config: slow, post: func(h *handle, o backend.Observation) backend.Observation {
			if h.posts > 1 {
				return backend.Observation{Status: backend.Submitted}
			}
			return o
		}}},
	{"errs without an explanation", "poll", "a second Post submits nothing and answers Error",
		lies{config: slow, post: func(_ *handle, o backend.Observation) backend.Observation { o.Err = nil; return o }}},
	{"releases in flight", "retain", "nothing in flight can be let go, and the operation survives the attempt",
		lies{config: slow, release: forgive(backend.ErrInFlight)}},
	{"deregisters in flight", "retain", "the same of a READ", lies{config: slow, deregister: forgive(backend.ErrInFlight)}},
	{"disconnects in flight", "retain", "the same of a READ", lies{config: slow, disconnect: forgive(backend.ErrInFlight)}},
	{"closes in flight", "retain", "the same of a READ",
		lies{config: slow, close: func(_ *shim, err error) error { return forgive(backend.ErrInFlight)(err) }}},
	{"releases twice", "retain", "Release works once", lies{release: forgive(backend.ErrClosed)}},
	{"calls a stalled operation not submitted", "retain", "a stopped peer keeps an operation in progress",
		lies{config: slow, poll: say(backend.NotSubmitted, backend.InProgress)}},
	{"calls a broken operation done", "error", "a broken operation answers Error and is retained for ever",
		lies{config: slow, poll: say(backend.Done, backend.Error)}},
	{"calls a broken operation not submitted", "error", "the same of a READ",
		lies{config: slow, poll: say(backend.NotSubmitted, backend.Error)}},
	{"calls a running operation not submitted", "error", "a broken operation answers Error and is retained for ever",
		lies{config: slow, post: say(backend.NotSubmitted, backend.Submitted)}},
	{"works on after Close", "close", "a closed agent answers ErrClosed and moves nothing", lies{config: slow, noClose: true}},
}

// repair makes a wrong request into one that is accepted.
func repair(s *shim, r backend.Request, err error) (backend.Request, error) {
	if len(r.Local) != 1 || len(r.Remote) != 1 {
		return r, err
	}
	n := min(r.Local[0].Len, r.Remote[0].Len)
	r.Local[0].Len, r.Remote[0].Len = n, n
	return r, nil
}

// spill changes a byte of the peer's that no request named.
func spill(h *handle, o backend.Observation) backend.Observation {
	if peer := h.shim.peer; o.Status == backend.Done {
		peer.memory[len(peer.memory)-1]++
	}
	return o
}

func notifyAtOnce(h *handle, o backend.Observation) backend.Observation {
	peer := h.shim.peer
	peer.inbox = append(peer.inbox, backend.Notification{Peer: h.shim.Name(), Message: h.request.Notify})
	return o
}

func wrongPeer(s *shim, got []backend.Notification) []backend.Notification {
	for i := range got {
		got[i].Peer = s.Name()
	}
	return got
}

// doneOnce answers Done once for each operation.
func doneOnce() func(*handle, backend.Observation) backend.Observation {
	said := map[*handle]bool{}
	return func(h *handle, o backend.Observation) backend.Observation {
		if o.Status == backend.Done && said[h] {
			return backend.Observation{Status: backend.InProgress}
		}
		said[h] = o.Status == backend.Done
		return o
	}
}

// mutantEnv tells a child process which mutant to be.
const mutantEnv = "KVXFER_BACKENDTEST_MUTANT"

// TestKitFindsMutants shows that the kit can fail: each mutant runs in a child
// process, since the kit fails the test that calls it, and must turn its
// clause red.
func TestKitFindsMutants(t *testing.T) {
	if os.Getenv(mutantEnv) != "" {
		t.Skip("this is a child")
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			run := "^TestMutant$"
			if m.group != "" {
				run += "/^" + strings.ReplaceAll(m.group, " ", "_") + "$"
			}
			cmd := exec.Command(os.Args[0], "-test.run="+run, "-test.v")
			cmd.Env = append(os.Environ(), mutantEnv+"="+m.name)
			out, err := cmd.CombinedOutput()
			if strings.Contains(string(out), "panic:") {
				t.Fatalf("the kit panicked:\n%s", out)
			}
			if m.red == "" {
				if err != nil {
					t.Errorf("%v\n%s", err, out)
				}
				return
			}
			red := "--- FAIL: " + strings.ReplaceAll("TestMutant/"+m.group+"/"+m.red, " ", "_") + " ("
			if err == nil || !strings.Contains(string(out), red) {
				t.Errorf("not found (%v):\n%s", err, out)
			}
		})
	}
}

// TestMutant is the child: the kit against the mutant that the environment names.
func TestMutant(t *testing.T) {
	name := os.Getenv(mutantEnv)
	if name == "" {
		t.Skip("runs as a child of TestKitFindsMutants")
	}
	for i := range mutants {
		if mutants[i].name == name {
			if mutants[i].red != "" { // waits for what never comes
				backendtest.SetPatience(time.Second)
			}
			backendtest.Run(t, func(t *testing.T) *backendtest.Pair { return pairOf(t, &mutants[i].lies) })
			return
		}
	}
	t.Fatalf("no mutant %q", name)
}

func pairOf(t *testing.T, l *lies) *backendtest.Pair {
	t.Helper()
	f := loop.New(l.config)
	a, b := shimOf(t, f, "a", l), shimOf(t, f, "b", l)
	a.peer, b.peer = b, a
	p := &backendtest.Pair{
		A:      backendtest.Side{Name: "a", Backend: a, Memory: a.memory},
		B:      backendtest.Side{Name: "b", Backend: b, Memory: b.memory},
		Stall:  func() { _ = f.Stall("b") },
		Resume: func() { _ = f.Continue("b") },
		Break:  func() { _ = f.Break("a", "b", 0) },
	}
	if !l.config.PassiveProgress {
		p.Step = f.Step
	}
	return p
}

// shimOf makes an agent that lies. Its memory is never freed: a liar's Close
// is no proof, and the child process ends soon.
func shimOf(t *testing.T, f *loop.Fabric, name string, l *lies) *shim {
	t.Helper()
	arena, err := memory.New(memory.Spec{Len: backendtest.MemoryLen})
	if err != nil {
		t.Fatal(err)
	}
	agent, err := f.Agent(name)
	if err != nil {
		t.Fatal(err)
	}
	return &shim{Agent: agent, lies: l, memory: arena.Bytes()}
}
