// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package proptest

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// fuzz makes a property a fuzz target. A life is drawn from the input's bytes, so
// that the inputs to begin with are long ones; testdata/fuzz has more.
func fuzz(f *testing.F, check func(*rapid.T)) {
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 3))
		input := make([]byte, 8<<10)
		for i := range input {
			input[i] = byte(rng.Uint32())
		}
		f.Add(input)
	}
	f.Fuzz(rapid.MakeFuzz(check))
}

func FuzzOwner(f *testing.F)    { fuzz(f, checkOwner) }
func FuzzRegistry(f *testing.F) { fuzz(f, checkRegistry) }
func FuzzPins(f *testing.F)     { fuzz(f, checkPins) }
func FuzzNetwork(f *testing.F)  { fuzz(f, checkNetwork) }
func FuzzRanks(f *testing.F)    { fuzz(f, checkRanks) }

func FuzzSystems(f *testing.F) {
	names := rapid.SampledFrom(slices.Sorted(maps.Keys(generated)))
	fuzz(f, func(t *rapid.T) { walkSystem(names.Draw(t, "system"))(t) })
}

func FuzzMachines(f *testing.F) {
	names := rapid.SampledFrom(slices.Sorted(maps.Keys(machines)))
	fuzz(f, func(t *rapid.T) { machines[names.Draw(t, "machine")](t) })
}
