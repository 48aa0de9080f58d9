// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/internal/proc"
	"github.com/kvxfer/kvxfer/nixl"
)

const roleVariable = "CHAOS_TEST_ROLE"

var (
	seed  = flag.Uint64("seed", 0, "make the runs of this seed again; 0: others each time")
	only  = flag.String("fault", "", "this fault only")
	over  = flag.String("over", "", "this transport only")
	times = flag.Int("times", 1, "runs of each fault and transport")
)

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

func config(t *testing.T) Config {
	t.Helper()
	lib, err := nixl.Open(nixl.Options{Folders: []string{"../../../../.nixl"}})
	if err != nil {
		t.Skip("needs NIXL: ", err)
	}
	return Config{Library: lib.Path(), Cancels: 64, Start: func(stderr io.Writer) (*proc.Child, error) {
		return proc.Start(proc.Spec{Stderr: stderr, Args: []string{"node"}, Env: []string{roleVariable + "=node"}})
	}}
}

// Each fault, over each transport: no byte where it does not belong, and nothing owned
// without a reason.
func TestFaults(t *testing.T) {
	c := config(t)
	first := *seed
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	for k, name := range Names() {
		f := Fault(name)
		for i, transport := range []string{"tcp", "cma"} {
			if *only != "" && *only != string(f) || *over != "" && *over != transport {
				continue
			}
			if *only == "" && *over == "" && (uint64(k+i)+first)%2 == 0 {
				continue // the other transport's turn; "kvxfer chaos" has both
			}
			for n := range *times {
				spec := Spec{Fault: f, Transport: transport, Nodes: 2 + (int(first)+n+i)%2, Seed: first + uint64(n)}
				t.Run(fmt.Sprintf("%s/%s", f, transport), func(t *testing.T) {
					t.Parallel() // most of it is waiting for proof
					r, err := Run(t.Context(), c, spec)
					if err != nil {
						t.Fatal(err)
					}
					t.Logf("seed %d, %d nodes: %v, %d transfers %v, %d MiB checked, %d refused, %d aborted, retained %q, traces %+v",
						spec.Seed, spec.Nodes, r.Took.Round(time.Millisecond), r.Transfers, r.Outcomes, r.Checked>>20, r.Refused, r.Aborted, r.Retained, r.Traces)
					for _, f := range r.Findings {
						t.Error(f)
					}
				})
			}
		}
	}
}

// The checker finds memory that was used again too early, on either side: a careless
// node's source is read after that, and what it receives into is written.
func TestCheckerFindsUseAfterRelease(t *testing.T) {
	c := config(t)
	c.careless, c.Traces = true, t.TempDir()
	for n := range uint64(5) {
		r, err := Run(t.Context(), c, Spec{Fault: StopContinue, Transport: "tcp", Nodes: 2, Seed: n})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Findings {
			t.Logf("seed %d: %s", n, f)
		}
		if len(r.Findings) > 0 {
			return
		}
	}
	t.Error("nothing was found in five runs without proof")
}
