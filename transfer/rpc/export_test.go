// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kvxfer/kvxfer/transfer/rpc/pb"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// CompareUser is the decision behind checkUser, without a second user.
var CompareUser = compareUser

// Backlog is how many streams wait for Accept.
const Backlog = backlog

func protoNumber(k wire.Kind) protoreflect.FieldNumber { return protoreflect.FieldNumber(k) }

// Encode makes a frame of any message.
var Encode = encode

// SendUnchecked sends what Send would refuse, as a peer that lies does.
func (s *Stream) SendUnchecked(m wire.Message) error {
	f, err := encode(m)
	if err != nil {
		return err
	}
	return s.frames.Send(f)
}

// SendFrame sends any frame.
func (s *Stream) SendFrame(f *pb.Frame) error { return s.frames.Send(f) }
