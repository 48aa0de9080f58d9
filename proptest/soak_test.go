// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package proptest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var soak = flag.Duration("proptest.soak", 0, "`how long` TestSoak goes on; 0 skips it")

// steps counts what all properties of this process have compared.
var steps atomic.Int64

// soaks are the properties of a soak, in turn, each so many lives at a time.
var soaks = []struct {
	name   string
	lives  int
	length int // steps of a life
	check  func(*rapid.T)
}{
	{"Owner", 2000, 50, checkOwner},
	{"Registry", 2000, 50, checkRegistry},
	{"Registry", 200, 400, checkRegistry},
	{"Pins", 1000, 100, checkPins},
	{"Network", 200, 30, checkNetwork},
	{"Network", 40, 120, checkNetwork},
	{"Ranks", 500, 60, checkRanks},
}

// maxFailures ends a soak that finds the same thing again and again.
const maxFailures = 20

// TestSoak lives on with fresh seeds until the time is over, and says what it did.
func TestSoak(t *testing.T) {
	if *soak <= 0 {
		t.Skip("a soak is asked for with -proptest.soak=1h, or with make soak SOAK=1h")
	}
	began, said := time.Now(), time.Now()
	lives := make(map[string]int)
	var failures []string
	rounds := 0
	for ; time.Since(began) < *soak && len(failures) < maxFailures; rounds++ {
		s, seed := soaks[rounds%len(soaks)], rand.Uint64()>>1
		set("rapid.seed", seed)
		set("rapid.checks", s.lives)
		set("rapid.steps", s.length)
		if !t.Run(s.name, rapid.MakeCheck(s.check)) {
			failures = append(failures, fmt.Sprintf("go test ./proptest -run '^Test%s$' -rapid.seed=%d -rapid.checks=%d -rapid.steps=%d", s.name, seed, s.lives, s.length))
		}
		lives[s.name] += s.lives
		if time.Since(said) > 10*time.Second {
			said = time.Now()
			fmt.Fprintf(os.Stderr, "soak: %v of %v, %d seeds, %s, %d steps, %d failures\n",
				time.Since(began).Round(time.Second), *soak, rounds+1, livesText(lives), steps.Load(), len(failures))
		}
	}
	fmt.Fprintf(os.Stderr, "soak: over after %v: %d seeds, %s, %d steps, %d failures\n",
		time.Since(began).Round(time.Second), rounds, livesText(lives), steps.Load(), len(failures))
	if len(failures) > 0 {
		fmt.Fprintf(os.Stderr, "replay with:\n  %s\nscenario files are in %s\n", strings.Join(failures, "\n  "), *outDir)
	}
}

func livesText(lives map[string]int) string {
	return fmt.Sprintf("lives: %d owners, %d registries, %d pools, %d networks, %d groups of ranks",
		lives["Owner"], lives["Registry"], lives["Pins"], lives["Network"], lives["Ranks"])
}

// set gives rapid its settings: it has no other way in than its flags.
func set(name string, value any) {
	if err := flag.Set(name, fmt.Sprint(value)); err != nil {
		panic(err) // a flag of rapid's is gone
	}
}
