// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"errors"
	"fmt"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/nixl"
)

// kinds says which error of package backend an error of the binding is. The
// first match wins.
var kinds = []struct{ of, is error }{
	{nixl.ErrInFlight, backend.ErrInFlight},
	{nixl.ErrClosed, backend.ErrClosed},
	{nixl.ErrMetadata, backend.ErrMetadata},
	{nixl.ErrNoLibrary, backend.ErrUnavailable},
	{nixl.ErrArgument, backend.ErrInvalid},
	{nixl.ErrUnknownPeer, backend.ErrInvalid},
	{nixl.ErrNotRegistered, backend.ErrInvalid},
}

// translate adds the error of package backend that err is; it keeps err, and
// with it NIXL's own words. An error of no kind stays as it is.
func translate(err error) error {
	for _, k := range kinds {
		if errors.Is(err, k.of) {
			return fmt.Errorf("%w: %w", k.is, err)
		}
	}
	return err
}
