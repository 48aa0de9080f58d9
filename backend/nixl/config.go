// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"time"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/nixl"
)

// Config describes one backend. Only Name is required.
type Config struct {
	_ struct{}
	// Name is how peers know this agent; unique among those that meet. A new
	// incarnation needs a new name, or peers must Disconnect the old one first.
	Name string
	// Library is NIXL, opened; nil opens it wherever it is found.
	Library *nixl.Library
	// Plugin is the NIXL plugin; empty means nixl.PluginUCX. Any other one
	// moves between our memory and storage, and our own name is the peer.
	Plugin string
	// Params are further parameters of the plugin.
	Params map[string]string
	// Transport is what UCX may use; 0 means nixl.TransportAuto.
	Transport nixl.Transport
	// Device limits UCX to one network device, for example "lo"; empty: all.
	Device string
	// NoProgressThread leaves progress to the caller's Poll and Progress: the
	// faster choice for a side that polls anyway. It sets Limits.PassiveProgress.
	NoProgressThread bool
	// ProgressDelay is the progress thread's sleep while idle; 0 means
	// nixl.DefaultProgressDelay.
	ProgressDelay time.Duration
	// ListenPort, when not 0, lets NIXL exchange metadata by itself as well; see
	// nixl.AgentConfig. The backend has no use for it. What NIXL forgets that way
	// ends no operation: it is doubt, and is not known here again before a new agent.
	ListenPort uint16
}

// fences is what the end of an agent was measured to prove on each transport: own,
// that our memory is left alone by the operations it had posted; passive, by peers.
// With CMA a peer's own system call copies, and nobody here is asked. What UCX may
// choose by itself can include hardware that was never measured. What else is proof
// stands in spec/fence.yaml.
var fences = map[nixl.Transport]struct{ own, passive bool }{
	nixl.TransportTCP:  {own: true, passive: true},
	nixl.TransportCMA:  {own: true, passive: false},
	nixl.TransportAuto: {own: false, passive: false},
}

// uring reports whether the parameters choose the one queue of POSIX whose end
// with the agent was measured: a read that was pending in it wrote nothing
// afterwards. Of the other queues it was not.
func uring(params map[string]string) bool {
	return params["use_uring"] == "true" && params["use_aio"] == "false"
}

func (cfg *Config) limits() backend.Limits {
	if cfg.Plugin != "" && cfg.Plugin != nixl.PluginUCX {
		return backend.Limits{
			Transport: "nixl/" + cfg.Plugin,
			OwnFence:  cfg.Plugin == nixl.PluginPOSIX && uring(cfg.Params),
		}
	}
	return backend.Limits{
		Transport:       "nixl/" + cfg.Transport.String(),
		VRAM:            cfg.Transport == nixl.TransportAuto,
		PassiveProgress: cfg.NoProgressThread,
		OwnFence:        fences[cfg.Transport].own,
		PassiveFence:    fences[cfg.Transport].passive,
	}
}
