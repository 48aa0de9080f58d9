// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/kvxfer/kvxfer/internal/proc"
	"github.com/kvxfer/kvxfer/nixl"
)

func TestReasonAndAdvice(t *testing.T) {
	for _, c := range []struct{ log, reason, advice string }{
		{"I1130 06:33:22.716778   23595 nixl_plugin_manager.cpp:352] Failed to load plugin from /a/libplugin_GDS.so: libcudart.so.12: cannot open shared object file: No such file or directory\nE1130 06:33:22.7 1 nixl_agent.cpp:334] createBackend: unsupported backend 'GDS'\n",
			"libcudart.so.12: cannot open shared object file: No such file or directory", "install the CUDA runtime"},
		{"E1130 06:33:23.383879   23648 backend_plugin.h:102] Failed to create engine: Missing config entry 'AWS_DEFAULT_BUCKET'\nE1130 06:33:23.383928   23648 nixl_agent.cpp:342] createBackend: backend creation failed for 'OBJ'\n",
			"Missing config entry 'AWS_DEFAULT_BUCKET'", "set AWS_DEFAULT_BUCKET"},
		{"E1130 06:33:23.031710   23627 nixl_agent.cpp:342] createBackend: backend creation failed for 'X'\n", "createBackend: backend creation failed for 'X'", "plugin X"},
		{"I1130 06:33:23.0 1 a.cpp:1] Failed to load plugin from /a/b.so: libnobody.so.3: cannot open shared object file\n", "libnobody.so.3: cannot open shared object file", "what has libnobody.so.3"},
		{"I1130 nothing wrong\n", "", "plugin X"},
	} {
		got := reason(c.log)
		if got != c.reason || !strings.Contains(advice("X", got), c.advice) {
			t.Errorf("%q: %q, %q", c.log, got, advice("X", got))
		}
	}
}

const ucxLog = `[1796020414.266257] [vm:1:0] module.c:265  UCX  DEBUG dlopen('/a/ucx/libuct_cuda.so.0.0.0', mode=0x1) failed: libcuda.so.1: cannot open shared object file: No such file or directory (x)
[1796020414.269580] [vm:1:0]   | network    | tcp       | + tcp     | + eth0  + lo                   |
[1796020414.269580] [vm:1:0]   |            | rc_mlx5   | + rc      | + mlx5_0:1                     |
[1796020414.269580] [vm:1:0]   | intra-node | cma       | + cma     | + memory                       |
`

func TestTransportsOfUCX(t *testing.T) {
	got := transportsIn(ucxLog)
	want := []Transport{{"network", "tcp", []string{"eth0", "lo"}}, {"network", "rc_mlx5", []string{"mlx5_0:1"}}, {"intra-node", "cma", []string{"memory"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	found := ucxFindings(got, ucxLog)
	if last := found[len(found)-1]; len(found) != 4 || last.Name != "cuda" || last.Level != Note || !strings.Contains(last.Do, "NVIDIA driver") {
		t.Errorf("found %v", found)
	}
	if found := ucxFindings(nil, ""); len(found) != 1 || found[0].Level != Problem {
		t.Errorf("without a report: %v", found)
	}
	l := &library{plugins: map[string]*attempt{nixl.PluginUCX: {}}, transports: got}
	var use []string
	for _, f := range (machine{root: t.TempDir()}).use(l) {
		use = append(use, f.Text)
	}
	if want := []string{"nixl, plugin UCX", "cma for bytes, tcp for control", "rc_mlx5, tcp"}; !reflect.DeepEqual(use, want) {
		t.Errorf("use %q", use)
	}
}

// root makes a file system of some files.
func root(t *testing.T, files map[string]string) machine {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return machine{root: dir}
}

func TestMachine(t *testing.T) {
	const scope, pages = "proc/sys/kernel/yama/ptrace_scope", "sys/kernel/mm/transparent_hugepage/enabled"
	const mighty, weak = "CapEff:\t000001ffffffffff\n", "Name:\tx\nCapEff:\t0000000000000000\n"
	for name, c := range map[string]struct {
		files map[string]string
		look  func(machine) Finding
		want  Level
	}{
		"no yama":              {nil, machine.ptrace, OK},
		"scope 0":              {map[string]string{scope: "0\n"}, machine.ptrace, OK},
		"scope 1":              {map[string]string{scope: "1\n", "proc/self/status": weak}, machine.ptrace, Problem},
		"scope 1, capable":     {map[string]string{scope: "1\n", "proc/self/status": mighty}, machine.ptrace, OK},
		"scope 3, capable":     {map[string]string{scope: "3\n", "proc/self/status": mighty}, machine.ptrace, Problem},
		"scope is no number":   {map[string]string{scope: "?"}, machine.ptrace, Problem},
		"huge pages":           {map[string]string{pages: "always [madvise] never\n"}, func(m machine) Finding { return m.hugePages()[0] }, OK},
		"huge pages never":     {map[string]string{pages: "always madvise [never]\n"}, func(m machine) Finding { return m.hugePages()[0] }, Problem},
		"huge pages not there": {nil, func(m machine) Finding { return m.hugePages()[0] }, Problem},
		"memlock with rdma":    {map[string]string{"sys/class/infiniband/mlx5_0": ""}, func(m machine) Finding { return m.locked(8 << 20) }, Problem},
		"no limit with rdma":   {map[string]string{"sys/class/infiniband/mlx5_0": ""}, func(m machine) Finding { return m.locked(unix.RLIM_INFINITY) }, OK},
		"memlock without rdma": {nil, func(m machine) Finding { return m.locked(8 << 20) }, OK},
	} {
		got := c.look(root(t, c.files))
		if got.Level != c.want || got.Text == "" || (got.Do == "") != (got.Level == OK) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestEtcd(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	there := "http://" + l.Addr().String()
	levels := func(v string) (out []Level) {
		t.Setenv(nixl.EnvEtcd, v)
		for _, f := range etcd(t.Context()) {
			out = append(out, f.Level)
		}
		return out
	}
	if got := levels(there); !reflect.DeepEqual(got, []Level{OK}) {
		t.Errorf("a server that listens: %v", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := levels(there + "," + there); !reflect.DeepEqual(got, []Level{Problem, Problem}) {
		t.Errorf("servers that do not: %v", got)
	}
	if got := levels(""); !reflect.DeepEqual(got, []Level{Problem}) {
		t.Errorf("an empty list: %v", got)
	}
}

// Without NIXL every place that was looked at is named, and nothing is usable.
func TestWithoutNIXL(t *testing.T) {
	r := Examine(t.Context(), Config{
		Open: func() (*nixl.Library, error) {
			return nixl.Open(nixl.Options{Library: filepath.Join(t.TempDir(), "no.so")})
		},
		Get: "get it",
	})
	if r.Usable || r.Problems() < 2 {
		t.Errorf("usable %v, %d problems: %v", r.Usable, r.Problems(), r.Findings)
	}
	if first, second := r.Findings[0], r.Findings[1]; first.Do != "get it" || first.Level != Problem || !strings.Contains(second.Text, "no.so") {
		t.Errorf("%+v, %+v", first, second)
	}
}

// A probe that cannot start, or dies, is the plugin's finding and nobody else's.
func TestAProbeThatFails(t *testing.T) {
	at := &attempt{}
	at.try(t.Context(), &Config{Start: func(io.Writer) (*proc.Child, error) { return nil, errors.New("no more processes") }}, Job{Plugin: nixl.PluginUCX})
	if f := at.finding(nixl.PluginUCX); f.Level != Problem || f.Text != "no more processes" {
		t.Errorf("%+v", f)
	}
	for plugin, want := range map[string]Level{nixl.PluginUCX: Problem, "GDS": Note} {
		at = &attempt{}
		at.try(t.Context(), &Config{Start: func(w io.Writer) (*proc.Child, error) {
			return proc.Start(proc.Spec{Path: "/bin/sh", Args: []string{"sh", "-c", "kill -SEGV $$"}, Stderr: w})
		}}, Job{Plugin: plugin})
		if f := at.finding(plugin); f.Level != want || !strings.Contains(f.Text, "SIGSEGV") {
			t.Errorf("%s: %+v", plugin, f)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	at = &attempt{}
	at.try(ctx, &Config{Start: func(w io.Writer) (*proc.Child, error) {
		return proc.Start(proc.Spec{Path: "/bin/sh", Args: []string{"sh", "-c", "sleep 60"}, Stderr: w})
	}}, Job{Plugin: "GDS"})
	if f := at.finding("GDS"); !strings.Contains(f.Text, "no answer") {
		t.Errorf("%+v", f)
	}
}
