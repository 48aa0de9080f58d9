// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Find returns the identity of a running process of this host. Take it while the
// peer is known to live, for example when it says its process id; afterwards the
// number may be another's.
func Find(pid int) (Process, error) {
	if pid <= 0 {
		return Process{}, fmt.Errorf("fence: process %d: %w", pid, ErrEvidence)
	}
	p, err := here()
	if err != nil {
		return Process{}, err
	}
	s, err := status(pid)
	if err != nil {
		return Process{}, fmt.Errorf("fence: process %d: %w", pid, err)
	}
	p.PID, p.Started = pid, s.started
	return p, nil
}

// Gone returns the evidence that the process has ended: its number stands for
// nothing, for another process, or for one of which nothing but the exit status is
// left. The error matches ErrAlive while that is not so, and ErrElsewhere for a
// process of another host, or one whose numbers this process cannot see.
func (p Process) Gone() (Exited, error) {
	now, err := here()
	if err != nil {
		return Exited{}, err
	}
	if p.PID <= 0 || p.Boot != now.Boot || p.Namespace != now.Namespace {
		return Exited{}, fmt.Errorf("fence: %v: %w", p, ErrElsewhere)
	}
	s, err := status(p.PID)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// A mount of /proc may hide what lives: the kernel is asked as well.
		if err := syscall.Kill(p.PID, 0); err != syscall.ESRCH {
			return Exited{}, fmt.Errorf("fence: %v: %w: it is hidden from us", p, ErrAlive)
		}
		return Exited{p}, nil
	case err != nil: // hidden or unreadable is not gone
		return Exited{}, fmt.Errorf("fence: %v: %w", p, err)
	case s.started != p.Started, s.dead:
		return Exited{p}, nil
	}
	return Exited{}, fmt.Errorf("fence: %v: %w", p, ErrAlive)
}

// here returns what tells this host's processes from any other's. The /proc of another
// process namespace, as a container may have it, would answer about other processes.
func here() (Process, error) {
	self, err := os.Readlink("/proc/self")
	if err != nil {
		return Process{}, fmt.Errorf("fence: %w", err)
	}
	if pid := strconv.Itoa(os.Getpid()); self != pid {
		return Process{}, fmt.Errorf("fence: /proc has us as process %s, and we are %s: it is of another process namespace: %w", self, pid, ErrElsewhere)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Process{}, fmt.Errorf("fence: %w", err)
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return Process{}, fmt.Errorf("fence: %w", err)
	}
	return Process{Boot: strings.TrimSpace(string(boot)), Namespace: namespace}, nil
}

type processStatus struct {
	started uint64
	dead    bool
}

// status reads /proc/PID/stat. A process is dead when no thread of it is left but
// the first, and that one is a zombie: a first thread that ended before the others
// looks the same but for them.
func status(pid int) (s processStatus, err error) {
	dir := "/proc/" + strconv.Itoa(pid)
	text, err := os.ReadFile(dir + "/stat")
	if err != nil {
		if _, gone := os.Stat(dir); errors.Is(gone, fs.ErrNotExist) {
			return s, fs.ErrNotExist // also where it went while it was read
		}
		return s, err
	}
	_, rest, found := bytes.Cut(text[bytes.LastIndexByte(text, ')')+1:], []byte(" "))
	fields := strings.Fields(string(rest))
	// The name, in parentheses, is field 2; state is 3, num_threads 20, starttime 22.
	if !found || len(fields) < 20 {
		return s, fmt.Errorf("%s/stat is not readable: %q", dir, text)
	}
	if s.started, err = strconv.ParseUint(fields[19], 10, 64); err != nil {
		return s, fmt.Errorf("%s/stat: %w", dir, err)
	}
	s.dead = strings.Contains("ZX", fields[0]) && (fields[17] == "1" || fields[17] == "0")
	return s, nil
}
