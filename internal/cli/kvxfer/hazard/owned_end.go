// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package hazard

import (
	"errors"
	"time"

	nixlbackend "github.com/kvxfer/kvxfer/backend/nixl"
	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/meter"
	"github.com/kvxfer/kvxfer/memory"
	"github.com/kvxfer/kvxfer/nixl"
	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/transfer"
)

// The times of the owned half: our own wait is short, so that it runs out while
// the peer is stopped; proof then has as long as it takes.
const (
	ownWait        = 200 * time.Millisecond
	requestTimeout = 30 * time.Second
	grace          = 30 * time.Second
)

// ownedEnd is one endpoint of the owned half, made as any user would make it.
type ownedEnd struct {
	job     *Job
	ep      *transfer.Endpoint
	meter   *meter.Backend
	data    *memory.Arena // the counted region
	spare   *memory.Arena // the uncounted one
	regions map[string]*transfer.Region
}

func newOwnedEnd(name string, job *Job, contain func(ownership.Containment) error, observe func(transfer.Event)) (_ *ownedEnd, err error) {
	e := &ownedEnd{job: job, regions: map[string]*transfer.Region{}}
	if e.data, err = memory.New(memory.Spec{Len: int(job.Bytes), HugePages: true, Prefault: true}); err != nil {
		return nil, err
	}
	if e.spare, err = memory.New(memory.Spec{Len: tail}); err != nil {
		return nil, err
	}
	transport, err := nixl.ParseTransport(job.Transport)
	if err != nil {
		return nil, err
	}
	lib, err := nixl.Open(nixl.Options{Library: job.Library})
	if err != nil {
		return nil, err
	}
	b, err := nixlbackend.New(nixlbackend.Config{Name: name, Library: lib, Transport: transport, Device: "lo"})
	if err != nil {
		return nil, err
	}
	e.meter = meter.New(b)
	e.ep, err = transfer.New(transfer.Config{
		Name: name, Backend: e.meter, Contain: contain, Observe: observe,
		RequestTimeout: requestTimeout, Grace: grace, OperationWait: ownWait,
		Quarantine: ownership.QuarantineOff, // the doubt is made on purpose
	})
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	for region, arena := range map[string]*memory.Arena{regionCounted: e.data, regionUncounted: e.spare} {
		if e.regions[region], err = e.ep.Register(region, arena); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// blocks cuts the counted region into the same descriptors as the unsafe half.
func (e *ownedEnd) blocks(region string) []transfer.Block {
	if region != regionCounted {
		return nil
	}
	out := make([]transfer.Block, e.job.Pieces)
	for i, d := range split(0, uint64(e.job.Bytes), e.job.Pieces) {
		out[i] = transfer.Block{Offset: d.Addr, Len: d.Len}
	}
	return out
}
