// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"strings"
	"testing"

	"github.com/kvxfer/kvxfer/gen/report"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// The codes are those of spec/report.yaml, no more and no fewer (contract §8).
func TestCodesAgreeWithSpec(t *testing.T) {
	for code := range 256 {
		kind, message := wire.Kind(code), report.Message(code)
		if known := !strings.HasPrefix(kind.String(), "invalid"); known != message.IsValid() {
			t.Errorf("code %d is message %v here, %v in the spec", code, kind, message)
		} else if known && kind.String() != message.String() {
			t.Errorf("code %d is message %v here, %v in the spec", code, kind, message)
		}
		evidence, said := wire.Evidence(code), report.Evidence(code)
		if evidence.IsValid() != said.IsValid() || evidence.IsValid() && !strings.EqualFold(evidence.String(), said.String()) {
			t.Errorf("code %d is evidence %v here, %v in the spec", code, evidence, said)
		}
	}
}
