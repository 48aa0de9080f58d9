// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kvxfer/kvxfer/nixl"
)

// waitfor waits until a file exists: waitfor FILE.
func waitfor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waitfor file")
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s does not come", args[0])
		}
	}
}

// event is a line that serve, send and recv print with --json.
type event struct {
	Event   string `json:"event"`
	Addr    string `json:"addr"`
	Bytes   int64  `json:"bytes"`
	Resumed int64  `json:"resumed"`
	Lives   int    `json:"lives"`
}

// next returns the next event of a kind.
func (c *command) next(t *testing.T, kind string) (e event) {
	t.Helper()
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			_ = c.cmd.Wait() // until all of its standard error is here
			t.Fatalf("before %q: %v; standard error: %s", kind, err, c.stderr.String())
		}
		e = event{}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if e.Event == kind {
			return e
		}
	}
}

// reach waits until so many bytes of a file are in a folder's unfinished copy.
func reach(t *testing.T, dir string, lines int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
		journal, _ := os.ReadFile(filepath.Join(dir, ".kvxfer-file.journal"))
		if bytes.Count(journal, []byte("\n")) > lines {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing arrives")
		}
	}
}

// Either side is killed in the middle of a file and started again: under a new
// incarnation it goes on, and what arrived before is not sent again.
func TestKilledInTheMiddleOfAFile(t *testing.T) {
	lib, err := nixl.Open(nixl.Options{Folders: []string{projectLibrary}})
	if err != nil {
		t.Skip("needs NIXL: ", err)
	}
	const size, chunk = 64 << 20, 256 << 10
	data := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data)
	for _, killed := range []string{"the serve", "the send", "the recv"} {
		t.Run(killed, func(t *testing.T) {
			store, home := t.TempDir(), t.TempDir()
			from, to, args := home, store, []string{"send", filepath.Join(home, "file"), "--to"}
			if killed == "the recv" {
				from, to, args = store, home, []string{"recv", "file", "--out", filepath.Join(home, "file"), "--from"}
			}
			if err := os.WriteFile(filepath.Join(from, "file"), data, 0o600); err != nil {
				t.Fatal(err)
			}
			common := []string{"--json", "--chunk", "256KiB", "--parallel", "2", "--patience", "500ms"}
			addr := "unix:" + filepath.Join(store, "control.sock")
			serve := func() *command {
				_ = os.Remove(filepath.Join(store, "control.sock")) // of one that was killed
				c := startCommand(t, lib.Path(), append([]string{"serve", "--listen", addr, "--dir", store, "--name", "store"}, common...))
				c.next(t, "serving")
				return c
			}
			client := func() *command {
				return startCommand(t, lib.Path(), append(append(args, addr, "--name", "client"), common...))
			}
			server, c := serve(), client()
			reach(t, to, 20)
			victim := c
			if killed == "the serve" {
				victim = server
			}
			if err := victim.cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			_ = victim.cmd.Wait()
			if killed == "the serve" {
				server = serve()
			} else {
				c = client()
			}
			done := c.next(t, "done")
			if done.Bytes != size || done.Resumed < 15*chunk || done.Resumed >= size {
				t.Errorf("%+v: want at least 15 chunks of %d resumed", done, chunk)
			}
			if err := c.cmd.Wait(); err != nil {
				t.Errorf("%v: %s", err, c.stderr.String())
			}
			if got, err := os.ReadFile(filepath.Join(to, "file")); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d bytes arrived, %v; want %d equal ones", len(got), err, size)
			}
			if err := server.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := server.cmd.Wait(); err != nil {
				t.Errorf("serve: %v: %s", err, server.stderr.String())
			}
		})
	}
}
