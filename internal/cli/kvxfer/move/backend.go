// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"fmt"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/backend/loop"
	nixlbackend "github.com/kvxfer/kvxfer/backend/nixl"
	"github.com/kvxfer/kvxfer/nixl"
)

// Opener makes the backend of one side.
type Opener func(name string) (backend.Backend, error)

// OpenNIXL opens NIXL as the plan says. Both processes call it.
func OpenNIXL(p *Plan) Opener {
	return func(name string) (backend.Backend, error) {
		lib, err := nixl.Open(nixl.Options{Library: p.Library})
		if err != nil {
			return nil, err
		}
		transport, err := nixl.ParseTransport(p.Transport)
		if err != nil {
			return nil, err
		}
		b, err := nixlbackend.New(nixlbackend.Config{
			Name: name, Library: lib, Transport: transport,
			Device:           "lo", // both processes are on this machine
			NoProgressThread: true, // the endpoint polls; a thread beside it would halve the throughput
		})
		if err != nil {
			return nil, fmt.Errorf("open NIXL as %q: %w", name, err)
		}
		return b, nil
	}
}

// OpenLoop opens agents of one fabric in this process.
func OpenLoop(fabric *loop.Fabric) Opener {
	return func(name string) (backend.Backend, error) { return fabric.Agent(name) }
}
