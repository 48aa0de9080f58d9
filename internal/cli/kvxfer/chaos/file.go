// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// openFiles says what each open file of this process is.
func openFiles() ([]string, error) {
	const folder = "/proc/self/fd"
	list, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, f := range list {
		name, err := os.Readlink(filepath.Join(folder, f.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was what read the folder, or is closed by now
		}
		if err != nil {
			return nil, err
		}
		if fd, err := strconv.Atoi(f.Name()); err == nil && strings.HasPrefix(name, "socket:") {
			name = socket(fd)
		}
		out = append(out, name)
	}
	return out, nil
}

// socket names a socket by its ends.
func socket(fd int) string {
	ours, err := syscall.Getsockname(fd)
	if err != nil {
		return "socket"
	}
	theirs, err := syscall.Getpeername(fd)
	if err != nil {
		return "socket " + end(ours)
	}
	return "socket " + end(ours) + " to " + end(theirs)
}

func end(a syscall.Sockaddr) string {
	switch a := a.(type) {
	case *syscall.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port)).String()
	case *syscall.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr), uint16(a.Port)).String()
	case *syscall.SockaddrUnix:
		return fmt.Sprintf("%q", a.Name)
	}
	return "of another family"
}

// fresh lists what is in now and was not in before.
func fresh(now, before []string) (list []string) {
	count := map[string]int{}
	for _, f := range before {
		count[f]++
	}
	for _, f := range now {
		if count[f]--; count[f] < 0 {
			list = append(list, f)
		}
	}
	return list
}
