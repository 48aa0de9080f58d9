// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/kvxfer/kvxfer/nixl"
)

func freePort() (uint16, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return uint16(l.Addr().(*net.TCPAddr).Port), nil
}

// forget makes NIXL here forget the metadata of a peer's agent, below the endpoint: a
// peer that withdraws its metadata by NIXL's own exchange does that. It is said in the
// peer's name by an agent that has nothing else to do.
func (n *node) forget(agent string) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	a, err := n.lib.NewAgent(agent, nixl.AgentConfig{ListenPort: port, ListenDelay: time.Millisecond})
	if err != nil {
		return err
	}
	n.mu.Lock()
	ours := n.port
	n.mu.Unlock()
	err = a.WithdrawMetadata(netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), ours))
	time.Sleep(listenDelay) // NIXL's thread sends it when it looks again
	return errors.Join(err, a.Destroy())
}

// listenDelay is long enough for NIXL's threads to have looked a few times.
const listenDelay = 3 * nixl.DefaultProgressDelay

// metadataLost makes NIXL forget a node's metadata where operations towards it are in
// flight. Their status is an error for good, and what they do goes on: that is doubt. The
// remedy of those who have forgotten is another life, since nobody tells them again.
func (a *attack) metadataLost(ctx context.Context) error {
	v := a.victim()
	s := a.state(ctx, v)
	if s == nil {
		return errEnded
	}
	if err := a.inFlight(ctx, v); err != nil {
		return err
	}
	for _, i := range a.others(v) {
		if err := a.forget(ctx, i, s.Agent); err != nil {
			return err
		}
	}
	pause(ctx, 2*operationWait)
	if err := a.nodes[v].Continue(ctx); err != nil {
		return err
	}
	for _, i := range a.others(v) {
		if err := a.forgotten(ctx, i, v, s.Agent); err != nil {
			return err
		}
		if err := a.another(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

func (a *attack) forget(ctx context.Context, i int, agent string) error {
	r, err := a.nodes[i].do(ctx, order{Forget: agent})
	if err == nil && r.Error != "" {
		err = errors.New(r.Error)
	}
	return err
}

// forgotten makes sure that a node cannot post towards another one any more. What it
// refuses has not begun.
func (a *attack) forgotten(ctx context.Context, i, v int, agent string) error {
	for end := time.Now().Add(never); ; {
		r, err := a.nodes[v].do(ctx, order{Ask: &askOrder{Peer: nameOf(i)}})
		if err != nil {
			return err
		}
		a.result.Transfers++
		a.result.Outcomes[r.Outcome]++
		switch {
		case r.Outcome == "FAILED":
			a.result.Refused++
			return nil
		case time.Now().After(end) || ctx.Err() != nil:
			a.result.find("node %d has not forgotten node %d: %s %s", i, v, r.Outcome, r.Error)
			return nil
		case r.Outcome == "SUCCEEDED":
			err = a.forget(ctx, i, agent)
		}
		if pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}
