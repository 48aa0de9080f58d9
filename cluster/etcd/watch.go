// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kvxfer/kvxfer/cluster"
)

// watch is a running watch of etcd's client, which finds another member by
// itself when its own is lost.
type watch struct {
	ch     clientv3.WatchChan
	cancel context.CancelFunc
}

// Watch implements cluster.Store. A member without a leader ends the watch, so
// that one in the smaller part of a partition is left.
func (s *Store) Watch(_ context.Context, prefix string, after cluster.Revision) (cluster.Watch, error) {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(s.client.Ctx()))
	ch := s.client.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(int64(after)+1))
	return &watch{ch, cancel}, nil
}

// Next implements cluster.Watch.
func (w *watch) Next(ctx context.Context) ([]cluster.Event, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case got, open := <-w.ch:
			if !open {
				return nil, fmt.Errorf("etcd: watch: %w", cluster.ErrStopped)
			}
			if err := got.Err(); err != nil {
				return nil, told(err)
			}
			if len(got.Events) > 0 {
				return changes(got.Events), nil
			}
		}
	}
}

func changes(events []*clientv3.Event) []cluster.Event {
	list := make([]cluster.Event, len(events))
	for i, e := range events {
		list[i] = cluster.Event{
			Entry:   cluster.Entry{Key: string(e.Kv.Key), Value: e.Kv.Value, Revision: cluster.Revision(e.Kv.ModRevision)},
			Deleted: e.Type == clientv3.EventTypeDelete,
		}
	}
	return list
}

// Close implements cluster.Watch.
func (w *watch) Close() { w.cancel() }
