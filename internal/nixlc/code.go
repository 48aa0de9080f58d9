// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixlc

import "strconv"

// Code is what the library's functions return. Success is zero, because it is
// the library's number; a Code that was never assigned must not be read.
type Code int32

// The library's codes. Versions before 1.5 answer CodeBackend for every
// failure. CodeBackend folds eleven causes into one and proves nothing.
const (
	CodeSuccess      Code = 0
	CodeInProgress   Code = 1
	CodeInvalidParam Code = -1
	CodeBackend      Code = -2
	CodeInvalidState Code = -3
	CodeException    Code = -4
	CodeNoTelemetry  Code = -5
	CodeNotFound     Code = -6
	// CodeMissing is this package's own: the library lacks the symbol.
	CodeMissing Code = -1000
)

var codeNames = map[Code]string{
	CodeSuccess:      "SUCCESS",
	CodeInProgress:   "IN_PROG",
	CodeInvalidParam: "ERROR_INVALID_PARAM",
	CodeBackend:      "ERROR_BACKEND",
	CodeInvalidState: "ERROR_INVALID_STATE",
	CodeException:    "ERROR_EXCEPTION",
	CodeNoTelemetry:  "ERROR_NO_TELEMETRY",
	CodeNotFound:     "ERROR_NOT_FOUND",
	CodeMissing:      "symbol missing",
}

// String is the library's own name of the code, without its prefix.
func (c Code) String() string {
	if n, ok := codeNames[c]; ok {
		return n
	}
	return "code " + strconv.Itoa(int(c))
}

// MemType is a kind of memory, with the library's numbers.
type MemType int32

// Kinds of memory.
const (
	MemDRAM MemType = iota
	MemVRAM
	MemBlock
	MemObject
	MemFile
)

var memNames = [...]string{MemDRAM: "DRAM", MemVRAM: "VRAM", MemBlock: "BLOCK", MemObject: "OBJECT", MemFile: "FILE"}

// String is the library's own name of the kind.
func (m MemType) String() string {
	if m >= 0 && int(m) < len(memNames) {
		return memNames[m]
	}
	return "invalid memory type " + strconv.Itoa(int(m))
}

// IsValid reports whether m is a kind that exists.
func (m MemType) IsValid() bool { return m >= 0 && int(m) < len(memNames) }

// Op is a direction seen from who posts, with the library's numbers.
type Op int32

// Directions.
const (
	OpRead Op = iota
	OpWrite
)
