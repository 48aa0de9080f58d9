// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

//go:build cgo && linux

package health

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// wanted are the events that are asked for, where a device has them.
const wanted = nvml.EventTypeXidCriticalError | nvml.EventTypeDoubleBitEccError

var errNoEvents = errors.New("the device has none")

// waitMS is how long one wait for events blocks: the time that Watch may take
// to see that it shall end.
const waitMS = 500

// Check looks at every device now and returns what has changed since the last
// look, in the order of the devices.
func (m *Monitor) Check() (facts []*Fact) {
	for _, w := range m.devices {
		facts = append(facts, w.check(m)...)
	}
	return facts
}

// Watch calls handle for every fact, one at a time, until ctx is done, which is
// its error. Events come as they happen, counters are read in the interval of
// the options. A device without events is told as [Blind], once.
func (m *Monitor) Watch(ctx context.Context, handle func(*Fact)) error {
	facts := make(chan *Fact)
	tell := func(list ...*Fact) {
		for _, f := range list {
			select {
			case facts <- f:
			case <-ctx.Done():
			}
		}
	}
	var all sync.WaitGroup
	for _, w := range m.devices {
		all.Go(func() { m.watchEvents(ctx, w, tell) })
	}
	all.Go(func() {
		ticker := time.NewTicker(m.interval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				tell(m.Check()...)
			}
		}
	})
	go func() {
		all.Wait()
		close(facts)
	}()
	for f := range facts {
		handle(f)
	}
	return context.Cause(ctx)
}

// watchEvents waits for the events of one device: with a set of its own, what
// comes is this device's.
func (m *Monitor) watchEvents(ctx context.Context, w *watched, tell func(...*Fact)) {
	set, err := m.listen(w)
	if err != nil {
		tell(w.fact(Blind, Notice, "xid events: %v", err))
		return
	}
	defer set.Free()
	for ctx.Err() == nil {
		event, rc := set.Wait(waitMS)
		switch {
		case rc == nvml.SUCCESS:
			tell(w.event(event.EventType, event.EventData))
		case rc == nvml.ERROR_TIMEOUT:
		case newFailure("", rc).lost:
			w.mu.Lock()
			was := w.lost
			f := w.isLost(rc)
			w.mu.Unlock()
			if !was {
				tell(f)
			}
			return
		default:
			tell(w.fact(Blind, Notice, "xid events: %v", problem("nvmlEventSetWait", rc)))
			return
		}
	}
}

// listen registers for the wanted events that a device has.
func (m *Monitor) listen(w *watched) (nvml.EventSet, error) {
	types, rc := w.handle.GetSupportedEventTypes()
	if rc != nvml.SUCCESS {
		return nil, problem("nvmlDeviceGetSupportedEventTypes", rc)
	}
	if types&nvml.EventTypeXidCriticalError == 0 {
		return nil, errNoEvents
	}
	set, rc := m.lib.EventSetCreate()
	if rc != nvml.SUCCESS {
		return nil, problem("nvmlEventSetCreate", rc)
	}
	if rc := w.handle.RegisterEvents(types&wanted, set); rc != nvml.SUCCESS {
		set.Free()
		return nil, problem("nvmlDeviceRegisterEvents", rc)
	}
	return set, nil
}

// event makes a fact of an event.
func (w *watched) event(kind, data uint64) *Fact {
	if kind&nvml.EventTypeXidCriticalError == 0 {
		return w.fact(ECC, Doubt, "double bit error")
	}
	verdict, text := judge(data)
	f := w.fact(Xid, verdict, "%s", text)
	f.Xid = data
	return f
}
