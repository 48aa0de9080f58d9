// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kvxfer/kvxfer/backend/loop"
)

func (s *site) batch(addr string, names ...string) Job {
	j := s.job(addr, "")
	j.Files = nil
	for _, name := range names {
		j.Files = append(j.Files, File{Root: s.root, Local: name, Remote: name})
	}
	return j
}

// Many files go at once, more than there are slots; those that cannot go do not stop
// the others, and nothing of them is left under their names.
func TestManyFiles(t *testing.T) {
	for _, op := range []Op{Write, Read} {
		t.Run(string(op), func(t *testing.T) {
			fabric := loop.New(loop.Config{Auto: true})
			server, client := newSite(t, fabric, "server"), newSite(t, fabric, "client")
			addr, stop := server.serve()
			var names []string
			content := map[string][]byte{}
			for i := range 20 {
				name := fmt.Sprint("f", i)
				content[name] = client.file(name, i*20_000)
				names = append(names, name)
			}
			taken := server.file("f3", 7)
			if err := os.Mkdir(client.path("folder"), 0o755); err != nil {
				t.Fatal(err)
			}
			j := client.batch(addr, append(names, "folder", "none")...)
			j.Op = op
			told := map[string]error{}
			j.Ended = func(r Result) { told[r.File] = r.Err }
			var last Progress
			j.Progress = func(p Progress) { last = p }
			sum, err := Send(t.Context(), client.config(), j)
			if err != nil || sum.Peer != "server" || sum.Lives != 1 || len(sum.Results) != 22 || len(told) != 22 {
				t.Fatalf("%+v, %v, told of %d", sum, err, len(told))
			}
			for i, r := range sum.Results {
				bad := r.File == "f3" || r.File == "folder" || r.File == "none"
				if r.File != j.Files[i].Remote || (r.Err != nil) != bad || told[r.File] != r.Err {
					t.Errorf("%+v, told %v", r, told[r.File])
				}
			}
			if last.Ended != 22 || last.Files != 22 {
				t.Errorf("progress ends at %+v", last)
			}
			server.holds("f3", taken)
			delete(content, "f3")
			for name, want := range content {
				server.holds(name, want)
			}
			back := newSite(t, fabric, "back")
			j = back.batch(addr, append(names, "none")...)
			j.Op = op
			sum, err = Recv(t.Context(), back.config(), j)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range sum.Results {
				if (r.Err != nil) != (r.File == "none") {
					t.Errorf("%+v: %v", r, r.Err)
				}
			}
			for name, want := range content {
				back.holds(name, want)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			server.tidy(20)
			back.tidy(20)
		})
	}
}

// More files than a server takes in at once come one after the other, from several
// peers too.
func TestMoreFilesThanAreTakenAtOnce(t *testing.T) {
	fabric := loop.New(loop.Config{Auto: true})
	server := newSite(t, fabric, "server")
	addr, _ := server.serve()
	var clients sync.WaitGroup
	for c := range 4 {
		client := newSite(t, fabric, fmt.Sprint("client", c))
		var names []string
		for i := range 30 {
			names = append(names, fmt.Sprint("f", c, "-", i))
			client.file(names[i], 100)
		}
		clients.Go(func() {
			config := client.config()
			config.Parallel = 30
			sum, err := Send(t.Context(), config, client.batch(addr, names...))
			if err != nil {
				t.Error(err)
			}
			for _, r := range sum.Results {
				if r.Err != nil {
					t.Errorf("%s: %v", r.File, r.Err)
				}
			}
		})
	}
	clients.Wait()
	server.tidy(120)
}

// A batch ends where the user ends it: what is in place stays, the rest is said to be
// not done, and goes on another time.
func TestInterruptedBatch(t *testing.T) {
	fabric := loop.New(loop.Config{Auto: true, BytesPerTick: 16 << 10})
	server, client := newSite(t, fabric, "server"), newSite(t, fabric, "client")
	addr, _ := server.serve()
	for i := range 6 {
		client.file(fmt.Sprint("f", i), 20*64<<10)
	}
	j := client.batch(addr, "f0", "f1", "f2", "f3", "f4", "f5")
	ctx, cancel := context.WithCancelCause(t.Context())
	j.Ended = func(Result) { cancel(errOver) } // the first
	sum, err := Send(ctx, client.config(), j)
	if !errors.Is(err, errOver) || len(sum.Results) != 6 {
		t.Fatalf("%+v, %v", sum, err)
	}
	if sum.Results[5].Err == nil || !errors.Is(sum.Results[5].Err, ErrNotDone) {
		t.Skip("all were there before it was interrupted")
	}
	sum, err = Send(t.Context(), client.config(), client.batch(addr, "f5"))
	if err != nil || sum.Results[0].Err != nil {
		t.Fatalf("%+v, %v", sum, err)
	}
	server.holds("f5", client.file("f5", 20*64<<10))
}

// The same command again finds what is in place, and moves none of it; what has the same
// size and other bytes is not taken for it, and not written over.
func TestAgain(t *testing.T) {
	fabric := loop.New(loop.Config{Auto: true})
	server, client := newSite(t, fabric, "server"), newSite(t, fabric, "client")
	addr, _ := server.serve()
	for i, name := range []string{"empty", "equal", "other"} {
		client.file(name, i*100_000)
		server.file(name, i*100_000)
	}
	other := append([]byte{1}, client.file("other", 200_000)[1:]...)
	if err := os.WriteFile(server.path("other"), other, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, run := range map[string]func(context.Context, Config, Job) (Summary, error){"send": Send, "recv": Recv} {
		sum, err := run(t.Context(), client.config(), client.batch(addr, "empty", "equal", "other"))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range sum.Results {
			if (r.Err != nil) != (r.File == "other") || r.Err == nil && r.Resumed != r.Bytes {
				t.Errorf("%s: %+v: %v", name, r, r.Err)
			}
		}
		server.holds("other", other)
		server.tidy(3)
		client.tidy(3)
	}
	j := client.batch(addr, "empty", "equal", "other")
	j.Replace = true
	if sum, err := Send(t.Context(), client.config(), j); err != nil || sum.Results[2].Err != nil || sum.Results[2].Resumed != 0 || sum.Results[1].Resumed != 100_000 {
		t.Errorf("%+v, %v", sum, err)
	}
	server.holds("other", client.file("other", 200_000))
}

// A file takes its place only when the peer has said to the digest of what is here that
// it is its own: the answer itself proves it, whatever its bytes say.
func TestAnotherDigestIsNotAnswered(t *testing.T) {
	fabric := loop.New(loop.Config{Auto: true})
	server, client := newSite(t, fabric, "server"), newSite(t, fabric, "client")
	addr, _ := server.serve()
	server.file("f", 3*64<<10)
	n, err := newNode(client.config())
	if err != nil {
		t.Fatal(err)
	}
	asked := func(l *life, ctx context.Context, peer string, _ *Job, it *item) error {
		f, err := l.insist(ctx, peer, message{Do: doGet, File: "f"})
		if err != nil {
			return err
		}
		d, err := l.until(ctx, peer, message{Do: doDigest, File: "f", Shape: f.Shape})
		if err != nil {
			return err
		}
		same := message{Do: doSame, File: "f", Shape: f.Shape, Digest: d.Digest}
		if _, err = l.insist(ctx, peer, same); err != nil {
			return fmt.Errorf("its own digest: %w", err)
		}
		same.Digest = strings.Repeat("0", 64)
		var refused *RefusedError
		if _, err = l.insist(ctx, peer, same); err == nil || errors.As(err, &refused) {
			return fmt.Errorf("another digest: %v", err)
		}
		changed := f.Shape
		changed.Version = "x"
		if _, err = l.until(ctx, peer, message{Do: doDigest, File: "f", Shape: changed}); !errors.As(err, &refused) {
			return fmt.Errorf("another version: %v", err)
		}
		return nil
	}
	sum, err := n.client(t.Context(), newBatch(client.job(addr, "f")), asked)
	if err != nil || sum.Results[0].Err != nil {
		t.Errorf("%v, %v", err, sum.Results[0].Err)
	}
}

// The digest of a file is that of its chunks' digests, however they became known.
func TestDigestsOfChunks(t *testing.T) {
	s := newSite(t, loop.New(loop.Config{}), "x")
	content := s.file("f", 5*MinChunk+1)
	all, some := &Source{root: s.root, ctx: t.Context()}, &Source{root: s.root, ctx: t.Context()}
	f, shape, err := all.open("f", MinChunk)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	buf := make([]byte, MinChunk)
	for i := range shape.chunks() {
		_, n := shape.at(i)
		want, err := all.read("f", shape, i, buf[:n])
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			if got, err := some.read("f", shape, i, buf[:n]); err != nil || got != want {
				t.Fatalf("chunk %d: %v, %v; want %v", i, got, err, want)
			}
		}
	}
	want, known, err := all.digest("f", shape)
	if err != nil || !known {
		t.Fatalf("all chunks were read: %v, %v", known, err)
	}
	var list []byte // as docs/network.md says that other tools compute it
	for chunk := range slices.Chunk(content, MinChunk) {
		d := sha256.Sum256(chunk)
		list = append(list, d[:]...)
	}
	if want != sha256.Sum256(list) {
		t.Errorf("the digest is %v", want)
	}
	for {
		got, known, err := some.digest("f", shape)
		if err != nil || known && got != want {
			t.Fatalf("%v, %v; want %v", got, err, want)
		}
		if known {
			return
		}
	}
}
