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
// another user. The kernel recorded who that is when the connection was made,
// or, seen from the side that dialled, when the listener began to listen.
func checkUser(c net.Conn) error {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err != nil {
		return err
	}
	if credErr != nil {
		return fmt.Errorf("SO_PEERCRED: %w", credErr)
	}
	return compareUser(int(cred.Uid), os.Geteuid())
}

func compareUser(theirs, ours int) error {
	if theirs != ours {
		return fmt.Errorf("%w: uid %d, ours is %d", ErrForeignUser, theirs, ours)
	}
	return nil
}
