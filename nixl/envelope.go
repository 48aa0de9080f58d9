// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// Metadata that is cut short poisons NIXL: loaded for a peer that is already
// known, 18 of 18 cuts in its second half left the name unusable until the
// agent was destroyed. So metadata travels in an envelope, and nothing of it
// reaches NIXL before all of it was checked.
//
// Layout, integers big-endian: magic, version (1 byte), reserved (1 byte,
// zero), length of the name (2 bytes), length of NIXL's metadata (4 bytes),
// name, metadata, SHA-256 of everything before it.
const (
	envelopeMagic   = "kvxNIXLm"
	envelopeVersion = 1
	envelopeHead    = len(envelopeMagic) + 8
	envelopeSum     = sha256.Size
	maxName         = 1 << 10
	maxMetadata     = 64 << 20
)

// Why metadata is refused. Each matches [ErrMetadata] too.
var (
	// ErrMetadata is matched by every refusal of metadata before NIXL sees it.
	ErrMetadata = errors.New("nixl: unusable metadata")
	// ErrMetadataForeign: these bytes are not an envelope of this binding.
	ErrMetadataForeign = fmt.Errorf("%w: not metadata of this binding", ErrMetadata)
	// ErrMetadataVersion: an envelope of another version of this binding.
	ErrMetadataVersion = fmt.Errorf("%w: envelope of another version", ErrMetadata)
	// ErrMetadataTruncated: the envelope was cut short.
	ErrMetadataTruncated = fmt.Errorf("%w: cut short", ErrMetadata)
	// ErrMetadataChecksum: the envelope was changed on the way.
	ErrMetadataChecksum = fmt.Errorf("%w: checksum differs", ErrMetadata)
	// ErrMetadataPeer: the metadata is another peer's than the one expected.
	ErrMetadataPeer = fmt.Errorf("%w: of another peer", ErrMetadata)
)

// seal puts NIXL's metadata of agent name into an envelope.
func seal(name string, md []byte) ([]byte, error) {
	if len(name) > maxName || len(md) > maxMetadata {
		return nil, fmt.Errorf("%w: name of %d bytes, metadata of %d", ErrArgument, len(name), len(md))
	}
	b := make([]byte, 0, envelopeHead+len(name)+len(md)+envelopeSum)
	b = append(b, envelopeMagic...)
	b = append(b, envelopeVersion, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(len(name)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(md)))
	b = append(b, name...)
	b = append(b, md...)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...), nil
}

// unseal checks an envelope whole and returns what is in it.
func unseal(b []byte) (name string, md []byte, err error) {
	if n := min(len(b), len(envelopeMagic)); n == 0 || string(b[:n]) != envelopeMagic[:n] {
		return "", nil, ErrMetadataForeign
	}
	if len(b) < envelopeHead {
		return "", nil, fmt.Errorf("%w: %d bytes, the header has %d", ErrMetadataTruncated, len(b), envelopeHead)
	}
	head := b[len(envelopeMagic):]
	if head[0] != envelopeVersion {
		return "", nil, fmt.Errorf("%w: %d, want %d", ErrMetadataVersion, head[0], envelopeVersion)
	}
	names, size := int(binary.BigEndian.Uint16(head[2:])), int(binary.BigEndian.Uint32(head[4:]))
	want := envelopeHead + names + size + envelopeSum
	switch {
	case names > maxName || size > maxMetadata:
		return "", nil, fmt.Errorf("%w: lengths %d and %d", ErrMetadataChecksum, names, size)
	case len(b) < want:
		return "", nil, fmt.Errorf("%w: %d of %d bytes", ErrMetadataTruncated, len(b), want)
	case len(b) > want:
		return "", nil, fmt.Errorf("%w: %d bytes after the end", ErrMetadataChecksum, len(b)-want)
	}
	body := b[:want-envelopeSum]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], b[len(body):]) {
		return "", nil, ErrMetadataChecksum
	}
	return string(body[envelopeHead : envelopeHead+names]), body[envelopeHead+names:], nil
}

// SealMetadata puts the metadata of a client that does not use this binding, as
// NIXL itself gave it to that client, into the envelope that [Agent.LoadMetadata]
// takes. The caller vouches that it is whole: NIXL cannot check it.
func SealMetadata(agent string, metadata []byte) ([]byte, error) { return seal(agent, metadata) }

// UnsealMetadata returns the agent's name and NIXL's own metadata out of what
// [Agent.Metadata] returned, for a client that does not use this binding. The
// error matches [ErrMetadata].
func UnsealMetadata(envelope []byte) (agent string, metadata []byte, err error) {
	return unseal(envelope)
}
