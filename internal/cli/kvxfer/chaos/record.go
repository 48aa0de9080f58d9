// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"errors"
	"os"
	"time"

	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/trace"
)

// record is the trace of this process, in a file that outlives it.
type record struct {
	*trace.Writer
	file *os.File
}

func newRecord(path, endpoint string, life ownership.Incarnation) (*record, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	w, err := trace.NewWriter(file, endpoint, life, time.Now())
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &record{w, file}, nil
}

// close ends the trace, of an endpoint that is used no more.
func (r *record) close(totals ownership.Counters) error {
	return errors.Join(r.Writer.Close(totals), r.file.Close())
}
