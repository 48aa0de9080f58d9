// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"time"

	"github.com/kvxfer/kvxfer/ownership/explain"
)

// Explain says for each region why it is still owned: which accessor, since
// when, which event, and what proof would free it. Like Snapshot it takes time
// in proportion to what is owned.
func (e *Endpoint) Explain() *explain.Report {
	elapsed, taken := e.now(), time.Now()
	return explain.Of(explain.Endpoint{
		Name: e.config.Name, Incarnation: e.Incarnation(), Taken: taken, Elapsed: elapsed,
	}, e.registry.Snapshot())
}
