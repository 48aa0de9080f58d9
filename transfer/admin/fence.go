// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/kvxfer/kvxfer/fence"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// kinds are the errors of a fence, by what the answer calls them.
var kinds = map[string]error{
	"not_proven":       fence.ErrNotProven,
	"evidence":         fence.ErrEvidence,
	"no_peer":          transfer.ErrNoPeer,
	"invalid_argument": transfer.ErrConfig,
}

// Target is what a fence is about.
type Target struct {
	Accessor    string `json:"accessor"`
	Incarnation string `json:"incarnation,omitempty"` // 32 hexadecimal digits; empty: all of its lives
	Scope       string `json:"scope"`                 // own, passive or all
}

func (t Target) spec() (ownership.FenceSpec, error) {
	spec := ownership.FenceSpec{Accessor: ownership.Accessor(t.Accessor)}
	for _, s := range []ownership.Scope{ownership.Own, ownership.Passive, ownership.All} {
		if s.String() == t.Scope {
			spec.Scope = s
		}
	}
	if spec.Scope == 0 {
		return spec, &transfer.Error{What: "fence of " + t.Accessor, Kind: transfer.ErrConfig, Err: fmt.Errorf("scope %q: give own, passive or all", t.Scope)}
	}
	if t.Incarnation == "" {
		return spec, nil
	}
	life, err := hex.DecodeString(t.Incarnation)
	if err != nil || len(life) != len(spec.Incarnation) {
		return spec, &transfer.Error{What: "fence of " + t.Accessor, Kind: transfer.ErrConfig, Err: fmt.Errorf("incarnation %q: give its %d hexadecimal digits", t.Incarnation, 2*len(spec.Incarnation))}
	}
	copy(spec.Incarnation[:], life)
	return spec, nil
}

// Demand is what an operator has to have checked.
type Demand struct {
	Transport string `json:"transport"`
	Facts     []Fact `json:"facts"`
}

// Fact is one thing to be checked; see fence.Fact.
type Fact struct {
	Name    string `json:"name"`    // process, context or region
	Meaning string `json:"meaning"` // in words
}

// FenceOrder is the body of POST /fence: a fence, whose word it is on, and for each fact how
// it was checked.
type FenceOrder struct {
	Target
	By      string            `json:"by"`
	Checked map[string]string `json:"checked"`
}

// Fenced is the answer to a successful POST /fence.
type Fenced struct {
	Target
	Evidence string   `json:"evidence"` // what is on record
	Freed    int      `json:"freed"`    // claims
	Retained []string `json:"retained"` // what the accessor holds still, beyond the scope
}

func demand(w http.ResponseWriter, r *http.Request, e *transfer.Endpoint) {
	q := r.URL.Query()
	spec, err := Target{Accessor: q.Get("accessor"), Incarnation: q.Get("incarnation"), Scope: q.Get("scope")}.spec()
	if err != nil {
		refuse(w, err)
		return
	}
	facts, transport, err := e.FenceDemand(spec)
	if err != nil {
		refuse(w, err)
		return
	}
	d := Demand{Transport: transport}
	for _, f := range facts {
		d.Facts = append(d.Facts, Fact{f.String(), f.Meaning()})
	}
	answer(w, http.StatusOK, d)
}

// maxOrder bounds what is read of an order.
const maxOrder = 64 << 10

func fenceOf(w http.ResponseWriter, r *http.Request, e *transfer.Endpoint) {
	var order FenceOrder
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxOrder))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&order); err != nil {
		answer(w, http.StatusBadRequest, failure{Error: "admin: the order is not readable: " + err.Error()})
		return
	}
	done, err := fenceBy(e, &order)
	if err != nil {
		refuse(w, err)
		return
	}
	a := Fenced{Target: order.Target, Evidence: done.Evidence, Freed: done.Freed, Retained: []string{}}
	for _, r := range done.Retained {
		a.Retained = append(a.Retained, r.String())
	}
	answer(w, http.StatusOK, a)
}

func fenceBy(e *transfer.Endpoint, order *FenceOrder) (transfer.Fenced, error) {
	spec, err := order.spec()
	if err != nil {
		return transfer.Fenced{}, err
	}
	said := fence.Statement{
		Who: order.By, Checked: map[fence.Fact]string{},
		Own: spec.Scope != ownership.Passive, Passive: spec.Scope != ownership.Own,
	}
	for name, text := range order.Checked {
		f, err := fence.ParseFact(name)
		if err != nil {
			return transfer.Fenced{}, err
		}
		said.Checked[f] = text
	}
	return e.FenceBy(spec, said)
}

// FenceDemand asks what an operator has to have checked for a fence. The error is an *Error
// that matches ErrUnreachable, ErrAnswer, or ErrRefused and then also transfer.ErrNoPeer or
// transfer.ErrConfig.
func (c *Client) FenceDemand(ctx context.Context, t Target) (Demand, error) {
	q := url.Values{"accessor": {t.Accessor}, "scope": {t.Scope}}
	if t.Incarnation != "" {
		q.Set("incarnation", t.Incarnation)
	}
	var d Demand
	err := c.ask(ctx, http.MethodGet, "/fence?"+q.Encode(), nil, &d)
	if err == nil && d.Transport == "" {
		err = &Error{Addr: c.addr, Kind: ErrAnswer}
	}
	return d, err
}

// Fence fences an accessor on somebody's word. Nothing has happened where the error, an
// *Error, matches ErrRefused; it then also matches fence.ErrNotProven,
// fence.ErrEvidence, transfer.ErrNoPeer or transfer.ErrConfig. It is unknown whether it has
// where it matches ErrUnreachable or ErrAnswer: ask, or do it again.
func (c *Client) Fence(ctx context.Context, order FenceOrder) (Fenced, error) {
	body, err := json.Marshal(order)
	if err != nil {
		return Fenced{}, err
	}
	var done Fenced
	err = c.ask(ctx, http.MethodPost, "/fence", strings.NewReader(string(body)), &done)
	if err == nil && done.Scope == "" {
		err = &Error{Addr: c.addr, Kind: ErrAnswer}
	}
	return done, err
}

// ask reads one JSON object.
func (c *Client) ask(ctx context.Context, method, path string, body io.Reader, into any) error {
	answer, err := c.do(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Close() }()
	if err := json.NewDecoder(answer).Decode(into); err != nil {
		return &Error{Addr: c.addr, Kind: ErrAnswer, Err: err}
	}
	return nil
}
