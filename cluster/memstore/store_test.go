// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package memstore_test

import (
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/cluster"
	"github.com/kvxfer/kvxfer/cluster/memstore"
	"github.com/kvxfer/kvxfer/cluster/storetest"
)

func TestStore(t *testing.T) {
	s := memstore.New(0)
	storetest.Run(t, storetest.Harness{
		Open:    func(*testing.T) cluster.Store { return s.Client() },
		Compact: func(*testing.T) { s.Compact() },
		Lease:   50 * time.Millisecond,
	})
}
