// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"
)

// The owned path: two endpoints in two processes, with a control stream between
// them. The target asks, for a WRITE with Receive and for a READ with Offer; the
// initiator answers, and posts. Its processes know these lines:
//
//	run OP LEN COUNT STRIDE TRANSFERS WINDOW -> ok CPU WALL WHOLE...    (target)
//	took                                     -> ok CPU POST-TO-DONE...  (initiator, since the last time)
//	cpu                                      -> ok CPU                  (since the start)

// roles of this program as a second process.
const (
	roleInitiator = "initiator"
	roleTarget    = "target"
)

// owned is a pair of endpoints.
type owned struct{ initiator, target *process }

func startOwned(env []string, self, library, transport string) (o *owned, err error) {
	var id [16]byte
	_, _ = rand.Read(id[:])
	address := "unix-abstract:kvxfer-bench-" + hex.EncodeToString(id[:])
	o = &owned{}
	if o.initiator, err = start("owned initiator", env, self, roleInitiator, library, transport, address); err != nil {
		return nil, err
	}
	if _, err = o.initiator.answer(); err != nil { // it listens
		o.initiator.close()
		return nil, err
	}
	if o.target, err = start("owned target", env, self, roleTarget, library, transport, address); err == nil {
		if _, err = o.target.answer(); err != nil {
			o.target.close()
		}
	}
	if err != nil {
		o.initiator.close()
		return nil, err
	}
	return o, nil
}

func (o *owned) run(w work) (s sample, err error) {
	if _, err := o.initiator.ask("took"); err != nil {
		return s, err
	}
	whole, err := numbers(o.target.ask("run %s %d %d %d %d %d", w.op, w.len, w.count, w.stride, w.transfers, w.window))
	if err != nil {
		return s, err
	}
	took, err := numbers(o.initiator.ask("took"))
	if err != nil {
		return s, err
	}
	s = sample{cpu: whole[0] + took[0], wall: whole[1], took: took[1:], whole: whole[2:]}
	if len(s.took) != w.transfers || len(s.whole) != w.transfers {
		err = fmt.Errorf("owned: %d and %d times of %d transfers", len(s.took), len(s.whole), w.transfers)
	}
	return s, err
}

// idle is the share of a core that both processes use while nothing is in flight.
func (o *owned) idle(watched time.Duration) (shares [2]float64, err error) {
	var before [2]time.Duration
	for round := range 2 {
		for i, p := range []*process{o.initiator, o.target} {
			got, err := numbers(p.ask("cpu"))
			if err != nil {
				return shares, err
			}
			if round == 0 {
				before[i] = got[0]
			} else {
				shares[i] = float64(got[0]-before[i]) / float64(watched)
			}
		}
		if round == 0 {
			time.Sleep(watched)
		}
	}
	return shares, nil
}

func (o *owned) close() {
	o.initiator.close()
	o.target.close()
}
