// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ownership

// What the sequential model tells peers, and how it shuts down (contract §§7, 8).

// tell queues a CANCEL_SESSION for each accessor, once a session that FAILED or was
// CANCELLED has a live claim of it that is not fenced, behind a gate that has closed.
func (m *model) tell() {
	for i := range m.sessions {
		s := &m.sessions[i]
		if s.life != "owned" || s.outcome != "FAILED" && s.outcome != "CANCELLED" || s.gate == "PUBLISHING" {
			continue
		}
		for a := range s.claims {
			c := &s.claims[a]
			if live := c.state == "PUBLISHED" || c.state == "IN_DOUBT"; live && !c.fenced && !c.told {
				c.told = true
				m.waits[a][i] = true
			}
		}
	}
}

// deliver takes a message that was the oldest when it was looked at: nothing comes
// before it any more, so that it leaves, unless it has left.
func (m *model) deliver(accessor, session int) bool {
	waited := m.waits[accessor][session]
	m.waits[accessor][session] = false
	return waited
}

// stop cancels what is ACTIVE, and releases all or nothing; reports outlive close, and
// it is refused while any waits.
func (m *model) stop() string {
	m.stopped = true
	for i := range m.sessions {
		if s := &m.sessions[i]; s.life == "owned" && s.outcome == "ACTIVE" {
			s.end("CANCELLED")
		}
	}
	m.tell()
	for _, s := range m.sessions {
		if s.life == "owned" && s.piece != "" && !s.drained() {
			return "refused"
		}
	}
	if m.waits != [modelAccessors][modelSessions]bool{} {
		return "refused"
	}
	for i := range m.sessions {
		if s := &m.sessions[i]; s.life == "owned" {
			s.release(i < m.passed)
		}
	}
	return ""
}

// reopen strikes all out of the quarantine; shutdown is for good.
func (m *model) reopen() string {
	if m.stopped {
		return "closed"
	}
	m.doubted = [modelAccessors]bool{}
	return ""
}
