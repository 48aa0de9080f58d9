// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"

	"github.com/kvxfer/kvxfer/backend"
)

// An envelope is the magic, a CRC-32C of what follows, and JSON.
const (
	metadataMagic = "kvxfer-loop/1\n"
	envelopeLen   = len(metadataMagic) + crc32.Size
	fabricIDLen   = 16
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// metadata is what an agent tells its peers.
type metadata struct {
	Fabric     [fabricIDLen]byte
	Name       string
	Generation uint64
	Seq        uint64 // newer metadata of one generation has a higher one
	Ranges     []backend.Segment
}

// Metadata implements backend.Backend.
func (a *Agent) Metadata() ([]byte, error) {
	a.fabric.mu.Lock()
	defer a.fabric.mu.Unlock()
	if a.gone {
		return nil, a.closed()
	}
	a.metadataSeq++
	m := metadata{Fabric: a.fabric.id, Name: a.name, Generation: a.generation, Seq: a.metadataSeq}
	for _, r := range a.registrations {
		m.Ranges = append(m.Ranges, backend.Segment{Addr: uint64(r.memory.Addr), Len: r.memory.Len})
	}
	sealed, err := m.seal()
	if n := a.truncate; n != nil && err == nil {
		a.truncate = nil
		sealed = sealed[:min(*n, len(sealed))]
	}
	return sealed, err
}

func (m metadata) seal() ([]byte, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("loop: metadata of %q: %w", m.Name, err)
	}
	return sealBody(body), nil
}

func sealBody(body []byte) []byte {
	out := binary.BigEndian.AppendUint32([]byte(metadataMagic), crc32.Checksum(body, castagnoli))
	return append(out, body...)
}

// openMetadata checks an envelope whole before anything of it is used.
func openMetadata(sealed []byte) (metadata, error) {
	var m metadata
	if len(sealed) < envelopeLen || string(sealed[:len(metadataMagic)]) != metadataMagic {
		return m, fmt.Errorf("loop: %d bytes that are no metadata of this backend: %w", len(sealed), backend.ErrMetadata)
	}
	sum, body := binary.BigEndian.Uint32(sealed[len(metadataMagic):]), sealed[envelopeLen:]
	if got := crc32.Checksum(body, castagnoli); got != sum {
		return m, fmt.Errorf("loop: metadata of %d bytes has checksum %08x, its envelope says %08x: %w",
			len(sealed), got, sum, backend.ErrMetadata)
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return m, fmt.Errorf("loop: metadata: %v: %w", err, backend.ErrMetadata)
	}
	return m, nil
}

// Connect implements backend.Backend. Metadata of another fabric, under
// another name, or older than what is loaded is ErrMetadata.
func (a *Agent) Connect(name string, sealed []byte) error {
	m, err := openMetadata(sealed)
	if err != nil {
		return err
	}
	a.fabric.mu.Lock()
	defer a.fabric.mu.Unlock()
	if a.gone {
		return a.closed()
	}
	old := a.peers[name]
	switch {
	case m.Fabric != a.fabric.id:
		err = fmt.Errorf("it is from another fabric, in this process or another")
	case m.Name != name:
		err = fmt.Errorf("it is of agent %q", m.Name)
	case m.Generation == a.generation:
		err = fmt.Errorf("it is the agent's own")
	case old != nil && (m.Generation < old.generation || m.Generation == old.generation && m.Seq < old.seq):
		err = fmt.Errorf("newer metadata of this peer is loaded")
	default:
		a.peers[name] = &peer{generation: m.Generation, seq: m.Seq, ranges: m.Ranges}
		return nil
	}
	return fmt.Errorf("loop: connect %s to peer %q: %w: %w", a.name, name, backend.ErrMetadata, err)
}
