// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/kvxfer/kvxfer/ownership"
	"github.com/kvxfer/kvxfer/trace"
)

// TraceFile returns where an endpoint writes its trace: the name of Plan.Trace with
// the endpoint's before the ending, since each side has a file of its own.
func TraceFile(path, endpoint string) string {
	ext := filepath.Ext(path)
	return strings.TrimSuffix(path, ext) + "." + endpoint + ext
}

// tracer writes one endpoint's trace. The nil tracer writes none.
type tracer struct {
	file   *os.File
	writer *trace.Writer
	once   sync.Once
	err    error
}

func newTracer(plan *Plan, endpoint string, life ownership.Incarnation) (*tracer, error) {
	if plan.Trace == "" {
		return nil, nil
	}
	file, err := os.Create(TraceFile(plan.Trace, endpoint))
	if err != nil {
		return nil, fmt.Errorf("move: trace: %w", err)
	}
	w, err := trace.NewWriter(file, endpoint, life, time.Now())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("move: trace: %w", err), file.Close())
	}
	return &tracer{file: file, writer: w}, nil
}

// step returns what takes the steps, nil for nobody.
func (t *tracer) step() func(ownership.Step) {
	if t == nil {
		return nil
	}
	return t.writer.Step
}

// close ends the trace, once. The endpoint is used no more.
func (t *tracer) close(totals ownership.Counters) error {
	if t == nil {
		return nil
	}
	t.once.Do(func() {
		if err := errors.Join(t.writer.Close(totals), t.file.Close()); err != nil {
			t.err = fmt.Errorf("move: trace: %w", err)
		}
	})
	return t.err
}
