// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// checkUser returns an error if c is a Unix socket whose other end belongs to
// another user, and otherwise the process there: 0 where it has no number here, notLocal
// where c is no such socket. The kernel recorded who that is when the connection was
// made, or, seen from the side that dialled, when the listener began to listen.
func checkUser(c net.Conn) (pid int, err error) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return notLocal, nil
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err != nil {
		return 0, err
	}
	if credErr != nil {
		return 0, fmt.Errorf("SO_PEERCRED: %w", credErr)
	}
	return int(cred.Pid), compareUser(int(cred.Uid), os.Geteuid())
}

func compareUser(theirs, ours int) error {
	if theirs != ours {
		return fmt.Errorf("%w: uid %d, ours is %d", ErrForeignUser, theirs, ours)
	}
	return nil
}
