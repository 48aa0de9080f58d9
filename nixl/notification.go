// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import "fmt"

// Notification is a message from a peer. One that a request carries arrives
// after the request's data is in place, and never before.
type Notification struct {
	Peer    string
	Message []byte
}

// Notifications returns what arrived since the last call and lets NIXL do
// work that belongs to no request of ours, such as a peer's writes. Without a
// progress thread call it regularly.
func (a *Agent) Notifications() ([]Notification, error) {
	if err := a.enter(); err != nil {
		return nil, err
	}
	defer a.life.RUnlock()
	a.notif.Lock()
	defer a.notif.Unlock()
	raw, code := a.lib.api.TakeNotifs(a.handle, a.notes)
	if err := check("get_notifs", a.name, code); err != nil {
		return nil, err
	}
	if len(raw) == 0 {
		return nil, nil
	}
	out := make([]Notification, len(raw))
	for i, n := range raw {
		out[i] = Notification{Peer: n.Agent, Message: n.Message}
	}
	return out, nil
}

// Notify sends a message to a peer, apart from any request.
func (a *Agent) Notify(peer string, message []byte) error {
	if len(message) == 0 {
		return fmt.Errorf("%w: empty notification", ErrArgument)
	}
	if err := a.enter(); err != nil {
		return err
	}
	defer a.life.RUnlock()
	return check("gen_notif", peer, a.lib.api.GenNotif(a.handle, peer, message))
}
