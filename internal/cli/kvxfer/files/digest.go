// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
)

// Digest is a SHA-256: of a chunk, or of the digests of all chunks of a file, one after
// the other. Chunks are hashed while they are in memory, as many at once as there are;
// the plain SHA-256 of a file would take one core, in the file's order.
type Digest [sha256.Size]byte

// String returns 64 hexadecimal digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// hashBlock is how much is read or written at a time beside its hash, so that the
// bytes are in the cache for both.
const hashBlock = 256 << 10

// readHashed reads a whole chunk and returns its digest.
func readHashed(r io.ReaderAt, offset int64, into []byte) (Digest, error) {
	h := sha256.New()
	for at := 0; at < len(into); at += hashBlock {
		block := into[at:min(at+hashBlock, len(into))]
		if n, err := r.ReadAt(block, offset+int64(at)); n < len(block) {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return Digest{}, err
		}
		h.Write(block)
	}
	return Digest(h.Sum(nil)), nil
}

// writeHashed writes a chunk and returns its digest.
func writeHashed(w io.WriterAt, offset int64, data []byte) (Digest, error) {
	h := sha256.New()
	for at := 0; at < len(data); at += hashBlock {
		block := data[at:min(at+hashBlock, len(data))]
		h.Write(block)
		if _, err := w.WriteAt(block, offset+int64(at)); err != nil {
			return Digest{}, err
		}
	}
	return Digest(h.Sum(nil)), nil
}

// hashChunks reads chunks of a file for their digests alone, several at once. One that
// cannot be read is left out. The error is that ctx has ended.
func hashChunks(ctx context.Context, r io.ReaderAt, shape Shape, chunks []int64, got func(i int64, d Digest)) error {
	return spread(ctx, min(runtime.GOMAXPROCS(0), len(chunks)), chunks, func(i int64) {
		if d, err := hashAt(r, shape, i); err == nil {
			got(i, d)
		}
	})
}

func hashAt(r io.ReaderAt, shape Shape, i int64) (Digest, error) {
	offset, n := shape.at(i)
	h, buf := sha256.New(), make([]byte, min(n, hashBlock))
	got, err := io.CopyBuffer(h, onlyReader{io.NewSectionReader(r, offset, n)}, buf)
	if err == nil && got < n {
		err = io.ErrUnexpectedEOF
	}
	return Digest(h.Sum(nil)), err
}

// onlyReader keeps io.CopyBuffer to its buffer.
type onlyReader struct{ io.Reader }

// plainDigest is what sha256sum prints of a file.
func plainDigest(ctx context.Context, root *os.Root, name string) (string, error) {
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h, buf := sha256.New(), make([]byte, hashBlock)
	for {
		n, err := f.Read(buf)
		h.Write(buf[:n])
		switch {
		case err == io.EOF:
			return hex.EncodeToString(h.Sum(nil)), nil
		case err != nil:
			return "", fmt.Errorf("sha256: %w", err)
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		}
	}
}

// digests are those of a file's chunks, as far as they are known.
type digests struct {
	mu   sync.Mutex
	list []Digest // guarded by mu
	have []bool   // guarded by mu
	n    int      // guarded by mu; how many are known
}

func newDigests(shape Shape) *digests {
	return &digests{list: make([]Digest, shape.chunks()), have: make([]bool, shape.chunks())}
}

// set reports whether the chunk's was not known before.
func (d *digests) set(i int64, of Digest) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.have[i] {
		return false
	}
	d.list[i], d.have[i] = of, true
	d.n++
	return true
}

// missing returns the chunks whose digests are not known.
func (d *digests) missing() (list []int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, have := range d.have {
		if !have {
			list = append(list, int64(i))
		}
	}
	return list
}

// complete hashes the chunks of a file whose digests are not known, and gives each to got,
// which sets it.
func (d *digests) complete(ctx context.Context, name string, r io.ReaderAt, shape Shape, got func(i int64, of Digest)) error {
	if err := hashChunks(ctx, r, shape, d.missing(), got); err != nil {
		return err
	}
	if len(d.missing()) > 0 {
		return fmt.Errorf("%s: cannot be read", name)
	}
	return nil
}

// root is the digest of the file, once all of its chunks' are known.
func (d *digests) root() (root Digest, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.n < len(d.list) {
		return root, false
	}
	h := sha256.New()
	for i := range d.list {
		h.Write(d.list[i][:])
	}
	return Digest(h.Sum(nil)), true
}
