// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import "os"

// Setting is one environment variable that Open sets before NIXL is loaded,
// because NIXL and UCX read it only then. A value that the user set is kept.
type Setting struct {
	Name, Value string
	Why         string
}

// settings are what a Go process needs of UCX and NIXL.
var settings = []Setting{
	{"UCX_HANDLE_ERRORS", "none", "UCX must not replace the handlers that turn a nil dereference into a panic"},
	{"UCX_DEBUG_SIGNO", "0", "UCX would take SIGHUP away from os/signal"},
	{"UCX_LOG_FILE", "stderr", "UCX logs to standard output, which belongs to the program"},
	{"NIXL_LOG_LEVEL", "FATAL", "every refused call would print a line; errors carry the code"},
	{"UCX_LOG_LEVEL", "fatal", "a lost peer would print a line; errors carry the code"},
}

// hooks is applied only where no RDMA device needs the hooks.
var hooks = Setting{"UCX_MEM_EVENTS", "n",
	"without RDMA no cache needs UCX's patches of mmap and munmap, which cost 0.4 s and race other threads"}

// rdmaDevices is where Linux lists RDMA devices.
const rdmaDevices = "/sys/class/infiniband"

// Environment returns the settings that Open applies on this machine.
func Environment() []Setting {
	out := append([]Setting(nil), settings...)
	if entries, err := os.ReadDir(rdmaDevices); err != nil || len(entries) == 0 {
		out = append(out, hooks)
	}
	return out
}

// applyEnvironment sets what the user did not set. Under cgo the C library
// sees it too.
func applyEnvironment() error {
	for _, s := range Environment() {
		if _, set := os.LookupEnv(s.Name); set {
			continue
		}
		if err := os.Setenv(s.Name, s.Value); err != nil {
			return err
		}
	}
	return nil
}
