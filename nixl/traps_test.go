// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// traps are what makes NIXL hard to use from Go (docs/nixl.md, section 4), and
// the test that shows that the binding is not caught in it.
var traps = []struct{ trap, test string }{
	{"a nil dereference must stay a panic, also during transfers", "TestSignalsAndStandardOutputStayTheProgramsOwn"},
	{"SIGHUP must reach os/signal", "TestSignalsAndStandardOutputStayTheProgramsOwn"},
	{"CPU profiles interrupt C code during transfers", "TestSignalsAndStandardOutputStayTheProgramsOwn"},
	{"UCX logs to standard output", "TestSignalsAndStandardOutputStayTheProgramsOwn"},
	{"UCX patches mmap and munmap of libc", "TestLibcIsNotPatched"},
	{"a variable of the user goes before ours", "TestEnvironmentKeepsWhatTheUserSet"},
	{"UCX_TLS in the environment beats the configuration silently", "TestTransportFromEnvironmentIsNotIgnored"},
	{"threads without a lock crash inside NIXL", "TestEverythingRacesWithTheEnd"},
	{"a call beside or after destroy_agent reads freed memory", "TestEverythingRacesWithTheEnd"},
	{"a release in flight answers success and stops nothing", "TestNothingIsLetGoInFlight"},
	{"a repost of a running request looks like its failure", "TestNothingIsLetGoInFlight"},
	{"a status before the post looks like a failure", "TestStatusBeforePostLooksLikeFailure"},
	{"an error says nothing of who still touches the memory", "TestEvidence"},
	{"a post after its memory or its peer went has crashed", "TestStaleRequestIsNotPosted"},
	{"metadata that was cut short poisons the peer's name", "TestCutMetadataPoisonsThePeer"},
	{"metadata must be whole before NIXL sees it", "TestEnvelopeRefusesEveryCutAndEveryChange"},
	{"what C allocates must be freed, handles and copies", "TestNothingLeaks"},
	{"get_notifs appends to the map that it is given", "TestNotificationsComeOnce"},
	{"4 KiB pages make copies slow", "TestHugePagesSayWhatTheyGot"},
	{"memory must not be the Go heap's", "TestArenaIsAlignedZeroAndUsable"},
	{"old versions crash on stale handles", "TestRefusedLibraries"},
	{"a link to the library alone does not load", "TestAcceptedLibraries"},
	{"a library that was cut short is a SIGBUS inside dlopen", "TestOpenKeepsTheLoadersWords"},
	{"Go's sleep is 1 ms: a poll pass must be cheap instead", "BenchmarkPoll10000"},
	{"an idle progress thread can cost a core", "BenchmarkIdle"},
}

func TestTrapsHaveTheirTests(t *testing.T) {
	var text strings.Builder
	for _, pattern := range []string{"*_test.go", "../internal/nixlc/*_test.go", "../internal/dl/*_test.go", "../memory/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(b)
		}
	}
	for _, c := range traps {
		if !strings.Contains(text.String(), "func "+c.test+"(") {
			t.Errorf("%s: no test %s", c.trap, c.test)
		}
	}
}
