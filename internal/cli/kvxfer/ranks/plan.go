// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package ranks runs the ranks of a group as processes that share requests
// through etcd, and judges what they did: the work of "kvxfer ranks" and of the
// fault runs.
package ranks

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"time"

	"github.com/kvxfer/kvxfer/cluster"
	"github.com/kvxfer/kvxfer/ownership"
)

// Access is how a process reaches etcd.
type Access struct {
	Endpoints                 []string
	CertFile, KeyFile, CAFile string // TLS; empty: none, or the system's roots for https
	Username, Password        string
}

// TLS returns the configuration that the files give; nil where none is named.
func (a Access) TLS() (*tls.Config, error) {
	if a.CAFile == "" && a.CertFile == "" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS13}
	if a.CAFile != "" {
		pem, err := os.ReadFile(a.CAFile)
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s: no certificate in it", a.CAFile)
		}
	}
	if a.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(a.CertFile, a.KeyFile)
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// Plan is what one rank's process is to do. It is the first line that it reads.
type Plan struct {
	Group       string
	Rank, Ranks int
	Etcd        Access
	Embedded    string // data directory of the etcd server inside of this process; empty: none
	Lease       time.Duration
	Mix         Mix
	Hold        time.Duration // from a request's begin to its end
	Drain       time.Duration // from its end to the last access of the hardware
	Folder      string        // of the histories
	FailAt      string        // a step of the protocol at which the process ends itself; empty: none
	FailAfter   int           // at the so-manieth time that it comes there
}

// Ending is how a request is to end. The zero value is none.
type Ending uint8

// The endings.
const (
	Success Ending = iota + 1
	Failure
	Cancel
)

// String returns the ending in lower case.
func (e Ending) String() string {
	switch e {
	case Success:
		return "success"
	case Failure:
		return "failure"
	case Cancel:
		return "cancel"
	}
	return fmt.Sprintf("Ending(%d)", uint8(e))
}

// Mix is how many of a hundred requests fail and are cancelled; the others succeed.
type Mix struct{ Fail, Cancel int }

// Of says how request n ends. Every process says the same.
func (m Mix) Of(n int) Ending {
	switch k := n * 61 % 100; { // 61 and 100 share no factor: a hundred neighbours give a hundred values
	case k < m.Fail:
		return Failure
	case k < m.Fail+m.Cancel:
		return Cancel
	}
	return Success
}

// origin is the rank on which a request that does not succeed ends first.
func origin(n, ranks int) int { return n % ranks }

func session(n int) ownership.SessionName {
	return ownership.SessionName{Request: ownership.RequestID{Endpoint: "router", Number: uint64(n)}, Attempt: 1}
}

// command is what the router tells a process.
type command struct {
	// Open: the requests from From up to and without To begin.
	From, To int
	Epoch    cluster.Revision
	// AskEpoch waits until all ranks have joined.
	AskEpoch bool
	// Fence is to be written.
	Fence *fenceOrder
	// Finish: wait until nothing is held, for so long at most, and report.
	Finish time.Duration
	Quit   bool
}

type fenceOrder struct {
	Rank              int
	Life              string
	Kind, Checked, By string
}

// answer is what a process tells the router.
type answer struct {
	Joined *Joined
	Epoch  cluster.Revision
	Report *Report
	Error  string
}

// Joined is a process that has become a rank.
type Joined struct {
	Life string
	URL  string // of the etcd server inside of it
}

// Report is what a process still holds, and what it wrote.
type Report struct {
	Rank     int
	Life     string
	Standing string
	Retained []Retained
	Counters cluster.Counters
	Ticks    uint64 // that there was room for
}

// Retained is a request that waits for proof.
type Retained struct {
	Session string
	Waits   []string
}
