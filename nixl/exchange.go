// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"fmt"
	"net/netip"
	"os"

	"github.com/kvxfer/kvxfer/internal/nixlc"
)

// EnvEtcd names the endpoints of the etcd that NIXL keeps metadata in. NIXL
// reads it when an agent is created.
const EnvEtcd = "NIXL_ETCD_ENDPOINTS"

// NIXL can exchange metadata by itself: with a peer that listens
// ([AgentConfig.ListenPort]), or through etcd ([EnvEtcd]), which the zero
// netip.AddrPort stands for. Three things are then not as they are with
// [Agent.Metadata] and [Agent.LoadMetadata]:
//
//   - The calls only start it. They answer success with the server down, and
//     [Agent.CheckMetadata] tells when metadata has arrived.
//   - No envelope guards it: NIXL loads what arrives. Use it in a network whose
//     members are trusted.
//   - A peer that withdraws its metadata is forgotten here at once, and
//     requests in flight towards it answer with an error for good, while their
//     bytes go on.

// SendMetadata starts to send this agent's metadata to a peer that listens, or
// to the store.
func (a *Agent) SendMetadata(to netip.AddrPort) error {
	return a.exchange("send_local_md", a.name, to, a.lib.api.SendLocalMD)
}

// SendPartialMetadata is SendMetadata of some registrations only, all of one
// kind.
func (a *Agent) SendPartialMetadata(regs []*Registration, to netip.AddrPort) error {
	l, err := a.listOf(regs)
	if err != nil {
		return err
	}
	return a.exchange("send_local_partial_md", a.name, to, func(h nixlc.Agent, w nixlc.Where) Code {
		return a.lib.api.SendLocalPartialMD(h, l, w)
	})
}

// FetchMetadata starts to fetch a peer's metadata from where it listens, or
// from the store. The peer is known once CheckMetadata has said so.
func (a *Agent) FetchMetadata(peer string, from netip.AddrPort) error {
	return a.exchange("fetch_remote_md", peer, from, func(h nixlc.Agent, w nixlc.Where) Code {
		return a.lib.api.FetchRemoteMD(h, peer, w)
	})
}

// WithdrawMetadata starts to take this agent's metadata back from a peer that
// listens, or from the store and with it from everybody who fetched it there.
// It is no fence: what those had begun goes on.
func (a *Agent) WithdrawMetadata(from netip.AddrPort) error {
	return a.exchange("invalidate_local_md", a.name, from, a.lib.api.InvalidateLocalMD)
}

func (a *Agent) exchange(call, subject string, w netip.AddrPort, do func(nixlc.Agent, nixlc.Where) Code) error {
	if !w.IsValid() && os.Getenv(EnvEtcd) == "" {
		return fmt.Errorf("%w: %s: neither an address nor %s is given", ErrArgument, call, EnvEtcd)
	}
	if err := a.lib.needs(call); err != nil {
		return err
	}
	if err := a.enter(); err != nil {
		return err
	}
	defer a.life.RUnlock()
	where := nixlc.Where{Port: w.Port()}
	if w.IsValid() {
		where.IP = w.Addr().String()
	}
	return check(call, subject, do(a.handle, where))
}

// CheckMetadata asks whether NIXL has a peer's metadata, and whether it covers
// the segments, if any are given. A peer that has come by FetchMetadata, or by
// its own SendMetadata, is known from the first yes on, and one that has
// withdrawn is unknown from the first no about no segments.
func (a *Agent) CheckMetadata(peer string, mem MemType, segments ...Segment) (bool, error) {
	if err := a.enter(); err != nil {
		return false, err
	}
	defer a.life.RUnlock()
	code := a.lib.api.CheckRemoteMD(a.handle, peer, list(mem, segments))
	switch {
	case code == CodeSuccess:
		a.meet(peer)
		return true, nil
	case code == CodeNotFound || code == CodeBackend && a.lib.version.Less(Version{1, 5, 0}):
		if len(segments) == 0 {
			a.lose(peer)
		}
		return false, nil
	}
	return false, check("check_remote_md", peer, code)
}

// lose marks a peer as gone that NIXL has forgotten by itself. Its requests in
// flight stay counted.
func (a *Agent) lose(name string) {
	a.book.Lock()
	defer a.book.Unlock()
	if p := a.peers[name]; p != nil && !p.gone {
		p.gone = true
		delete(a.peers, name)
	}
}
