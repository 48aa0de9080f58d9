// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/internal/cli/exit"
	"github.com/kvxfer/kvxfer/transfer/admin"
)

// checked states everything that a loop demands.
func checked(leave ...string) (args []string) {
	for _, fact := range []string{"process", "context", "region"} {
		if len(leave) == 0 || leave[0] != fact {
			args = append(args, "--checked", fact+"=node 17 is off")
		}
	}
	return args
}

// An operator fences: without a statement nothing happens, and he is told what it takes;
// with one the memory is free and his word is on record.
func TestFence(t *testing.T) {
	e, addr := doubtful(t, time.Hour)
	fence := func(more ...string) (int, string, string) {
		return command(append([]string{"fence", "prefill-0", "--addr", addr, "--scope", "passive"}, more...)...)
	}
	code, out, errs := fence()
	for _, want := range []string{"prefill-0", "IN_DOUBT", "transport   loop: a fence of scope passive takes", "  region    the transport reaches the memory no more"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for _, want := range []string{"the statement lacks --by NAME, --checked process=HOW (", "--checked context=HOW (", "--checked region=HOW (", "; nothing was fenced"} {
		if code != exit.Usage || !strings.Contains(errs, want) {
			t.Errorf("ends with %d and %q, want %q", code, errs, want)
		}
	}
	for _, leave := range []string{"process", "context", "region"} {
		if code, _, errs := fence(append(checked(leave), "--by", "ops")...); code != exit.Usage || !strings.Contains(errs, "lacks --checked "+leave+"=HOW") {
			t.Errorf("without %s: %d, %s", leave, code, errs)
		}
	}
	if code, _, errs := fence(checked()...); code != exit.Usage || !strings.Contains(errs, "lacks --by NAME;") {
		t.Errorf("without a name: %d, %s", code, errs)
	}
	if code, out, _ := command("explain", "--addr", addr); code != exit.Retained || strings.Contains(out, "fenced") {
		t.Errorf("something was fenced: %d, %s", code, out)
	}

	code, out, errs = fence(append(checked(), "--by", "ops@example.org", "--json")...)
	var done admin.Fenced
	if err := json.Unmarshal([]byte(out), &done); err != nil || code != exit.OK || done.Freed != 1 || len(done.Retained) != 0 || done.Accessor != "prefill-0" {
		t.Fatalf("ends with %d, %s%s, %v", code, out, errs, err)
	}
	code, out, _ = command("explain", "--addr", addr)
	if want := "1 claim freed: ops@example.org states: process: node 17 is off; context: node 17 is off; region: node 17 is off"; code != exit.OK || !strings.Contains(out, want) {
		t.Errorf("explain ends with %d and has no %q:\n%s", code, want, out)
	}
	code, out, _ = fence(append(checked(), "--by", "ops")...)
	if code != exit.OK || !strings.Contains(out, "prefill-0 holds nothing of decode-0") || !strings.Contains(out, "fenced prefill-0, scope passive: 0 claims freed; on record: ops states") {
		t.Errorf("again: %d, %s", code, out)
	}
	if n := len(e.Explain().Fences); n != 2 {
		t.Errorf("%d fences are on record", n)
	}
}

// What the endpoint refuses comes back with its reason and an exit code.
func TestFenceIsRefused(t *testing.T) {
	fatal, fatalAddr := doubtful(t, time.Millisecond)
	<-fatal.Fatal()
	_, addr := doubtful(t, time.Hour)
	said := append(checked(), "--by", "ops")
	for name, tc := range map[string]struct {
		args []string
		code int
		want string
	}{
		"fatal":            {append([]string{"prefill-0", "--addr", fatalAddr, "--scope", "all"}, said...), exit.Fatal, "frees nothing any more; end or isolate"},
		"a stranger":       {append([]string{"nobody", "--addr", addr, "--scope", "all"}, said...), exit.Finding, "fence of nobody: peer is not attached"},
		"a life of nobody": {append([]string{"prefill-0", "--addr", addr, "--scope", "all", "--incarnation", strings.Repeat("ab", 16)}, said...), exit.Finding, "incarnation abab"},
		"no incarnation":   {append([]string{"prefill-0", "--addr", addr, "--scope", "all", "--incarnation", "ab"}, said...), exit.Usage, "give its 32 hexadecimal digits"},
		"no scope":         {append([]string{"prefill-0", "--addr", addr}, said...), exit.Usage, "--scope is missing"},
		"another scope":    {append([]string{"prefill-0", "--addr", addr, "--scope", "both"}, said...), exit.Usage, `scope "both"`},
		"local, passive":   {append([]string{"local", "--addr", addr, "--scope", "passive"}, said...), exit.Usage, "a local copy reaches no passive memory"},
		"another fact":     {[]string{"prefill-0", "--addr", addr, "--scope", "all", "--checked", "power=off"}, exit.Usage, `--checked: "power=off"; give process, context or region`},
		"an empty fact":    {[]string{"prefill-0", "--addr", addr, "--scope", "all", "--checked", "process= "}, exit.Usage, "does not say how it was checked"},
		"nobody there":     {append([]string{"prefill-0", "--addr", "unix:/nowhere/s", "--scope", "all"}, said...), exit.Env, "cannot connect"},
		"no accessor":      {[]string{"--addr", addr, "--scope", "all"}, exit.Usage, "0 accessors are named, want 1"},
		"an empty name":    {[]string{"prefill-0", "--addr", addr, "--scope", "all", "--by", ""}, exit.Usage, "--by: is given, but empty"},
	} {
		code, _, errs := command(append([]string{"fence"}, tc.args...)...)
		if code != tc.code || !strings.Contains(errs, tc.want) {
			t.Errorf("%s: ends with %d, want %d: %s", name, code, tc.code, errs)
		}
	}
}
