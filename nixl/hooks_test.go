// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package nixl_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"github.com/kvxfer/kvxfer/internal/dl"
	"github.com/kvxfer/kvxfer/nixl"
)

const roleHooks = "hooks"

func init() { roles[roleHooks] = hooks }

// hooks says which of libc's memory functions have other first bytes after UCX
// was loaded than before.
func hooks(_ io.Reader, out io.Writer) error {
	libc, err := dl.Open("libc.so.6")
	if err != nil {
		return err
	}
	names := []string{"mmap", "munmap", "mremap", "madvise", "brk"}
	before := map[string][16]byte{}
	for _, n := range names {
		p, err := libc.Must(n)
		if err != nil {
			return err
		}
		before[n] = *(*[16]byte)(unsafe.Pointer(p))
	}
	lib, err := nixl.Open(nixl.Options{Folders: []string{folder}})
	if err != nil {
		return err
	}
	a, err := lib.NewAgent("hooks", nixl.AgentConfig{NoProgressThread: true})
	if err != nil {
		return err
	}
	if _, err := a.CreateUCX(nixl.UCXConfig{Device: "lo"}); err != nil {
		return err
	}
	var patched []string
	for _, n := range names {
		if *(*[16]byte)(unsafe.Pointer(libc.Maybe(n))) != before[n] {
			patched = append(patched, n)
		}
	}
	fmt.Fprintln(out, "patched:", strings.Join(patched, " "))
	return a.Destroy()
}

// Where no RDMA device needs the hooks there are none; a user who asks for
// them gets them, which shows that the test sees them.
func TestLibcIsNotPatched(t *testing.T) {
	requireNIXL(t)
	for _, c := range []struct {
		env     string
		patched bool
	}{{"", false}, {"UCX_MEM_EVENTS=y", true}} {
		if entries, err := os.ReadDir("/sys/class/infiniband"); c.env == "" && err == nil && len(entries) != 0 {
			t.Log("this host has RDMA devices: the hooks stay")
			continue
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(usersEnvironment(), envRole+"="+roleHooks)
		if c.env != "" {
			cmd.Env = append(cmd.Env, c.env)
		}
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		said := strings.TrimSpace(strings.TrimPrefix(string(out), "patched:"))
		if (said != "") != c.patched {
			t.Errorf("with %q: patched %q, want any: %v", c.env, said, c.patched)
		}
	}
}
