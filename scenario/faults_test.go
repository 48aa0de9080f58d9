// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

package scenario_test

import (
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/internal/overlay"
)

// Generated systems: of a piece that receives, of a session, and of a region.
const (
	receiveRules = "../gen/receive/receive.gen.go"
	sessionRules = "../gen/session/session.gen.go"
	regionRules  = "../gen/region/region.gen.go"
)

// edit replaces a text that a source file has once; names are those in package ownership.
type edit struct{ file, from, to string }

// faults are mistakes that a library could have, one for each invariant of
// contract section 12 that a single registry can show.
var faults = map[string][]edit{
	"I1 a live claim is released": {
		{sessionRules, "	if !s.closed && !s.Settled() {\n", "	if false {\n"},
		{receiveRules, "	if s.outcome == outcome.Active || !s.Settled() {\n", "	if false {\n"},
	},
	"I2 the gate stays open after a cancel": {
		{receiveRules, "	if s.wouldGate(gate.Cancel) == fsm.Moved {\n", "	if false {\n"},
	},
	"I3 a later outcome replaces the first": {{sessionRules, "	if s.wouldOutcome(how) == fsm.Moved {\n", "	if s.wouldOutcome(how) == fsm.Moved || s.outcome == outcome.Failed {\n"}},
	"I4 success does not wait for the fan-out": {
		{receiveRules, "	return s.gate == gate.Sealed && !s.flags.has(flagInvalid) && s.Answered() && (", "	return !s.flags.has(flagInvalid) && s.Answered() && ("},
	},
	"I5 a settlement is a delivery": {
		{receiveRules, "			s.late |= 1 << a\n		}\n		if e == claim.Doubt {\n", "			s.late |= 1 << a\n		}\n		if false {\n"},
		{receiveRules, "	return s.claims.is(uint8(claim.Drained)) & s.verdicts.is(uint8(verdict.OK))\n", "	return s.late | s.claims.is(uint8(claim.Drained))&s.verdicts.is(uint8(verdict.OK))\n"},
		{receiveRules, "	return s.claims.is(uint8(claim.Unpublished)) | s.claims.is(uint8(claim.Published)) | s.deliveredMask()", "	return s.claims.is(uint8(claim.InDoubt)) | s.claims.is(uint8(claim.Published)) | s.deliveredMask()"},
	},
	"I6 the end of the grace frees a claim": {
		{"retirement.go", "			c.latchFatal(s, due, at)\n		}\n		c.schedule(s)\n", "		for _, o := range s.pieces() {\n			for i := range o.total() {\n				c.fenceClaim(o, i)\n			}\n		}\n		c.flush()\n		}\n		c.deadlines.clear(s)\n"},
	},
	"I7 an invalid owner is released": {{receiveRules, "	return !s.flags.has(flagInvalid) && s.gate.Shut() &&", "	return s.gate.Shut() &&"}},
	"I8 a release runs twice":         {{"owner_effects.go", "	c.log.pieceReleased(c.now, o)\n", "	c.log.pieceReleased(c.now, o)\n	c.log.pieceReleased(c.now, o)\n"}},
	"I9 a session retires under FATAL": {
		{sessionRules, "	if fatal && !s.closed {\n", "	if false {\n"},
		{receiveRules, "	if fatal {\n		return out, errRelease2\n", "	if false {\n		return out, errRelease2\n"},
	},
	"I10 a trigger moves the deadline":    {{"../gen/retirement/retirement.gen.go", "	if !s.flags.has(flagDraining) && (s.flags.has(flagArmed) || !isSettled) {\n", "	if s.flags.has(flagArmed) || !isSettled {\n"}},
	"I11 evidence of a fenced name":       {{receiveRules, "	if s.flags.has(flagReleased) || s.fenced>>a&1 != 0 {\n		return out, errHear1\n", "	if s.flags.has(flagReleased) {\n		return out, errHear1\n"}},
	"I11 evidence of a life that is over": {{"report.go", "	case o.peer(i).gone:\n", "	case false:\n"}},
	"I12 a held region is handed out":     {{regionRules, "	if int(s.holders) > 0 {\n		return out, errReuse2\n", "	if false {\n		return out, errReuse2\n"}},
	"I13 the latest report leaves first":  {{"outbox.go", "		return q.first\n", "		return q.last\n"}},
	"I16 a region forgets its owner":      {{"owner_effects.go", "	o.region.release(o)\n", ""}},
	"I17 an owner is not counted":         {{"admit.go", "	c.counters.Admitted++\n", ""}},
}

// chosenFaults is a random third of the faults, for each costs a build of the
// library; all of them where FAULTS is "all", and again a former third where
// FAULTS is the seed that it printed.
func chosenFaults(t *testing.T) []string {
	t.Helper()
	names := slices.Sorted(maps.Keys(faults))
	wanted := os.Getenv("FAULTS")
	if wanted == "all" {
		return names
	}
	seed := rand.Uint64()
	if wanted != "" {
		var err error
		if seed, err = strconv.ParseUint(wanted, 10, 64); err != nil {
			t.Fatalf("FAULTS: %v", err)
		}
	}
	t.Logf("seed %d of FAULTS", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names[:(len(names)+2)/3]
}

// A library with one of these faults fails at least one scenario.
func TestFaultsAreFound(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range chosenFaults(t) {
		t.Run(name, func(t *testing.T) {
			list := writeOverlay(t, root, faults[name])
			cmd := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-count=1", "-timeout=60s", "-overlay", list, "-run", "^TestFiles$", "./scenario")
			cmd.Dir = root
			out, err := cmd.CombinedOutput()
			switch text := string(out); {
			case err == nil:
				t.Error("every scenario passes")
			case !strings.Contains(text, "--- FAIL: TestFiles/"):
				t.Errorf("no scenario fails: %v\n%s", err, text)
			default:
				t.Logf("%d scenarios fail", strings.Count(text, "--- FAIL: TestFiles/"))
			}
		})
	}
}

// writeOverlay writes the edited files and the list that the go command takes.
func writeOverlay(t *testing.T, root string, edits []edit) string {
	t.Helper()
	faulty := overlay.New(t.TempDir())
	for _, e := range edits {
		if err := faulty.Edit(filepath.Join(root, "ownership", e.file), e.from, e.to); err != nil {
			t.Fatalf("%v: bring this fault up to date", err)
		}
	}
	list, err := faulty.Write()
	if err != nil {
		t.Fatal(err)
	}
	return list
}
