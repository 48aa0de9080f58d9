// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/kvxfer/kvxfer/internal/nixlc"
)

// Plugins with a part of their own in this binding. [Agent.Plugins] lists all
// that are there.
const (
	// PluginUCX serves memory of other processes and machines.
	PluginUCX = "UCX"
	// PluginPOSIX serves files of this host.
	PluginPOSIX = "POSIX"
)

// Transport chooses what UCX may move bytes with.
type Transport uint8

// Transports.
const (
	_ Transport = iota
	// TransportAuto lets UCX choose: between processes of one host CMA for
	// data and TCP for control.
	TransportAuto
	// TransportTCP allows TCP only, so that data needs the peer's progress.
	TransportTCP
	// TransportCMA allows cross-memory attach for data (one system call copies
	// between two processes of one host) and TCP for control.
	TransportCMA
)

var transportNames = map[Transport]string{TransportAuto: "auto", TransportTCP: "tcp", TransportCMA: "cma"}

// String is auto, tcp or cma.
func (t Transport) String() string {
	if n, ok := transportNames[t]; ok {
		return n
	}
	return fmt.Sprintf("invalid transport %d", uint8(t))
}

// ParseTransport is the inverse of String.
func ParseTransport(s string) (Transport, error) {
	for t, n := range transportNames {
		if n == s {
			return t, nil
		}
	}
	return 0, fmt.Errorf("%w: transport %q, want auto, tcp or cma", ErrArgument, s)
}

// tls is UCX's own spelling; empty leaves the choice to UCX.
func (t Transport) tls() string {
	switch t {
	case TransportTCP:
		return "tcp"
	case TransportCMA:
		return "cma,tcp"
	}
	return ""
}

// Backend is a plugin that an agent has created. It lives as long as its agent.
type Backend struct {
	agent  *Agent
	plugin string
	handle nixlc.Backend
}

// Plugin is the plugin's name.
func (b *Backend) Plugin() string { return b.plugin }

// Plugins lists the plugins that NIXL can find, by name.
func (a *Agent) Plugins() ([]string, error) {
	if err := a.enter(); err != nil {
		return nil, err
	}
	defer a.life.RUnlock()
	names, code := a.lib.api.Plugins(a.handle)
	return names, check("get_available_plugins", a.name, code)
}

// CreateBackend loads a plugin into the agent with the plugin's own
// parameters; NIXL ignores keys that it does not know.
func (a *Agent) CreateBackend(plugin string, params map[string]string) (*Backend, error) {
	if err := a.enter(); err != nil {
		return nil, err
	}
	defer a.life.RUnlock()
	var pairs []string
	for _, k := range slices.Sorted(maps.Keys(params)) {
		pairs = append(pairs, k, params[k])
	}
	handle, code := a.lib.api.CreateBackend(a.handle, plugin, pairs)
	if err := check("create_backend", plugin, code); err != nil {
		return nil, fmt.Errorf("agent %q: %w; NIXL_LOG_LEVEL=ERROR UCX_LOG_LEVEL=error show the cause", a.name, err)
	}
	b := &Backend{agent: a, plugin: plugin, handle: handle}
	a.book.Lock()
	defer a.book.Unlock()
	a.backends = append(a.backends, b)
	return b, nil
}

// UCXConfig chooses how UCX moves bytes. The zero value lets UCX choose.
type UCXConfig struct {
	_ struct{}
	// Transport is what UCX may use; 0 means TransportAuto.
	Transport Transport
	// Device limits UCX to one network device, for example "lo"; empty: all.
	Device string
	// Params are further parameters of the plugin.
	Params map[string]string
}

// ucxTLS guards the environment variable while UCX reads it: a list of
// transports cannot be a parameter, whose values end at the first comma.
var ucxTLS sync.Mutex

const (
	envTLS     = "UCX_TLS"
	envDevices = "UCX_NET_DEVICES"
)

// CreateUCX creates the UCX backend. The user's UCX_TLS and UCX_NET_DEVICES go
// before everything inside UCX, so a configuration that contradicts them is
// refused with [ErrArgument] instead of being ignored silently.
func (a *Agent) CreateUCX(cfg UCXConfig) (*Backend, error) {
	if cfg.Transport == 0 {
		cfg.Transport = TransportAuto
	}
	if _, ok := transportNames[cfg.Transport]; !ok {
		return nil, fmt.Errorf("%w: %v", ErrArgument, cfg.Transport)
	}
	if strings.ContainsAny(cfg.Device, ",=") {
		return nil, fmt.Errorf("%w: device %q", ErrArgument, cfg.Device)
	}
	ucxTLS.Lock()
	defer ucxTLS.Unlock()
	tls := cfg.Transport.tls()
	if err := contradicts(envTLS, tls); err != nil {
		return nil, err
	}
	if err := contradicts(envDevices, cfg.Device); err != nil {
		return nil, err
	}
	params := maps.Clone(cfg.Params)
	if params == nil {
		params = map[string]string{}
	}
	if _, set := os.LookupEnv(envTLS); !set && strings.Contains(tls, ",") {
		if err := os.Setenv(envTLS, tls); err != nil {
			return nil, fmt.Errorf("nixl: %s: %w", envTLS, err)
		}
		defer os.Unsetenv(envTLS)
		tls = ""
	}
	if engine := engineConfig(params["engine_config"], tls, cfg.Device); engine != "" {
		params["engine_config"] = engine
	}
	return a.CreateBackend(PluginUCX, params)
}

func contradicts(env, want string) error {
	if got, set := os.LookupEnv(env); set && want != "" && got != want {
		return fmt.Errorf("%w: %s=%s in the environment, but %q was asked for", ErrArgument, env, got, want)
	}
	return nil
}

func engineConfig(more, tls, device string) string {
	var parts []string
	if tls != "" && !strings.Contains(tls, ",") {
		parts = append(parts, "TLS="+tls)
	}
	if device != "" {
		parts = append(parts, "NET_DEVICES="+device)
	}
	if more != "" {
		parts = append(parts, more)
	}
	return strings.Join(parts, ",")
}
