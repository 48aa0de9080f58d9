// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"

	"github.com/kvxfer/kvxfer/fence"
	"github.com/kvxfer/kvxfer/ownership"
)

// TestWhatContradictsAStatement: that the process of the life in question is seen to live,
// where it is known, and the statement says that it is gone.
func TestWhatContradictsAStatement(t *testing.T) {
	living, err := fence.Find(os.Getpid())
	if err != nil {
		t.Skip(err)
	}
	one, two := ownership.Incarnation{1}, ownership.Incarnation{2}
	known, doubtful := identity{life: one, process: living}, identity{life: one, process: living, err: errors.New("it was in two")}
	for name, test := range map[string]struct {
		known identity
		life  ownership.Incarnation
		says  fence.Fact
		want  bool
	}{
		"it lives":                {known, one, fence.ProcessGone, true},
		"any life":                {known, ownership.Incarnation{}, fence.ProcessGone, true},
		"another life":            {known, two, fence.ProcessGone, false},
		"of something else":       {known, one, fence.ContextDestroyed, false},
		"which is not known":      {doubtful, one, fence.ProcessGone, false},
		"of any, none is known":   {doubtful, ownership.Incarnation{}, fence.ProcessGone, false},
		"something else, any one": {known, ownership.Incarnation{}, fence.ContextDestroyed, false},
	} {
		p := &peer{name: "x", processes: []identity{test.known}}
		err := p.contradicts(test.life, []fence.Evidence{fence.Statement{Who: "operator", Checked: map[fence.Fact]string{test.says: "seen"}}})
		if errors.Is(err, fence.ErrAlive) != test.want || (err != nil) != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBackendThatDoesNotForget: whoever waits for it gives up with his context, and the
// peer is not taken for one of which nothing is left.
func TestBackendThatDoesNotForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := host(t)
		defer e.Halt()
		p := bare(e, "x")
		p.life = ownership.Incarnation{}
		gate := make(chan struct{})
		p.backend.do(func() { <-gate })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if p.disconnected(ctx) {
			t.Error("nothing is left of it, though a call runs")
		}
		close(gate)
		if !p.disconnected(t.Context()) {
			t.Error("something is left of it")
		}
	})
}
