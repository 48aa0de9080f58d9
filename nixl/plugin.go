// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"fmt"

	"github.com/kvxfer/kvxfer/internal/nixlc"
)

// PluginInfo is what a plugin says of itself.
type PluginInfo struct {
	Mems   []MemType         // kinds of memory that it serves
	Params map[string]string // its parameters with their values
}

// PluginInfo asks a plugin that is not loaded into the agent: Params have
// their defaults.
func (a *Agent) PluginInfo(plugin string) (PluginInfo, error) {
	return a.pluginInfo("get_plugin_params", plugin, 0)
}

// Info asks a backend: Params are those that it was created with.
func (b *Backend) Info() (PluginInfo, error) {
	return b.agent.pluginInfo("get_backend_params", b.plugin, b.handle)
}

func (a *Agent) pluginInfo(call, plugin string, b nixlc.Backend) (PluginInfo, error) {
	if err := a.lib.needs(call); err != nil {
		return PluginInfo{}, err
	}
	if err := a.enter(); err != nil {
		return PluginInfo{}, err
	}
	defer a.life.RUnlock()
	p, code := a.lib.api.PluginParams(a.handle, plugin, b)
	return PluginInfo(p), check(call, plugin, code)
}

// MemoryInfo is what a plugin knows of a range of storage.
type MemoryInfo struct {
	Exists bool
	Params map[string]string // in the plugin's own words; nil when it does not exist
}

// QueryMemory asks a backend about storage that need not be registered: blobs
// name it, for POSIX as paths of files. segments may be nil: whole files or
// objects.
func (b *Backend) QueryMemory(mem MemType, segments []Segment, blobs [][]byte) ([]MemoryInfo, error) {
	a := b.agent
	if segments == nil {
		segments = make([]Segment, len(blobs))
	}
	if !mem.IsValid() || len(segments) == 0 || len(segments) != len(blobs) {
		return nil, fmt.Errorf("%w: %d segments and %d blobs of %v", ErrArgument, len(segments), len(blobs), mem)
	}
	if err := a.lib.needs("query_mem"); err != nil {
		return nil, err
	}
	if err := a.enter(); err != nil {
		return nil, err
	}
	defer a.life.RUnlock()
	l := list(mem, segments)
	l.Blobs = blobs
	found, code := a.lib.api.QueryMem(a.handle, l, b.handle)
	if err := check("query_mem", b.plugin, code); err != nil {
		return nil, err
	}
	out := make([]MemoryInfo, len(found))
	for i, f := range found {
		out[i].Exists = f.Exists
		if f.Exists {
			out[i].Params = f.Params
		}
	}
	return out, nil
}
