// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"os"
	"testing"
)

// unset removes variables until the test ends.
func unset(t *testing.T, names ...string) {
	t.Helper()
	for _, n := range names {
		t.Setenv(n, "") // restores it
		if err := os.Unsetenv(n); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEnvironmentKeepsWhatTheUserSet(t *testing.T) {
	for _, s := range Environment() {
		unset(t, s.Name)
		if s.Why == "" {
			t.Errorf("%s has no reason", s.Name)
		}
	}
	t.Setenv("UCX_LOG_FILE", "/var/log/ucx")
	t.Setenv("UCX_DEBUG_SIGNO", "")
	if err := applyEnvironment(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"UCX_LOG_FILE": "/var/log/ucx", "UCX_DEBUG_SIGNO": "", "UCX_HANDLE_ERRORS": "none", "NIXL_LOG_LEVEL": "FATAL",
	} {
		if got, set := os.LookupEnv(name); !set || got != want {
			t.Errorf("%s = %q (set: %v), want %q", name, got, set, want)
		}
	}
}

func TestTransportFromEnvironmentIsNotIgnored(t *testing.T) {
	for _, c := range []struct {
		env, value string
		cfg        UCXConfig
		refused    bool
	}{
		{envTLS, "tcp", UCXConfig{Transport: TransportCMA}, true},
		{envTLS, "tcp", UCXConfig{Transport: TransportTCP}, false},
		{envTLS, "rc", UCXConfig{Transport: TransportAuto}, false},
		{envDevices, "eth0", UCXConfig{Device: "lo"}, true},
		{envDevices, "lo", UCXConfig{}, false},
	} {
		unset(t, envTLS, envDevices)
		t.Setenv(c.env, c.value)
		tls := contradicts(envTLS, c.cfg.Transport.tls())
		dev := contradicts(envDevices, c.cfg.Device)
		if refused := tls != nil || dev != nil; refused != c.refused {
			t.Errorf("%s=%s with %v %q: %v, %v", c.env, c.value, c.cfg.Transport, c.cfg.Device, tls, dev)
		}
	}
}
