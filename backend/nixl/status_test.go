// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"errors"
	"fmt"
	"testing"

	"github.com/kvxfer/kvxfer/backend"
	"github.com/kvxfer/kvxfer/nixl"
)

// Only one status of the binding each may become a proof, and everything that
// is not listed is an error.
func TestOnlyDoneAndNotSubmittedAreProof(t *testing.T) {
	why := errors.New("why")
	for status := range nixl.Status(20) {
		post, poll := observe(postStatus, status, why).Status, observe(pollStatus, status, why).Status
		if (post == backend.Done) != (status == nixl.StatusDone) || (poll == backend.Done) != (status == nixl.StatusDone) {
			t.Errorf("%v: post %v, poll %v", status, post, poll)
		}
		if (post == backend.NotSubmitted) != (status == nixl.StatusNotSubmitted) {
			t.Errorf("%v: post %v", status, post)
		}
		if poll == backend.NotSubmitted {
			t.Errorf("%v: a poll cannot know that nothing was submitted", status)
		}
		if !post.IsValid() || !poll.IsValid() {
			t.Errorf("%v: post %v, poll %v", status, post, poll)
		}
	}
	if s := observe(postStatus, nixl.StatusInProgress, nil).Status; s != backend.Submitted {
		t.Errorf("a running post is %v", s)
	}
	if s := observe(pollStatus, nixl.StatusInProgress, nil).Status; s != backend.InProgress {
		t.Errorf("a running operation is %v", s)
	}
}

func TestTranslateKeepsTheLibrarysWords(t *testing.T) {
	for _, c := range []struct{ of, want error }{
		{nixl.ErrInFlight, backend.ErrInFlight},
		{fmt.Errorf("%w: %w", nixl.ErrInFlight, nixl.ErrFailed), backend.ErrInFlight},
		{nixl.ErrClosed, backend.ErrClosed},
		{nixl.ErrMetadataForeign, backend.ErrMetadata},
		{nixl.ErrMetadataTruncated, backend.ErrMetadata},
		{nixl.ErrMetadataChecksum, backend.ErrMetadata},
		{nixl.ErrMetadataPeer, backend.ErrMetadata},
		{nixl.ErrMetadataVersion, backend.ErrMetadata},
		{&nixl.NotFoundError{}, backend.ErrUnavailable},
		{nixl.ErrArgument, backend.ErrInvalid},
		{nixl.ErrUnknownPeer, backend.ErrInvalid},
		{nixl.ErrNotRegistered, backend.ErrInvalid},
		{&nixl.Error{Call: "get_xfer_status", Code: nixl.CodeBackend}, nixl.ErrBackend},
	} {
		got := translate(c.of)
		if !errors.Is(got, c.want) || !errors.Is(got, c.of) {
			t.Errorf("translate(%v) = %v, want %v and the original", c.of, got, c.want)
		}
	}
	if translate(nil) != nil {
		t.Error("translate(nil) is an error")
	}
}
