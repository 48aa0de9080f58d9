// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kvxfer/kvxfer/transfer/wire"
)

// CompareUser is the decision behind checkUser, without a second user.
var CompareUser = compareUser

func protoNumber(k wire.Kind) protoreflect.FieldNumber { return protoreflect.FieldNumber(k) }
