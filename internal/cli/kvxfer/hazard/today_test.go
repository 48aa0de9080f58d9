// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package hazard

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/internal/proc"
	"github.com/kvxfer/kvxfer/nixl"
)

const roleVariable = "HAZARD_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) == "" {
		os.Exit(m.Run())
	}
	parent, err := proc.Parent()
	if err == nil {
		var job Job
		if err = parent.Recv(context.Background(), &job); err == nil {
			err = Serve(context.Background(), job, parent)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// experiment needs the real library; without it the test is skipped and says so.
func experiment(t *testing.T, transport string, op Op) (*Hazard, context.Context) {
	t.Helper()
	lib, err := nixl.Open(nixl.Options{Folders: []string{"../../../../.nixl"}})
	if err != nil {
		t.Skip("needs NIXL: ", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return &Hazard{
		Library: lib.Path(), Transport: transport, Op: op, Bytes: DefaultBytes, Pieces: DefaultPieces, Seed: 1,
		Start: func() (*proc.Child, error) {
			return proc.Start(proc.Spec{Args: []string{"peer"}, Env: []string{roleVariable + "=peer"}})
		},
	}, ctx
}

// Each operation lets bytes of one request into the memory of another when its
// handle is released in flight.
func TestTodayMixesTwoRequests(t *testing.T) {
	for _, op := range []Op{Write, Read} {
		t.Run(op.String(), func(t *testing.T) {
			h, ctx := experiment(t, TCP, op)
			half, err := h.today(ctx, 7, func(s Step) { t.Logf("%9v %-15s %s", s.At.Round(10*time.Microsecond), s.Phase, s.Text) })
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%+v", half.Arrived)
			if !half.InFlight || half.Arrived.Foreign == 0 || half.Arrived.Other != 0 {
				t.Errorf("in flight %v, arrived %+v", half.InFlight, half.Arrived)
			}
		})
	}
}

// The owned half keeps the memory, and nothing is mixed.
func TestOwnedMixesNothing(t *testing.T) {
	for _, op := range []Op{Write, Read} {
		t.Run(op.String(), func(t *testing.T) {
			h, ctx := experiment(t, TCP, op)
			half, err := h.owned(ctx, 7, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !half.InFlight || half.Arrived.Foreign != 0 || half.Arrived.Own != h.Bytes {
				t.Errorf("in flight %v, arrived %+v", half.InFlight, half.Arrived)
			}
		})
	}
}

// Over CMA the copy ends inside the post: there is nothing left to release in
// flight.
func TestTodayOverCMA(t *testing.T) {
	for _, op := range []Op{Write, Read} {
		t.Run(op.String(), func(t *testing.T) {
			h, ctx := experiment(t, CMA, op)
			half, err := h.today(ctx, 7, nil)
			if err != nil {
				t.Fatal(err)
			}
			if half.InFlight || half.Arrived.Foreign != 0 || half.Arrived.Own != h.Bytes {
				t.Errorf("in flight %v, arrived %+v", half.InFlight, half.Arrived)
			}
		})
	}
}
