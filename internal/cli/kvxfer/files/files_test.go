// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/backend/loop"
	"github.com/kvxfer/kvxfer/transfer/rpc"
)

// site is one process's worth of the commands: a folder, and agents of a fabric
// that stands for the network.
type site struct {
	t      *testing.T
	name   string
	fabric *loop.Fabric
	dir    string
	root   *os.Root
}

func newSite(t *testing.T, fabric *loop.Fabric, name string) *site {
	t.Helper()
	s := &site{t: t, name: name, fabric: fabric, dir: t.TempDir()}
	var err error
	if s.root, err = os.OpenRoot(s.dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.root.Close() })
	return s
}

func (s *site) config() Config {
	return Config{
		Name: s.name, Chunk: 64 << 10, Parallel: 3, Patience: 100 * time.Millisecond,
		RequestTimeout: time.Minute, Grace: time.Minute, OperationWait: time.Minute,
		Open: func(name string) (Agent, error) { return s.fabric.Agent(name) },
		Tell: func(Event) {},
	}
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

// file makes a file of random bytes.
func (s *site) file(name string, size int) []byte {
	s.t.Helper()
	data := make([]byte, size)
	r := rand.NewChaCha8([32]byte{byte(size)})
	_, _ = r.Read(data)
	if err := os.WriteFile(s.path(name), data, 0o644); err != nil {
		s.t.Fatal(err)
	}
	return data
}

func (s *site) holds(name string, want []byte) {
	s.t.Helper()
	got, err := os.ReadFile(s.path(name))
	if err != nil || !bytes.Equal(got, want) {
		s.t.Errorf("%s: %d bytes, %v; want %d equal ones", name, len(got), err, len(want))
	}
}

// tidy fails if anything is beside the files.
func (s *site) tidy(want int) {
	s.t.Helper()
	entries, err := os.ReadDir(s.dir)
	if err != nil || len(entries) != want {
		s.t.Errorf("%d entries, %v; want %d: %v", len(entries), err, want, entries)
	}
}

// serve starts a server, which stop ends in good order.
func (s *site) serve() (addr string, stop func() error) {
	s.t.Helper()
	l, err := rpc.Listen("127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	return l.Addr(), s.serveOn(l)
}

var errOver = errors.New("test is over")

func (s *site) serveOn(l *rpc.Listener) (stop func() error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	result := make(chan error, 1)
	go func() { result <- Serve(ctx, s.config(), l, s.root, false) }()
	var once sync.Once
	var err error
	stop = func() error {
		once.Do(func() {
			cancel(errOver)
			if err = <-result; errors.Is(err, errOver) {
				err = nil
			}
			l.Close()
		})
		return err
	}
	s.t.Cleanup(func() { _ = stop() })
	return stop
}

func (s *site) job(addr, name string) Job {
	return Job{Addr: addr, Op: Write, SHA256: true, Files: []File{{Root: s.root, Local: name, Remote: name}}}
}

// sends puts one file, recvs gets one.
func (s *site) sends(j Job) (Result, error) { return one(Send(s.t.Context(), s.config(), j)) }
func (s *site) recvs(j Job) (Result, error) { return one(Recv(s.t.Context(), s.config(), j)) }

func one(sum Summary, err error) (Result, error) {
	if len(sum.Results) != 1 {
		return Result{}, errors.Join(err, errors.New("not one result"))
	}
	return sum.Results[0], errors.Join(err, sum.Results[0].Err)
}

func TestFilesGoBothWays(t *testing.T) {
	for _, op := range []Op{Write, Read} {
		t.Run(string(op), func(t *testing.T) { goBothWays(t, op) })
	}
}

func goBothWays(t *testing.T, op Op) {
	fabric := loop.New(loop.Config{Auto: true})
	server, client := newSite(t, fabric, "server"), newSite(t, fabric, "client")
	addr, stop := server.serve()
	for name, size := range map[string]int{"empty": 0, "byte": 1, "chunk": 64 << 10, "more": 64<<10 + 1, "many": 2_000_000} {
		want := client.file(name, size)
		there := client.job(addr, name)
		there.Op = op
		r, err := client.sends(there)
		if err != nil || r.Bytes != int64(size) || r.File != name {
			t.Fatalf("send %s: %+v, %v", name, r, err)
		}
		server.holds(name, want)
		back := client.job(addr, name)
		back.Files[0].Local, back.Op = name+" back", op
		got, err := client.recvs(back)
		if plain := Digest(sha256.Sum256(want)).String(); err != nil || got.SHA256 != plain || r.SHA256 != plain {
			t.Fatalf("recv %s: %+v, %v; sent with %s", name, got, err, r.SHA256)
		}
		client.holds(name+" back", want)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	server.tidy(5)
	client.tidy(10)
}

// A file that is there is not written over unless that is asked for, and what is
// not there, or must not be named, is refused with the peer's own words.
func TestRefusals(t *testing.T) {
	fabric := loop.New(loop.Config{Auto: true})
	server, client := newSite(t, fabric, "server"), newSite(t, fabric, "client")
	addr, _ := server.serve()
	old := server.file("old", 1000)
	client.file("old", 2000)
	var refused *RefusedError
	if _, err := client.sends(client.job(addr, "old")); !errors.As(err, &refused) || refused.Peer != "server" {
		t.Errorf("send over a file: %v", err)
	}
	server.holds("old", old)
	if _, err := client.recvs(client.job(addr, "old")); !errors.Is(err, ErrExists) {
		t.Errorf("recv over a file: %v", err)
	}
	if _, err := client.recvs(client.job(addr, "none")); !errors.As(err, &refused) {
		t.Errorf("recv of nothing: %v", err)
	}
	secret := client.job(addr, "x")
	secret.Files[0].Remote = "../secret"
	if _, err := client.recvs(secret); err == nil {
		t.Error("recv of a path")
	}
	over := client.job(addr, "old")
	over.Replace = true
	if _, err := client.sends(over); err != nil {
		t.Errorf("replace: %v", err)
	}
	server.holds("old", client.file("old", 2000))
}

// A file that was begun goes on where it was: only chunks whose bytes are there
// with the checksum that was noted are kept.
func TestResume(t *testing.T) {
	fabric := loop.New(loop.Config{Auto: true})
	server, client := newSite(t, fabric, "server"), newSite(t, fabric, "client")
	want := server.file("f", 20*64<<10)
	source := &Source{root: server.root, ctx: t.Context()}
	f, shape, err := source.open("f", 64<<10)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	s, err := openSink(t.Context(), client.root, "f", shape, false)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 64<<10)
	for _, i := range []int64{0, 3, 19} {
		d, err := source.read("f", shape, i, buf)
		if err == nil {
			err = s.write(i, buf, d)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.write(4, buf, Digest{}); !errors.Is(err, ErrDigest) {
		t.Errorf("a chunk with another checksum: %v", err)
	}
	// A crash: one chunk's bytes did not get to the disk, and the last line of the
	// journal was cut short.
	if _, err := s.part.WriteAt([]byte("lost"), 3*64<<10); err != nil {
		t.Fatal(err)
	}
	if _, err := s.journal.f.WriteString(line(5, Digest{1})[:6]); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	addr, _ := server.serve()
	r, err := client.recvs(client.job(addr, "f"))
	if err != nil || r.Resumed != 2*64<<10 {
		t.Errorf("%+v, %v; want 2 chunks resumed", r, err)
	}
	client.holds("f", want)
	client.tidy(1)
}

// A change of the file in the middle ends the transfer, and the next one begins
// from nothing: chunks of two versions are never mixed.
func TestChangedFile(t *testing.T) {
	fabric := loop.New(loop.Config{Auto: true, BytesPerTick: 16 << 10})
	server, client := newSite(t, fabric, "server"), newSite(t, fabric, "client")
	server.file("f", 100*64<<10)
	addr, _ := server.serve()
	j := client.job(addr, "f")
	var once sync.Once
	j.Progress = func(p Progress) {
		if p.Bytes > 0 && p.Bytes < p.Size {
			once.Do(func() { server.file("f", 50*64<<10) })
		}
	}
	_, err := client.recvs(j)
	var refused *RefusedError
	if err != nil && !errors.As(err, &refused) {
		t.Fatalf("got %v, want the peer's refusal", err)
	}
	if err == nil {
		t.Skip("the file was received before it changed")
	}
	r, err := client.recvs(client.job(addr, "f"))
	if err != nil || r.Resumed != 0 {
		t.Errorf("%+v, %v; want a fresh start", r, err)
	}
	client.holds("f", server.file("f", 50*64<<10))
}
