// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/ownership/explain"
)

// Client asks an endpoint that a Server serves.
type Client struct {
	addr string
	http *http.Client
}

// NewClient returns a client for addr, which is "unix:PATH". It connects with
// the first call. The error is an *Error that matches ErrAddress.
func NewClient(addr string) (*Client, error) {
	path, err := socketPath(addr)
	if err != nil {
		return nil, err
	}
	var dialer net.Dialer
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return dialer.DialContext(ctx, "unix", path) }
	return &Client{addr: addr, http: &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}, nil
}

// Explain gets the report. The error is an *Error that matches ErrUnreachable
// or ErrAnswer.
func (c *Client) Explain(ctx context.Context) (*explain.Report, error) {
	body, err := c.do(ctx, http.MethodGet, "/snapshot", nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	r, err := explain.Read(body)
	if err != nil {
		return nil, &Error{Addr: c.addr, Kind: ErrAnswer, Err: err}
	}
	return r, nil
}

// Reopen lifts the quarantine. Where there is none it changes nothing. The error
// is an *Error that matches ErrUnreachable, ErrAnswer, or ErrRefused and then
// also ownership.ErrClosed, when the endpoint is stopping, or ownership.ErrFatal.
func (c *Client) Reopen(ctx context.Context) (Reopened, error) {
	var r Reopened
	err := c.ask(ctx, http.MethodPost, "/reopen", nil, &r)
	if err == nil && r.After == "" {
		err = &Error{Addr: c.addr, Kind: ErrAnswer}
	}
	return r, err
}

// maxFailure bounds what is read of an answer that is an error.
const maxFailure = 64 << 10

func (c *Client) do(ctx context.Context, method, path string, body io.Reader) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://kvxfer"+path, body)
	if err != nil {
		return nil, err
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, &Error{Addr: c.addr, Kind: ErrUnreachable, Err: cause(err)}
	}
	if answer.StatusCode == http.StatusOK {
		return answer.Body, nil
	}
	defer func() { _ = answer.Body.Close() }()
	var f failure
	if json.NewDecoder(io.LimitReader(answer.Body, maxFailure)).Decode(&f) != nil || f.Error == "" || answer.StatusCode != http.StatusConflict {
		return nil, &Error{Addr: c.addr, Kind: ErrAnswer, Why: method + " " + path + " gave " + answer.Status}
	}
	return nil, &Error{Addr: c.addr, Kind: ErrRefused, Err: &refusal{f}}
}

// refusal is an error of the endpoint's process.
type refusal struct{ answer failure }

// Error returns the words of the endpoint.
func (r *refusal) Error() string { return r.answer.Error }

// Is reports whether target is the sentinel of the kind.
func (r *refusal) Is(target error) bool {
	switch target {
	case ownership.ErrFatal:
		return r.answer.Kind == ownership.KindFatal.String()
	case ownership.ErrClosed:
		return r.answer.Kind == ownership.KindClosed.String()
	}
	kind, known := kinds[r.answer.Kind]
	return known && kind == target
}

// cause takes off what a reader of an address does not need: the request's URL,
// which is not one.
func cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
