// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"

	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/blocks"
)

// machine is what the kernel tells in files.
type machine struct{ root string }

func (m machine) read(file string) (string, bool) {
	b, err := os.ReadFile(filepath.Join("/", m.root, file))
	return strings.TrimSpace(string(b)), err == nil
}

// rdma lists RDMA devices.
func (m machine) rdma() (names []string) {
	entries, err := os.ReadDir(filepath.Join("/", m.root, "sys/class/infiniband"))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (m machine) memory() []Finding {
	var out []Finding
	if free, ok := blocks.Available(); ok {
		out = append(out, Finding{"memory", "available", OK, humanize.IBytes(uint64(free)), ""})
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(unix.RLIMIT_MEMLOCK, &limit); err == nil {
		out = append(out, m.locked(limit.Cur))
	}
	return append(out, m.hugePages()...)
}

// locked judges how much memory the process may lock: RDMA locks all that is
// registered, TCP and CMA lock nothing.
func (m machine) locked(limit uint64) Finding {
	f := Finding{"memory", "locked memory", OK, "no limit", ""}
	if limit == unix.RLIM_INFINITY {
		return f
	}
	f.Text = "limit " + humanize.IBytes(limit)
	if devices := m.rdma(); len(devices) > 0 {
		f.Level = Problem
		f.Text += ": registrations for " + strings.Join(devices, ", ") + " are locked, and larger ones fail"
		f.Do = "ulimit -l unlimited"
		return f
	}
	f.Text += "; without RDMA nothing is locked"
	return f
}

// hugePages judges transparent huge pages, which all pools ask for.
func (m machine) hugePages() []Finding {
	const file = "sys/kernel/mm/transparent_hugepage/enabled"
	f := Finding{"memory", "huge pages", OK, "", ""}
	text, ok := m.read(file)
	_, rest, _ := strings.Cut(text, "[")
	mode, _, _ := strings.Cut(rest, "]")
	switch {
	case !ok || mode == "":
		f.Level, f.Text, f.Do = Problem, "this kernel has no transparent huge pages: copies between processes are slower", "use a kernel with CONFIG_TRANSPARENT_HUGEPAGE"
	case mode == "never":
		f.Level, f.Text, f.Do = Problem, "transparent ones are switched off: copies between processes are slower", "echo madvise > /"+file
	default:
		f.Text = "transparent: " + mode
	}
	return []Finding{f}
}

func (m machine) kernel() []Finding {
	var u unix.Utsname
	out := []Finding{}
	if err := unix.Uname(&u); err == nil {
		out = append(out, Finding{"kernel", "release", OK, fmt.Sprintf("%s %s", unix.ByteSliceToString(u.Sysname[:]), unix.ByteSliceToString(u.Release[:])), ""})
	}
	if devices := m.rdma(); len(devices) > 0 {
		out = append(out, Finding{"kernel", "rdma devices", OK, strings.Join(devices, ", "), ""})
	} else {
		out = append(out, Finding{"kernel", "rdma devices", Note, "none: bytes between machines go over TCP", ""})
	}
	return append(out, m.ptrace())
}

// capSysPtrace is the bit of CAP_SYS_PTRACE.
const capSysPtrace = 19

// ptrace judges who may copy from and to other processes (CMA): Yama may forbid
// it to all but a process's ancestors.
func (m machine) ptrace() Finding {
	f := Finding{"kernel", "ptrace scope", OK, "", ""}
	text, ok := m.read("proc/sys/kernel/yama/ptrace_scope")
	if !ok {
		f.Text = "this kernel has no Yama: processes of one user may copy from each other"
		return f
	}
	scope, err := strconv.Atoi(text)
	switch {
	case err == nil && scope == 0:
		f.Text = "0: processes of one user may copy from each other"
	case err == nil && scope < 3 && m.capable(capSysPtrace):
		f.Text = text + ", and this process has CAP_SYS_PTRACE"
	default:
		f.Level = Problem
		f.Text = text + ": CMA is forbidden between processes, TCP takes its place on one machine"
		f.Do = "sysctl kernel.yama.ptrace_scope=0, or give the program CAP_SYS_PTRACE"
	}
	return f
}

func (m machine) capable(bit uint) bool {
	status, _ := m.read("proc/self/status")
	for line := range strings.Lines(status) {
		if hex, ok := strings.CutPrefix(line, "CapEff:"); ok {
			set, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
			return err == nil && set>>bit&1 == 1
		}
	}
	return false
}
