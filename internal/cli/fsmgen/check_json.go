// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package fsmgen

import "github.com/kvxfer/kvxfer/fsm/check"

// resultJSON is a check in the form that --format json writes, one object a line.
func resultJSON(r *check.Result) any {
	type change struct {
		Variable string `json:"variable"`
		From     string `json:"from"`
		To       string `json:"to"`
	}
	type step struct {
		Call    string   `json:"call"`
		Action  string   `json:"action"`
		Args    []string `json:"args,omitempty"`
		Changes []change `json:"changes"`
	}
	type finding struct {
		Property string `json:"property"`
		Verdict  string `json:"verdict"`
		Expected bool   `json:"expected"`
		Why      string `json:"why,omitempty"`
		Length   int    `json:"length,omitempty"`
		Run      []step `json:"run,omitempty"`
		Loop     *int   `json:"loop,omitempty"`
	}
	findings := []finding{}
	for _, f := range r.Findings {
		j := finding{Property: f.Name, Verdict: f.Verdict.String(), Expected: f.Expected(), Why: f.Why, Length: f.Length}
		if f.Trace != nil {
			for _, s := range f.Trace.Steps {
				js := step{Call: s.Call, Action: s.Action.Name, Args: s.Args, Changes: []change{}}
				for _, c := range s.Changes {
					js.Changes = append(js.Changes, change{c.Name, c.From, c.To})
				}
				j.Run = append(j.Run, js)
			}
			if f.Trace.Loop >= 0 {
				j.Loop = &f.Trace.Loop
			}
		}
		findings = append(findings, j)
	}
	return struct {
		System      string    `json:"system"`
		Replicas    int       `json:"replicas"`
		Environment string    `json:"environment,omitempty"`
		Symmetry    bool      `json:"symmetry"`
		Complete    bool      `json:"complete"`
		Stopped     string    `json:"stopped,omitempty"`
		States      int       `json:"states"`
		Transitions int       `json:"transitions"`
		Depth       int       `json:"depth"`
		Bytes       int       `json:"bytes"`
		Seconds     float64   `json:"seconds"`
		Dead        []string  `json:"dead,omitempty"`
		Findings    []finding `json:"findings"`
	}{r.System, r.Replicas, r.Environment, r.Symmetry, r.Complete, r.Stopped, r.States, r.Edges, r.Depth, r.Bytes,
		r.Elapsed.Seconds(), r.Dead, findings}
}
