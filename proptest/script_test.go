// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package proptest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/kvxfer/kvxfer/proptest/model"
)

var outDir = flag.String("proptest.out", filepath.Join(os.TempDir(), "kvxfer-proptest"), "`folder` for the scenario files of failed runs")

// script is a run as the steps of a scenario file. It is text only when
// somebody wants it: there are a million steps a minute.
type script struct {
	config model.Config
	steps  []line
	// Ids that a step has added or admitted, or tried to: a file knows no others.
	pieces   map[string]bool
	requests map[model.Request]bool
}

type line struct {
	format string
	args   []any
	kind   string // of the error that the contract wants
	remark bool
}

func (s *script) step(format string, args ...any) {
	s.steps = append(s.steps, line{format: format, args: args})
}

// comment is for a call that no step of a scenario expresses.
func (s *script) comment(format string, args ...any) {
	s.steps = append(s.steps, line{format: format, args: args, remark: true})
}

// end says how the last step must end.
func (s *script) end(kind string) { s.steps[len(s.steps)-1].kind = kind }

func (s *script) piece(spec model.PieceSpec) {
	s.pieces[spec.Name.Piece] = true
	names := make([]string, len(spec.Cohort))
	for i, m := range spec.Cohort {
		names[i] = m.Accessor
	}
	cohort := "[" + strings.Join(names, ", ") + "]"
	if spec.Count > 0 {
		cohort = fmt.Sprintf("{count: %d, candidates: %s}", spec.Count, cohort)
	}
	access := ""
	if spec.Access != "" {
		access = ", access: " + spec.Access
	}
	s.step("piece: {session: %s, id: %s, region: %s, cohort: %s, local: %v%s}",
		sessionText(spec.Name.Session), spec.Name.Piece, spec.Region, cohort, spec.Local, access)
}

// text is the scenario: each step ends as the contract wants, and after the last
// one everything is as the model says.
func (s *script) text(w *world) string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s\nabout: a run of the property suite, shrunk; what the contract wants stands behind each step\n", s.name(w))
	c := s.config
	fmt.Fprintf(&b, "config: {request_timeout: %v, grace: %v, transport: manual", c.T, c.G)
	for _, n := range []struct {
		key string
		n   int
	}{{"owners", c.Owners}, {"sessions", c.Sessions}, {"tombstones", c.Tombstones}, {"peer_tombstones", c.PeerTombstones}, {"outbox", c.Outbox}, {"peer_outbox", c.PeerOutbox}} {
		if n.n > 0 {
			fmt.Fprintf(&b, ", %s: %d", n.key, n.n)
		}
	}
	if c.Quarantine != "" {
		fmt.Fprintf(&b, ", quarantine: %q", c.Quarantine)
	}
	b.WriteString("}\nsteps:\n")
	for _, l := range s.steps {
		if l.remark {
			fmt.Fprintf(&b, "  # "+l.format+"\n", l.args...)
			continue
		}
		fmt.Fprintf(&b, "  - "+l.format+"\n", l.args...)
		if l.kind != "" {
			fmt.Fprintf(&b, "    error: %s\n", l.kind)
		}
	}
	s.expect(&b, w.model)
	return b.String()
}

// expect writes everything that the model has.
func (s *script) expect(b *strings.Builder, m *model.Registry) {
	b.WriteString("  - expect:\n")
	fmt.Fprintf(b, "      registry: {admission: %s, owners: %d, fatal: %v, stale: %d, duplicates: %d, ignored: %d, outbox: %d}\n",
		m.Admission(), m.Owners(), m.Fatal, m.StaleCalls, m.Duplicates, m.Ignored, len(m.Waiting))
	waiting := make(map[string][]string)
	for _, x := range m.Waiting {
		waiting[x.To.Accessor] = append(waiting[x.To.Accessor], x.Label)
	}
	for to, labels := range waiting {
		fmt.Fprintf(b, "      outbox %s: [%s]\n", to, strings.Join(labels, ", "))
	}
	for _, o := range m.Sessions {
		fmt.Fprintf(b, "      session %s: {outcome: %s, cause: %s, origin: %s, physical: %s}\n", sessionText(o.Name), o.Outcome, none(o.Cause), none(o.Origin), m.Physical(o))
		for _, p := range o.Pieces {
			var claims []string
			for _, c := range p.Claims {
				claims = append(claims, c.Of.Accessor+": "+c.State)
			}
			local := "none"
			if p.Local != nil {
				local = p.Local.State
			}
			fmt.Fprintf(b, "      piece %s: {claims: {%s}, local: %s, gate: %s, outcome: %s, invalid: %v, drained: %v}\n",
				pieceText(p.Name), strings.Join(claims, ", "), local, p.Gate, p.Outcome, p.Invalid, m.Drained(p))
		}
	}
}

func none(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func (s *script) name(w *world) string {
	test := regexp.MustCompile(`[^A-Za-z0-9]+`).ReplaceAllString(strings.ToLower(w.test), "-")
	return fmt.Sprintf("failed-%s-%d", test, os.Getpid())
}

// write writes the scenario file and returns its path, or what went wrong.
func (s *script) write(w *world) string {
	path := filepath.Join(*outDir, s.name(w)+".yaml")
	if err := os.MkdirAll(*outDir, 0o755); err != nil {
		return err.Error()
	}
	if err := os.WriteFile(path, []byte(s.text(w)), 0o644); err != nil {
		return err.Error()
	}
	return path
}
