// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

const (
	unixScheme     = "unix:"
	abstractScheme = "unix-abstract:"
	// maxUnixPath is what sockaddr_un holds on Linux, less the final zero.
	maxUnixPath = 107
)

// target is an address that passed the checks, as package net wants it.
type target struct {
	network string // "tcp" or "unix"
	address string // abstract names start with "@"
}

// parse reads an address. One that leaves this machine is for TLS only.
func (c *Config) parse(addr string) (target, error) {
	if name, ok := strings.CutPrefix(addr, abstractScheme); ok {
		return unixTarget(addr, "@"+name, name == "")
	}
	if path, ok := strings.CutPrefix(addr, unixScheme); ok {
		return unixTarget(addr, path, path == "" || strings.HasPrefix(path, "@"))
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return target{}, &AddressError{Addr: addr, Kind: ErrInvalidAddress, Reason: `want "127.0.0.1:port", "unix:/path" or "unix-abstract:name"`}
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return target{}, &AddressError{Addr: addr, Kind: ErrInvalidAddress, Reason: fmt.Sprintf("port %q is not a number from 0 to 65535", port)}
	}
	if host == "localhost" { // never leaves the machine, whatever a resolver says
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	if c.Identity == nil && (err != nil || !ip.IsLoopback()) {
		return target{}, &AddressError{Addr: addr, Kind: ErrNotLocal, Reason: "without certificates only loopback addresses and Unix sockets are allowed"}
	}
	return target{network: "tcp", address: net.JoinHostPort(host, port)}, nil
}

func unixTarget(addr, path string, bad bool) (target, error) {
	switch {
	case bad:
		return target{}, &AddressError{Addr: addr, Kind: ErrInvalidAddress, Reason: "the socket has no name"}
	case strings.ContainsRune(path, 0):
		return target{}, &AddressError{Addr: addr, Kind: ErrInvalidAddress, Reason: "the socket's name has a zero byte"}
	case len(path) > maxUnixPath:
		return target{}, &AddressError{Addr: addr, Kind: ErrInvalidAddress, Reason: fmt.Sprintf("the socket's name has %d bytes, limit %d", len(path), maxUnixPath)}
	}
	return target{network: "unix", address: path}, nil
}

// format is the inverse of parse, with the port that the system chose.
func format(a net.Addr) string {
	if a.Network() != "unix" {
		return a.String()
	}
	if name, ok := strings.CutPrefix(a.String(), "@"); ok {
		return abstractScheme + name
	}
	return unixScheme + a.String()
}
