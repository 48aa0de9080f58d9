// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/kvxfer/kvxfer/transfer"
)

const (
	headerTime = 5 * time.Second // for a client's request line and header
	closeTime  = time.Second     // for answers that are being written at Close
)

// Server serves one endpoint on a Unix socket.
type Server struct {
	addr   string
	server *http.Server
	served sync.WaitGroup
}

// Serve listens on addr, which is "unix:PATH", and serves Handler(e) until
// Close. The socket has mode 0600, on Linux from the moment it exists. A socket that a
// dead process left behind is replaced; nothing else is. The error is an *Error
// that matches ErrAddress or ErrInUse.
func Serve(addr string, e *transfer.Endpoint) (*Server, error) {
	path, err := socketPath(addr)
	if err != nil {
		return nil, err
	}
	l, err := listen(path)
	if errors.Is(err, syscall.EADDRINUSE) && abandoned(path) {
		if err = os.Remove(path); err == nil || errors.Is(err, fs.ErrNotExist) {
			l, err = listen(path)
		}
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, &Error{Addr: addr, Kind: ErrInUse, Why: "choose another path, or stop what listens there"}
	case err != nil:
		return nil, &Error{Addr: addr, Kind: ErrAddress, Err: err}
	}
	s := &Server{addr: addr, server: &http.Server{Handler: Handler(e), ReadHeaderTimeout: headerTime}}
	s.served.Go(func() { _ = s.server.Serve(l) }) // ends with Close
	return s, nil
}

// Addr returns the address, for a Client.
func (s *Server) Addr() string { return s.addr }

// Close ends the server and removes the socket. Answers that are being written
// have a second to end. Closing twice is fine.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		_ = s.server.Close()
	}
	s.served.Wait()
	return nil
}

// listen makes the socket. Its mode is set before it has a name, where the
// system takes it over, and once more after that for others.
func listen(path string) (net.Listener, error) {
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(private)
	}}
	l, err := config.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// abandoned reports whether path is a socket that nobody listens on.
func abandoned(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != fs.ModeSocket {
		return false
	}
	c, err := net.DialTimeout("unix", path, closeTime)
	if err == nil {
		_ = c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}
