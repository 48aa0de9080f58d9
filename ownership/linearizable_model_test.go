// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

// The sequential model that concurrent histories are compared with. It is
// written from contract §§2 to 7 and 11 alone and knows nothing of this package:
// states are the contract's words, and an error is the contract's kind. It has
// receive sessions of one attempt and one piece, with an exact cohort of two,
// and no clock. What it tells its peers, and shutdown, are in linearizable_stop_test.go.

// The size of what the model has.
const (
	modelSessions  = 3
	modelRegions   = 2 // session i wants region i % modelRegions
	modelAccessors = 2
)

// modelCall is what a client asked; which fields count depends on do.
type modelCall struct {
	do       string // admit, add_piece, seal, finish, fail_send, report, ack, cancel, fail, complete, close, reuse, fence, reopen, watermark, stop, deliver, waiting, look
	session  int
	accessor int
	region   int
	says     string               // of report: ok, failed, in_doubt, failed_quiesced
	exposed  [modelAccessors]bool // of fail_send: who may have the address
	unnamed  bool                 // of report: under a name that was never given
	number   uint64               // of deliver: the message's, which the model does not know
}

// modelAnswer is what it was told: the error's kind, "" for none.
type modelAnswer struct {
	err               string
	outcome, physical string // of cancel
	seen              modelView
	delivered         bool                // of deliver
	waits             [modelSessions]bool // of waiting
}

// modelView is what look shows of a session; all empty where it is not owned.
type modelView struct {
	outcome, piece, gate string
	invalid              bool
	claims               [modelAccessors]string
}

type modelClaim struct {
	state   string
	verdict string // "", ok, failed
	fenced  bool
	told    bool // its accessor, of the session's end
}

type modelSession struct {
	life     string // "", owned, closed
	buried   bool   // a tombstone covers it
	outcome  string
	complete bool

	piece   string // the piece's outcome, "" where there is none
	gate    string
	invalid bool
	claims  [modelAccessors]modelClaim
}

// model is the whole registry. It is a plain value: a step changes a copy.
type model struct {
	sessions [modelSessions]modelSession
	passed   int                                 // the watermark: requests below it are over
	doubted  [modelAccessors]bool                // remembered by the quarantine
	stopped  bool                                // shutdown has begun
	waits    [modelAccessors][modelSessions]bool // a CANCEL_SESSION, for each accessor
}

func (m *model) quarantined() bool { return m.doubted != [modelAccessors]bool{} }

// holds says whether an unreleased piece holds the region (§7).
func (m *model) holds(region int) bool {
	for i, s := range m.sessions {
		if s.life == "owned" && s.piece != "" && i%modelRegions == region {
			return true
		}
	}
	return false
}

// step makes one call, and returns what it must answer.
func (m *model) step(c modelCall) modelAnswer {
	a := m.answer(c)
	m.tell()
	return a
}

func (m *model) answer(c modelCall) modelAnswer {
	s := &m.sessions[c.session]
	owned := s.life == "owned"
	switch c.do {
	case "admit":
		return modelAnswer{err: m.admit(s, c.session < m.passed)}
	case "cancel":
		return s.cancelled(c.session < m.passed)
	case "watermark":
		m.watermark(c.session)
		return modelAnswer{}
	case "fence":
		m.fence(c.accessor)
		return modelAnswer{}
	case "reopen":
		return modelAnswer{err: m.reopen()}
	case "stop":
		return modelAnswer{err: m.stop()}
	case "deliver":
		return modelAnswer{delivered: m.deliver(c.accessor, c.session)}
	case "waiting":
		return modelAnswer{waits: m.waits[c.accessor]}
	case "reuse":
		if m.holds(c.region) {
			return modelAnswer{err: "refused"}
		}
		return modelAnswer{}
	case "look":
		return modelAnswer{seen: s.look()}
	case "close":
		return modelAnswer{err: s.close(c.session < m.passed)}
	}
	needsPiece := c.do == "seal" || c.do == "finish" || c.do == "fail_send" || c.do == "report"
	if !owned || needsPiece && s.piece == "" || c.unnamed {
		return modelAnswer{err: "stale"}
	}
	return modelAnswer{err: m.stepOwned(s, c)}
}

// stepOwned is a call about a session that is owned.
func (m *model) stepOwned(s *modelSession, c modelCall) string {
	switch c.do {
	case "add_piece":
		return m.addPiece(s, c.session%modelRegions)
	case "seal":
		return s.seal()
	case "finish":
		if s.gate != "PUBLISHING" {
			return "reject"
		}
		s.gate = "SEALED"
		s.succeed()
	case "fail_send":
		return s.failSend(c.exposed)
	case "report":
		return m.report(s, c.accessor, c.says)
	case "ack":
		return s.ack(c.accessor)
	case "fail":
		s.end("FAILED")
	case "complete":
		return s.finishAdding()
	}
	return ""
}

// watermark: the requests below it are over, tombstones and outcomes too; what is
// owned stays (§5, §7). It never goes back.
func (m *model) watermark(below int) {
	m.passed = max(m.passed, below)
	for i := range m.sessions[:m.passed] {
		if s := &m.sessions[i]; s.life == "owned" {
			s.buried = false
		} else {
			*s = modelSession{}
		}
	}
}

// admit: closed before reject (§11); a tombstone makes it CANCELLED from birth,
// however often it is created (§7), but not while it is owned (§3).
func (m *model) admit(s *modelSession, passed bool) string {
	switch {
	case m.stopped, m.quarantined(), passed:
		return "closed"
	case s.life == "owned", s.life == "closed" && !s.buried:
		return "reject"
	}
	*s = modelSession{life: "owned", buried: s.buried, outcome: "ACTIVE"}
	if s.buried {
		s.outcome = "CANCELLED"
	}
	return ""
}

func (m *model) addPiece(s *modelSession, region int) string {
	switch {
	case m.stopped, m.quarantined(), s.complete, s.outcome != "ACTIVE":
		return "closed"
	case s.piece != "":
		return "reject"
	case m.holds(region):
		return "refused"
	}
	s.piece, s.gate = "ACTIVE", "OPEN"
	for i := range s.claims {
		s.claims[i] = modelClaim{state: "UNPUBLISHED"}
	}
	return ""
}

func (s *modelSession) seal() string {
	switch {
	case s.outcome != "ACTIVE", s.complete:
		return "closed"
	case s.gate != "OPEN":
		return "reject"
	}
	s.gate = "PUBLISHING"
	for i := range s.claims {
		s.claims[i].state = "PUBLISHED"
	}
	return ""
}

// failSend: nobody who gave evidence can be excluded (§4).
func (s *modelSession) failSend(exposed [modelAccessors]bool) string {
	if s.gate != "PUBLISHING" {
		return "reject"
	}
	for i, c := range s.claims {
		if !exposed[i] && !c.fenced && c.state != "PUBLISHED" {
			return s.conflict()
		}
	}
	s.gate = "SEALED"
	for i := range s.claims {
		if c := &s.claims[i]; !exposed[i] && !c.fenced {
			c.state = "SAFE_UNPUBLISHED"
		}
	}
	s.end("FAILED")
	return ""
}

// report is a RESULT, by the tables of §2.
func (m *model) report(s *modelSession, a int, says string) string {
	c := &s.claims[a]
	if c.fenced {
		return "stale"
	}
	switch c.state + " " + says {
	case "PUBLISHED ok":
		c.state, c.verdict = "DRAINED", "ok"
		s.succeed()
	case "PUBLISHED failed":
		c.state, c.verdict = "DRAINED", "failed"
		s.end("FAILED")
	case "PUBLISHED in_doubt", "DRAINED in_doubt":
		c.state = "IN_DOUBT"
		m.doubted[a] = true
		s.end("FAILED")
	case "IN_DOUBT failed_quiesced":
		c.state = "FAILED_QUIESCED"
	case "DRAINED ok", "DRAINED failed":
		if c.verdict != says {
			return s.conflict()
		}
	case "IN_DOUBT failed", "FAILED_QUIESCED failed", "IN_DOUBT in_doubt", "FAILED_QUIESCED in_doubt", "FAILED_QUIESCED failed_quiesced":
		// no proof, or nothing new
	default:
		return s.conflict()
	}
	return ""
}

// ack is a SESSION_QUIESCED (§8): an ACTIVE session is judged first, then a name
// that a fence ended, then the gate.
func (s *modelSession) ack(a int) string {
	switch c := &s.claims[a]; {
	case s.outcome == "ACTIVE", s.piece == "":
	case c.fenced:
		return "stale"
	case s.gate != "PUBLISHING" && c.state == "PUBLISHED":
		c.state = "FAILED_QUIESCED"
	}
	return ""
}

// fence is proof for every claim of the accessor, and ends its names (§3).
func (m *model) fence(a int) {
	m.doubted[a] = false
	m.waits[a] = [modelSessions]bool{} // §8: what waits for it is discarded
	for i := range m.sessions {
		s := &m.sessions[i]
		if s.life != "owned" || s.piece == "" {
			continue
		}
		c := &s.claims[a]
		c.fenced = true
		switch c.state {
		case "UNPUBLISHED":
			c.state = "SAFE_UNPUBLISHED"
			s.end("FAILED")
		case "PUBLISHED", "IN_DOUBT":
			c.state = "FAILED_QUIESCED"
			s.end("FAILED")
		}
	}
}

// cancelled: an attempt that was never admitted leaves a tombstone, unless the
// watermark has passed it (§7).
func (s *modelSession) cancelled(passed bool) modelAnswer {
	if passed && s.life != "owned" {
		return modelAnswer{physical: "RETIRED"}
	}
	if s.life == "" {
		s.buried = true
		return modelAnswer{outcome: "CANCELLED", physical: "RETIRED"}
	}
	if s.life == "owned" {
		s.end("CANCELLED")
	}
	return modelAnswer{outcome: s.outcome, physical: s.physical()}
}

func (s *modelSession) physical() string {
	if s.life != "owned" || s.piece == "" {
		return "RETIRED"
	}
	for _, c := range s.claims {
		if c.state == "IN_DOUBT" || s.invalid {
			return "IN_DOUBT"
		}
	}
	if s.drained() {
		return "RETIRED"
	}
	return "DRAINING"
}

func (s *modelSession) drained() bool {
	for _, c := range s.claims {
		if c.state != "SAFE_UNPUBLISHED" && c.state != "FAILED_QUIESCED" && c.state != "DRAINED" {
			return false
		}
	}
	return !s.invalid && (s.gate == "SEALED" || s.gate == "ABORTED")
}

func (s *modelSession) finishAdding() string {
	switch {
	case s.outcome != "ACTIVE", s.complete:
		return ""
	case s.piece == "", s.gate == "OPEN":
		return "reject"
	}
	s.complete = true
	s.succeed()
	return ""
}

func (s *modelSession) close(passed bool) string {
	switch {
	case s.life == "" && passed:
		return ""
	case s.life == "":
		return "stale"
	case s.life == "owned" && (s.outcome == "ACTIVE" || s.piece != "" && !s.drained()):
		return "refused"
	}
	s.release(passed)
	return ""
}

// release keeps the outcome, unless the watermark has passed the request.
func (s *modelSession) release(passed bool) {
	s.life = "closed"
	if passed {
		*s = modelSession{}
	}
}

// succeed: every claim DRAINED with OK, and the fan-out over (§4); a session
// once it is complete (§5).
func (s *modelSession) succeed() {
	all := s.gate == "SEALED" && !s.invalid
	for _, c := range s.claims {
		all = all && c.state == "DRAINED" && c.verdict == "ok"
	}
	if all && s.piece == "ACTIVE" {
		s.piece = "SUCCEEDED"
	}
	if s.piece == "SUCCEEDED" && s.complete && s.outcome == "ACTIVE" {
		s.outcome = "SUCCEEDED"
	}
}

// end is a terminal outcome of the session, which reaches its piece (§5).
func (s *modelSession) end(how string) {
	if s.outcome == "ACTIVE" {
		s.outcome = how
	}
	if s.piece == "ACTIVE" {
		s.piece = s.outcome
	}
	if s.gate != "OPEN" {
		return
	}
	s.gate = "ABORTED"
	for i := range s.claims {
		if s.claims[i].state == "UNPUBLISHED" {
			s.claims[i].state = "SAFE_UNPUBLISHED"
		}
	}
}

func (s *modelSession) conflict() string {
	s.invalid = true
	s.end("FAILED")
	return "conflict"
}

func (s *modelSession) look() modelView {
	if s.life != "owned" {
		return modelView{}
	}
	v := modelView{outcome: s.outcome, piece: s.piece, gate: s.gate, invalid: s.invalid}
	for i, c := range s.claims {
		v.claims[i] = c.state
	}
	return v
}
