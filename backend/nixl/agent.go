// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"errors"
	"fmt"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/nixl"
)

// Backend is one NIXL agent with one plugin: UCX for other processes, or
// another one for storage, whose peer is the agent itself (see
// [Backend.RegisterFile]). Every method may be called from any goroutine.
type Backend struct {
	agent  *nixl.Agent
	plugin *nixl.Backend
	limits backend.Limits
	files  files
}

var (
	_ backend.Backend = (*Backend)(nil)
	_ backend.Fencer  = (*Backend)(nil)
)

// New creates an agent. The error matches [backend.ErrUnavailable] when NIXL
// or a transport is not there, and [backend.ErrInvalid] for a bad Config.
func New(cfg Config) (*Backend, error) {
	if cfg.Transport == 0 {
		cfg.Transport = nixl.TransportAuto
	}
	lib := cfg.Library
	if lib == nil {
		var err error
		if lib, err = nixl.Open(nixl.Options{}); err != nil {
			return nil, translate(err)
		}
	}
	agent, err := lib.NewAgent(cfg.Name, nixl.AgentConfig{
		NoProgressThread: cfg.NoProgressThread,
		ProgressDelay:    cfg.ProgressDelay,
		ListenPort:       cfg.ListenPort,
	})
	if err != nil {
		return nil, unavailable(err)
	}
	plugin, err := cfg.create(agent)
	if err != nil {
		return nil, errors.Join(unavailable(err), agent.Destroy())
	}
	return &Backend{agent: agent, plugin: plugin, limits: cfg.limits()}, nil
}

// shortReads is the first version whose POSIX plugin does not answer success to
// a read past the end of a file.
var shortReads = nixl.Version{Major: 1, Minor: 5}

// create loads the plugin.
func (cfg *Config) create(agent *nixl.Agent) (*nixl.Backend, error) {
	if cfg.Plugin == "" || cfg.Plugin == nixl.PluginUCX {
		return agent.CreateUCX(nixl.UCXConfig{Transport: cfg.Transport, Device: cfg.Device, Params: cfg.Params})
	}
	if v := agent.Library().Version(); cfg.Plugin == nixl.PluginPOSIX && v.Less(shortReads) {
		return nil, fmt.Errorf("%w: plugin %s of NIXL %v says success to a short read; version %v or newer is needed",
			backend.ErrUnavailable, cfg.Plugin, v, shortReads)
	}
	if cfg.Device != "" || cfg.Transport != nixl.TransportAuto {
		return nil, fmt.Errorf("%w: plugin %s has neither transport nor device", backend.ErrInvalid, cfg.Plugin)
	}
	return agent.CreateBackend(cfg.Plugin, cfg.Params)
}

// unavailable is for what NIXL itself refuses while an agent is set up: a
// transport or a device that this machine does not have.
func unavailable(err error) error {
	if e := (*nixl.Error)(nil); errors.As(err, &e) {
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	return translate(err)
}

// Limits tells what this transport was measured to promise.
func (b *Backend) Limits() backend.Limits { return b.limits }

// registration is the binding's, under the name that package backend has for it.
type registration struct {
	owner  *Backend
	reg    *nixl.Registration
	memory backend.Memory
}

// Memory is the registered range.
func (r *registration) Memory() backend.Memory { return r.memory }

// Register makes memory usable; see [backend.Backend].
func (b *Backend) Register(m backend.Memory) (backend.Registration, error) {
	reg, err := b.registerIn(m)
	if err != nil {
		return nil, err
	}
	return &registration{owner: b, reg: reg, memory: m}, nil
}

// Deregister ends a registration, of memory or of a file; see [backend.Backend].
func (b *Backend) Deregister(r backend.Registration) error {
	ours, ok := r.(*registration)
	if f, is := r.(*File); is && f != nil {
		ours, ok = &f.registration, true
	}
	if !ok || ours == nil || ours.owner != b {
		return fmt.Errorf("%w: not a registration of agent %q", backend.ErrInvalid, b.agent.Name())
	}
	if err := ours.reg.Deregister(); err != nil {
		return translate(err)
	}
	b.files.remove(ours)
	return nil
}

// Metadata returns what peers need; see [backend.Backend]. With a plugin for
// storage there are no peers, and it is empty.
func (b *Backend) Metadata() ([]byte, error) {
	if b.plugin.Plugin() != nixl.PluginUCX {
		if b.agent.Closed() {
			return nil, b.errClosed()
		}
		return nil, nil
	}
	md, err := b.agent.Metadata()
	return md, translate(err)
}

// Connect loads a peer's metadata; see [backend.Backend].
func (b *Backend) Connect(peer string, metadata []byte) error {
	if peer == "" {
		return fmt.Errorf("%w: no peer named", backend.ErrInvalid)
	}
	if peer == b.agent.Name() && !b.agent.Closed() {
		return nil // an agent knows itself
	}
	if b.isStore(peer) {
		return nil
	}
	_, err := b.agent.LoadMetadata(metadata, peer)
	return translate(err)
}

// Disconnect forgets a peer; see [backend.Backend].
func (b *Backend) Disconnect(peer string) error {
	if b.isStore(peer) {
		return nil // the files stay registered
	}
	return translate(b.agent.Invalidate(peer))
}

// Progress lets NIXL work and returns what arrived; see [backend.Backend].
func (b *Backend) Progress() ([]backend.Notification, error) {
	got, err := b.agent.Notifications()
	if err != nil || len(got) == 0 {
		return nil, translate(err)
	}
	out := make([]backend.Notification, len(got))
	for i, n := range got {
		out[i] = backend.Notification(n)
	}
	return out, nil
}

// Close destroys the agent; see [backend.Backend].
func (b *Backend) Close() error { return translate(b.agent.Destroy()) }

// Fence destroys the agent under whatever is in flight; see [backend.Fencer].
// What it proves is in Limits: nothing at all where OwnFence is not set.
func (b *Backend) Fence() error { return translate(b.agent.Fence()) }
