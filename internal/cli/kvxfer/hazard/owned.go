// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package hazard

import (
	"context"
	"errors"

	"github.com/kvxfer/kvxfer/internal/proc"
)

var errTODO = errors.New("not wired")

func (h *Hazard) owned(ctx context.Context, seed uint64, tell func(Step)) (Half, error) {
	return Half{}, errTODO
}

func serveOwned(ctx context.Context, job Job, parent *proc.Lines) error { return errTODO }
