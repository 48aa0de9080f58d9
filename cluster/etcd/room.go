// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kvxfer/kvxfer/cluster"
)

// MakeRoom makes a full etcd usable again, as an operator would: it forgets all
// old changes, gives their space back on every member, and disarms the alarm.
// Watches that have not read so far end with cluster.ErrCompacted, and ranks
// then read all keys anew. It needs the rights of an administrator.
func (s *Store) MakeRoom(ctx context.Context) error {
	got, err := s.client.Get(ctx, "/", clientv3.WithCountOnly())
	if err != nil {
		return told(err)
	}
	if err := s.Compact(ctx, cluster.Revision(got.Header.Revision)); err != nil {
		return err
	}
	for _, endpoint := range s.client.Endpoints() {
		if _, err := s.client.Defragment(ctx, endpoint); err != nil {
			return fmt.Errorf("etcd: defragment %s: %w", endpoint, err)
		}
	}
	if _, err := s.client.AlarmDisarm(ctx, &clientv3.AlarmMember{}); err != nil {
		return fmt.Errorf("etcd: disarm the alarm: %w", err)
	}
	return nil
}

// Compact forgets all changes up to a revision.
func (s *Store) Compact(ctx context.Context, at cluster.Revision) error {
	_, err := s.client.Compact(ctx, int64(at), clientv3.WithCompactPhysical())
	return told(err)
}
