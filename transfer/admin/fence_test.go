// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package admin_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/fence"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/admin"
)

// A statement goes over the socket with its name, is judged there, and is on record;
// what was refused comes back as the error that it was.
func TestFenceOverASocket(t *testing.T) {
	e := newEndpoint(t, time.Hour)
	client, _, _ := serve(t, e.Endpoint)
	s := e.doubt()
	target := admin.Target{Accessor: "prefill-0", Incarnation: e.peer.Incarnation().String(), Scope: "passive"}
	demand, err := client.FenceDemand(t.Context(), target)
	must(t, err)
	if demand.Transport != "loop" || len(demand.Facts) != 3 || demand.Facts[0].Name != "process" || demand.Facts[0].Meaning == "" {
		t.Errorf("got %+v", demand)
	}
	order := admin.FenceOrder{Target: target, By: "ops", Checked: map[string]string{"process": "off", "context": "off"}}
	for _, tc := range []struct {
		change func(*admin.FenceOrder)
		want   error
	}{
		{func(*admin.FenceOrder) {}, fence.ErrNotProven},
		{func(o *admin.FenceOrder) { o.By = " " }, fence.ErrEvidence},
		{func(o *admin.FenceOrder) { o.Checked = map[string]string{"power": "off"} }, fence.ErrEvidence},
		{func(o *admin.FenceOrder) { o.Accessor, o.Incarnation = "nobody", "" }, transfer.ErrNoPeer},
		{func(o *admin.FenceOrder) { o.Scope = "" }, transfer.ErrConfig},
		{func(o *admin.FenceOrder) { o.Incarnation = "zz" }, transfer.ErrConfig},
	} {
		o := order
		tc.change(&o)
		if _, err := client.Fence(t.Context(), o); !errors.Is(err, tc.want) || !errors.Is(err, admin.ErrRefused) {
			t.Errorf("%+v: %v, want %v", o, err, tc.want)
		}
	}
	if _, err := client.FenceDemand(t.Context(), admin.Target{Accessor: "nobody", Scope: "all"}); !errors.Is(err, transfer.ErrNoPeer) {
		t.Errorf("the demand about a stranger: %v", err)
	}
	if r, err := client.Explain(t.Context()); err != nil || len(r.Fences) != 0 || r.Totals.Unproven != 1 {
		t.Fatalf("got %+v, %v", r, err)
	}
	order.Checked["region"] = "port down"
	done, err := client.Fence(t.Context(), order)
	must(t, err)
	if done.Target != target || done.Freed != 1 || len(done.Retained) != 0 || !strings.Contains(done.Evidence, "ops states: process: off; context: off; region: port down") {
		t.Errorf("got %+v", done)
	}
	must(t, s.Drain(t.Context()))
	r, err := client.Explain(t.Context())
	must(t, err)
	if len(r.Fences) != 1 || r.Fences[0].Evidence != done.Evidence || r.Fences[0].Incarnation != target.Incarnation || r.Admission.State != "OPEN" {
		t.Errorf("got %+v", r)
	}
}

// What a fence does not reach is told.
func TestFenceSaysWhatIsHeldStill(t *testing.T) {
	e := newEndpoint(t, time.Hour)
	client, _, _ := serve(t, e.Endpoint)
	s := e.doubt()
	done, err := client.Fence(t.Context(), admin.FenceOrder{
		Target: admin.Target{Accessor: "prefill-0", Scope: "own"}, By: "ops", Checked: map[string]string{"context": "reset", "region": "reset"},
	})
	if err != nil || done.Freed != 0 || len(done.Retained) != 1 || !strings.Contains(done.Retained[0], "claim of prefill-0 is IN_DOUBT") {
		t.Errorf("got %+v, %v", done, err)
	}
	e.fence(s)
}

// What is no order is refused before anything is judged.
func TestFenceOrdersThatAreNone(t *testing.T) {
	e := newEndpoint(t, time.Hour)
	_, _, path := serve(t, e.Endpoint)
	s := e.doubt()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	for name, body := range map[string]string{
		"empty": "", "text": "fence it", "another field": `{"accessor":"prefill-0","scope":"all","force":true}`,
		"long": `{"by":"` + strings.Repeat("x", 70<<10) + `"}`,
	} {
		answer, err := client.Post("http://x/fence", "application/json", bytes.NewBufferString(body))
		must(t, err)
		text, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "the order is not readable") {
			t.Errorf("%s: %d, %s", name, answer.StatusCode, text)
		}
	}
	if err := e.region.Reuse(); !errors.Is(err, ownership.ErrRefused) {
		t.Errorf("reuse: %v", err)
	}
	e.fence(s)
}
