// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// index is what GET / answers.
const index = `kvxfer endpoint
GET  /snapshot  what is owned and why, as JSON
GET  /explain   the same in words
GET  /metrics   counters and ages of doubt, Prometheus text format
GET  /fence     what a fence demands; accessor, scope, and perhaps incarnation in the query
POST /fence     fence an accessor, on the word of whoever asks
POST /reopen    lift a quarantine
`

// Reopened is the answer to a successful POST /reopen.
type Reopened struct {
	Before  string   `json:"before"`            // admission until then
	Doubted []string `json:"doubted,omitempty"` // whom the quarantine remembered
	After   string   `json:"after"`             // admission now; another doubt may have closed it again
}

// failure is the body of every answer that is an error.
type failure struct {
	Error string `json:"error"`
	Kind  string `json:"kind,omitempty"` // of the ownership error
}

// Handler serves the paths of the package's text for one endpoint. To serve
// several, put each under a prefix with http.StripPrefix.
func Handler(e *transfer.Endpoint) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		begin(w, "text/plain; charset=utf-8", http.StatusOK)
		_, _ = w.Write([]byte(index))
	})
	mux.HandleFunc("GET /snapshot", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, e.Explain()) })
	mux.HandleFunc("GET /explain", func(w http.ResponseWriter, _ *http.Request) {
		report := e.Explain()
		begin(w, "text/plain; charset=utf-8", http.StatusOK)
		_ = report.WriteText(w) // a reader that is gone
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		metrics := e.Metrics()
		begin(w, "text/plain; version=0.0.4; charset=utf-8", http.StatusOK)
		_ = WriteMetrics(w, e.Name(), metrics)
	})
	mux.HandleFunc("GET /fence", func(w http.ResponseWriter, r *http.Request) { demand(w, r, e) })
	mux.HandleFunc("POST /fence", func(w http.ResponseWriter, r *http.Request) { fenceOf(w, r, e) })
	mux.HandleFunc("POST /reopen", func(w http.ResponseWriter, _ *http.Request) { reopen(w, e) })
	return mux
}

func reopen(w http.ResponseWriter, e *transfer.Endpoint) {
	before := e.Explain().Admission
	if err := e.Reopen(); err != nil {
		refuse(w, err)
		return
	}
	after, _ := e.Admission()
	answer(w, http.StatusOK, Reopened{Before: before.State, Doubted: before.Doubted, After: after.String()})
}

// refuse answers that the endpoint will not.
func refuse(w http.ResponseWriter, err error) {
	f := failure{Error: err.Error()}
	var refused *ownership.Error
	switch {
	case errors.As(err, &refused):
		f.Kind = refused.Kind.String()
	default:
		for kind, is := range kinds {
			if errors.Is(err, is) {
				f.Kind = kind
			}
		}
	}
	answer(w, http.StatusConflict, f)
}

func begin(w http.ResponseWriter, contentType string, status int) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
}

func answer(w http.ResponseWriter, status int, v any) {
	begin(w, "application/json", status)
	_ = json.NewEncoder(w).Encode(v) // a reader that is gone
}
