// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package trace

// Report is what a check found. Its JSON is stable.
type Report struct {
	Schema int    `json:"schema"` // 1
	File   string `json:"file"`
	Header Header `json:"trace"`
	// Lines, Steps and Effects count what was read; Sessions, Pieces and Claims what
	// came to be; Released what was given back, and Open the pieces that were not, at
	// the end of the trace.
	Lines    int `json:"lines"`
	Steps    int `json:"steps"`
	Effects  int `json:"effects"`
	Sessions int `json:"sessions"`
	Pieces   int `json:"pieces"`
	Claims   int `json:"claims"`
	Released int `json:"released"`
	Open     int `json:"open"`
	// Ended says that the trace has its last line; one that stops in the middle has not.
	Ended bool `json:"ended"`
	// Truncated is the number of a last line that was cut off, 0 if none was.
	Truncated int `json:"truncated,omitempty"`
	// Lost counts the steps that the writer had no room for. From the first one on
	// only effects are judged.
	Lost uint64 `json:"lost,omitempty"`
	// Unmatched counts the lines of an imported log that no rule of the mapping knows.
	Unmatched int `json:"unmatched,omitempty"`
	// NotJudged says what could not be, and why.
	NotJudged []string `json:"not_judged,omitempty"`
	// Findings are in the order of their lines; More counts those that were not kept.
	Findings []Finding `json:"findings"`
	More     int       `json:"more_findings,omitempty"`
	// Cells counts how often each cell of a machine was met, as "claim PUBLISHED doubt".
	Cells map[string]int `json:"cells"`
}

// Finding is one thing that the spec does not allow.
type Finding struct {
	Line int `json:"line"`
	// Rule is an invariant of the contract, such as "I1", or "claim", "gate",
	// "verdict", "outcome": a cell of that machine; "step": the generated systems
	// answer otherwise; "trace": the text itself.
	Rule string `json:"rule"`
	// What is wrong, in words, and what the Spec says instead.
	What string `json:"what"`
	Spec string `json:"spec,omitempty"`
	// Leads are the lines about the same piece that came before, the oldest first.
	Leads []Lead `json:"leads,omitempty"`
}

// Lead is a line that led to a finding.
type Lead struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}

// Rules are the sentences of the contract that a finding cites.
var Rules = map[string]string{
	"I1":  "no release while any claim is live or the gate is PUBLISHING",
	"I2":  "after cancel won the gate, nothing is published",
	"I3":  "an outcome never changes once it is terminal",
	"I4":  "SUCCEEDED only from complete positive evidence",
	"I5":  "FAILED_QUIESCED never makes a success",
	"I6":  "time alone never makes a claim reusable",
	"I7":  "what is invalid is never released",
	"I8":  "a release runs exactly once",
	"I9":  "after FATAL nothing retires",
	"I10": "a pending grace deadline never moves",
	"I11": "evidence under a stale name changes nothing",
	"I12": "no root is torn down under a live claim",
	"I13": "reports keep their order",
	"I16": "every admitted owner is known until it is released",
	"I17": "counters add up: admitted = released + owners",
}

// maxFindings bounds what a report keeps.
const maxFindings = 100

func (r *Report) add(f Finding) {
	if len(r.Findings) == maxFindings {
		r.More++
		return
	}
	r.Findings = append(r.Findings, f)
}

// Found returns how many findings there are.
func (r *Report) Found() int { return len(r.Findings) + r.More }
