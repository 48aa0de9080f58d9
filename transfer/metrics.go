// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"time"

	"github.com/kvxfer/kvxfer/ownership"
)

// Metric is one number about an endpoint, ready for any metrics library. It is
// plain data with a JSON form, so that expvar can publish it as well.
type Metric struct {
	// Name is a Prometheus name: kvxfer_, what is counted, its unit, and _total
	// for what only grows.
	Name  string  `json:"name"`
	Help  string  `json:"help"` // one line
	Kind  Kind    `json:"kind"`
	Value float64 `json:"value"`
	// Label and LabelValue tell several metrics of one name apart; empty where
	// there is one only.
	Label      string `json:"label,omitempty"`
	LabelValue string `json:"label_value,omitempty"`
}

// Kind says how a metric moves.
type Kind string

// The kinds, by their Prometheus names.
const (
	Counter Kind = "counter" // grows until the endpoint is made anew
	Gauge   Kind = "gauge"
)

// Metrics returns the counters, the state of admission, and who is in doubt for
// how long. Metrics of one name follow each other. It costs less than a
// Snapshot: time in proportion to what is owned only by sessions with an
// accessor in doubt.
func (e *Endpoint) Metrics() []Metric {
	m := make(metrics, 0, 40)
	counters := e.Counters()
	m.ownership(counters.Counters)
	m.runtime(counters)
	m.admission(e.registry.Admission())
	m.clock(e.now(), e.registry.Doubts(), e.registry.NextDeadline)
	return m
}

type metrics []Metric

func (m *metrics) counter(name string, value uint64, help string) {
	*m = append(*m, Metric{Name: "kvxfer_" + name + "_total", Help: help, Kind: Counter, Value: float64(value)})
}

func (m *metrics) gauge(name string, value float64, help string) {
	*m = append(*m, Metric{Name: "kvxfer_" + name, Help: help, Kind: Gauge, Value: value})
}

func (m *metrics) ownership(c ownership.Counters) {
	m.counter("pieces_admitted", c.Admitted, "pieces that took ownership of memory")
	m.counter("pieces_released", c.Released, "pieces that gave their memory back, on proof")
	m.gauge("pieces_owned", float64(c.Owners), "pieces that own memory now")
	m.gauge("pieces_unproven", float64(c.Retained), "owned pieces for which proof is missing now")
	m.gauge("sessions", float64(c.Sessions), "sessions that are not closed")
	m.gauge("outbox_messages", float64(c.Outbox), "reports that wait for peers")
	m.gauge("tombstones", float64(c.Tombstones), "cancelled attempts that were not admitted yet")
	m.gauge("kept_requests", float64(c.Requests), "peers' requests that wait for an answer")
	m.gauge("remembered_requests", float64(c.Records), "request ids that are remembered until their creator's watermark passes them")
	m.counter("requests_dropped", c.RequestsDropped, "peers' requests that found the table full")
	m.counter("stale_evidence", c.Stale, "evidence under a name that is not current; it changed nothing")
	m.counter("duplicate_evidence", c.Duplicates, "evidence that said what was known")
	m.counter("ignored_evidence", c.Ignored, "evidence that carried no proof")
	m.counter("conflicts", c.Conflicts, "contradictory evidence; its pieces are never released")
	m.counter("later_causes", c.LaterCauses, "outcomes that came after the first")
	m.counter("foreign_reports", c.Foreign, "reports that claimed to come from another accessor")
	m.gauge("contained", float64(c.Contained), "1 after the containment callback was called")
}

func (m *metrics) runtime(c Counters) {
	m.counter("repeated_messages", c.RepeatedMessages, "messages whose number had come before")
	m.counter("foreign_messages", c.ForeignMessages, "messages that named a party their stream does not stand for, or were about others' sessions")
	m.counter("protocol_violations", c.ProtocolViolations, "streams ended because the peer sent what no endpoint sends")
	m.counter("undeliverable_reports", c.UndeliverableReports, "reports for a life of a peer that is gone")
	m.counter("requests_turned_away", c.RequestsTurnedAway, "peers' requests that found no room, or their name taken")
	m.counter("foreign_notifications", c.ForeignNotifications, "notifications of the backend that were not of this protocol, or not from whom they named")
	m.counter("lost_events", c.LostEvents, "events that a slow Observe or Log did not get")
	m.counter("failed_handshakes", c.FailedHandshakes, "streams that could not be attached")
	m.counter("progress_errors", c.ProgressErrors, "errors of the backend's progress call")
}

func (m *metrics) admission(now ownership.Admission) {
	for a := ownership.AdmissionOpen; a <= ownership.AdmissionFatal; a++ {
		value := 0.0
		if a == now {
			value = 1
		}
		*m = append(*m, Metric{Name: "kvxfer_admission", Help: "1 for the state of admission", Kind: Gauge, Value: value, Label: "state", LabelValue: a.String()})
	}
}

// clock adds the ages: how long doubts last, and how far away the next deadline is.
func (m *metrics) clock(now time.Duration, doubts []ownership.Doubt, next func() (time.Duration, bool)) {
	names, claims, oldest := make([]string, 0, len(doubts)), map[string]int{}, map[string]time.Duration{}
	for _, d := range doubts { // sorted; several lives of an accessor are one line
		name := string(d.Accessor)
		if _, known := claims[name]; !known {
			names = append(names, name)
		}
		claims[name] += d.Claims
		oldest[name] = max(oldest[name], now-d.Since)
	}
	for _, n := range names {
		*m = append(*m, Metric{Name: "kvxfer_claims_in_doubt", Help: "claims that only late proof or a fence can end", Kind: Gauge, Value: float64(claims[n]), Label: "accessor", LabelValue: n})
	}
	for _, n := range names {
		*m = append(*m, Metric{Name: "kvxfer_oldest_doubt_seconds", Help: "age of the oldest claim in doubt", Kind: Gauge, Value: oldest[n].Seconds(), Label: "accessor", LabelValue: n})
	}
	if deadline, runs := next(); runs {
		m.gauge("next_deadline_seconds", (deadline - now).Seconds(), "time until a request times out or missing proof becomes FATAL; absent while no clock runs")
	}
}
