// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// noPlugin is what NIXL says of a plugin that it does not have.
const noPlugin = "Plugin file does not exist"

// What NIXL logs when a plugin fails: that its library cannot be loaded, or
// that the plugin itself refused.
var reasons = []*regexp.Regexp{
	regexp.MustCompile(`Failed to load plugin from \S+: (.+)`),
	regexp.MustCompile(`Failed to create engine: (.+)`),
	regexp.MustCompile(`(` + noPlugin + `: .+)`),
	regexp.MustCompile(`(?m)^E\d{4} .*?\] (.+)`),
}

// reason is why, in NIXL's words; empty when it said nothing.
func reason(log string) string {
	for _, r := range reasons {
		if m := r.FindStringSubmatch(log); m != nil {
			return strings.TrimSpace(m[1])
		}
	}
	return ""
}

var (
	missingFile   = regexp.MustCompile(`^(\S+): cannot open shared object file`)
	missingConfig = regexp.MustCompile(`Missing config entry '(\w+)'`)
)

// whose says which product a library belongs to that a plugin misses.
var whose = []struct{ prefix, product string }{
	{"libcudart.", "the CUDA runtime"},
	{"libcuda.", "the NVIDIA driver"},
	{"libnvidia-ml.", "the NVIDIA driver"},
	{"libcufile.", "GPUDirect Storage (cuFile)"},
	{"libfabric.", "libfabric"},
	{"libefa.", "rdma-core (EFA)"},
	{"libred_client.", "the Infinia client"},
}

// advice is what a user can do who wants the plugin.
func advice(name, why string) string {
	if m := missingFile.FindStringSubmatch(why); m != nil {
		for _, w := range whose {
			if strings.HasPrefix(path.Base(m[1]), w.prefix) {
				return "to use it, install " + w.product
			}
		}
		return "to use it, install what has " + m[1]
	}
	if m := missingConfig.FindStringSubmatch(why); m != nil {
		return "to use it, set " + m[1]
	}
	return fmt.Sprintf("to use it, see the documentation of NIXL's plugin %s", name)
}

// Transport is one of UCX, as UCX itself reports it.
type Transport struct {
	Kind    string   `json:"kind"` // network, intra-node, loopback, ...
	Name    string   `json:"name"` // as UCX_TLS spells it
	Devices []string `json:"devices"`
}

// transportRow is a line of the table in UCX's debug log; the kind stands in the
// first row of each group only.
var transportRow = regexp.MustCompile(`\| (\S*) +\| (\S+) +\| [+-] \S+ +\| ([^|]+)\|`)

func transportsIn(log string) (out []Transport) {
	kind := ""
	for line := range strings.Lines(log) {
		m := transportRow.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if m[1] != "" {
			kind = m[1]
		}
		t := Transport{Kind: kind, Name: m[2]}
		for _, f := range strings.Fields(m[3]) {
			if f != "+" && f != "-" {
				t.Devices = append(t.Devices, f)
			}
		}
		out = append(out, t)
	}
	return out
}

// has reports whether a transport is among them.
func has(all []Transport, name string) bool {
	for _, t := range all {
		if t.Name == name {
			return true
		}
	}
	return false
}

// moduleFailed is a transport's library that UCX could not load.
var moduleFailed = regexp.MustCompile(`dlopen\('\S*/libuct_(\w+)\.so\S*', mode=\S+\) failed: ([^(\n]+)`)

// ucxFindings tells the transports that are there, and those that UCX has and
// cannot load.
func ucxFindings(all []Transport, log string) (out []Finding) {
	for _, t := range all {
		out = append(out, Finding{"ucx", t.Name, OK, t.Kind + ": " + strings.Join(t.Devices, ", "), ""})
	}
	if len(all) == 0 {
		out = append(out, Finding{"ucx", "transports", Problem, "UCX did not report any", "look at UCX_LOG_LEVEL=info"})
	}
	seen := map[string]bool{}
	for _, m := range moduleFailed.FindAllStringSubmatch(log, -1) {
		if seen[m[1]] {
			continue
		}
		seen[m[1]] = true
		why := strings.TrimSpace(m[2])
		out = append(out, Finding{"ucx", m[1], Note, why, advice(m[1], why)})
	}
	return out
}
