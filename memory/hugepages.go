// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package memory

import "fmt"

// HugePages is what came of a wish for huge pages. The system may still hand
// out small ones when it has no free large range: [ResidentHuge] measures.
type HugePages struct {
	// Asked repeats Spec.HugePages.
	Asked bool
	// Advised is the length in bytes of the ranges for which the system
	// accepted the advice.
	Advised int
	// Reason says why Advised is less than the arena; empty when it is not, or
	// when nothing was asked.
	Reason string
}

// String tells the story in a few words, for a program's first lines.
func (h HugePages) String() string {
	switch {
	case !h.Asked:
		return "huge pages not asked for"
	case h.Reason != "":
		return fmt.Sprintf("huge pages for %d bytes: %s", h.Advised, h.Reason)
	}
	return fmt.Sprintf("huge pages for %d bytes", h.Advised)
}

// adviseHuge asks for huge pages for the whole ones inside data, which starts
// at a multiple of HugePageSize when asked.
func adviseHuge(asked bool, data []byte) HugePages {
	h := HugePages{Asked: asked}
	if !asked {
		return h
	}
	whole := len(data) / HugePageSize * HugePageSize
	if whole == 0 {
		h.Reason = fmt.Sprintf("the arena is shorter than one page of %d", HugePageSize)
		return h
	}
	if err := madviseHuge(data[:whole]); err != nil {
		h.Reason = err.Error()
		return h
	}
	h.Advised = whole
	if whole < len(data) {
		h.Reason = fmt.Sprintf("the last %d bytes do not fill a page of %d", len(data)-whole, HugePageSize)
	}
	return h
}
