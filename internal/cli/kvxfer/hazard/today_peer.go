// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package hazard

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/blocks"
	"github.com/kvxfer/kvxfer/internal/proc"
)

// Job tells the second process what to be. It is the first line it reads.
type Job struct {
	Half      string `json:"half"` // halfToday or halfOwned
	Library   string `json:"library"`
	Transport string `json:"transport"`
	Op        Op     `json:"op"`
	Seed      uint64 `json:"seed"` // of the content that a READ moves
	Bytes     int64  `json:"bytes"`
	Pieces    int    `json:"pieces"` // descriptors that Bytes is cut into
	Control   string `json:"control,omitempty"`
}

const (
	halfToday = "today"
	halfOwned = "owned"
)

// ready is the peer's first answer: how to reach its buffer.
type ready struct {
	Metadata []byte `json:"metadata,omitempty"`
	Addr     uint64 `json:"addr,omitempty"`
	Error    string `json:"error,omitempty"`
}

// counted is the peer's last answer: what its buffer holds.
type counted struct {
	Map   []blocks.Origins `json:"map"`
	Error string           `json:"error,omitempty"`
}

// count is the parent's order to look.
type count struct {
	Count bool `json:"count"`
}

const (
	senderName   = "prefill"
	receiverName = "decode"
)

// serveToday is the second process of the unsafe half: it offers a buffer, lets the
// library progress, and counts when it is told to.
func serveToday(ctx context.Context, job Job, parent *proc.Lines) error {
	agent, err := newRawAgent(job.Op.peer(), job.Library, job.Transport, job.Bytes)
	if err != nil {
		return errors.Join(err, parent.Send(ready{Error: err.Error()}))
	}
	defer func() { _ = agent.close() }()
	md, code := agent.api.LocalMD(agent.agent)
	if code != 0 {
		return errors.Join(failed("get_local_md", code), parent.Send(ready{Error: failed("get_local_md", code).Error()}))
	}
	if job.Op == Read {
		job.Op.fillSource(agent.counted(), job.Seed)
	}
	if err := parent.Send(ready{Metadata: md, Addr: uint64(agent.buffer.Addr())}); err != nil {
		return err
	}
	order := make(chan error, 1)
	go func() { var c count; order <- parent.Recv(ctx, &c) }()
	for {
		if err := agent.progress(); err != nil {
			return errors.Join(err, parent.Send(counted{Error: err.Error()}))
		}
		select {
		case err := <-order:
			if err != nil {
				return fmt.Errorf("hazard: the first process is gone: %w", err)
			}
			return parent.Send(counted{Map: mapOf(agent.counted(), job.Pieces)})
		case <-ctx.Done():
			return context.Cause(ctx)
		default:
			runtime.Gosched()
		}
	}
}

// mapOf counts each piece of a buffer.
func mapOf(buf []byte, pieces int) []blocks.Origins {
	each := len(buf) / pieces
	out := make([]blocks.Origins, pieces)
	for i := range out {
		out[i] = blocks.CountOrigins(buf[i*each : (i+1)*each])
	}
	return out
}

func sum(m []blocks.Origins) blocks.Origins {
	var t blocks.Origins
	for _, o := range m {
		t.Own += o.Own
		t.Foreign += o.Foreign
		t.Other += o.Other
	}
	return t
}
