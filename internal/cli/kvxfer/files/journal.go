// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strings"
)

// journal remembers which chunks of a file are in its unfinished copy, with
// their digests. It is text: the file's shape in the first line, then a line for
// each chunk, with a checksum of its own, since the last may have been cut short.
// It is a hint and no proof: what it says is compared with the bytes when it is
// read again, so that it need not be on the disk before they are.
type journal struct{ f *os.File }

// header is the first line.
type header struct {
	Shape
	File string `json:"file"`
}

// createJournal begins a journal, over whatever was there.
func createJournal(root *os.Root, h header) (*journal, error) {
	f, err := root.OpenFile(journalName(h.File), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	line, err := json.Marshal(h)
	if err == nil {
		_, err = fmt.Fprintf(f, "%s\n", line)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &journal{f}, nil
}

// readJournal returns the header and the digests of the chunks that were noted.
func readJournal(root *os.Root, name string) (h header, chunks map[int64]Digest, err error) {
	f, err := root.Open(journalName(name))
	if err != nil {
		return h, nil, err
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &h) != nil || h.check() != nil || h.File != name {
		return h, nil, fmt.Errorf("files: %s: is no journal of %q", journalName(name), name)
	}
	chunks = map[int64]Digest{}
	for lines.Scan() {
		if i, d, ok := parseLine(lines.Text()); ok && i >= 0 && i < h.chunks() {
			chunks[i] = d
		}
	}
	return h, chunks, lines.Err()
}

func line(i int64, d Digest) string {
	text := fmt.Sprintf("%d %v", i, d)
	return fmt.Sprintf("%s %08x\n", text, crc32.ChecksumIEEE([]byte(text)))
}

// parseLine reads a line, unless it was cut short or is of something else.
func parseLine(text string) (i int64, d Digest, ok bool) {
	var sum string
	if n, err := fmt.Sscanf(text, "%d %64s", &i, &sum); n != 2 || err != nil {
		return 0, d, false
	}
	b, err := hex.DecodeString(sum)
	if err != nil || len(b) != len(d) {
		return 0, d, false
	}
	d = Digest(b)
	return i, d, strings.TrimSuffix(line(i, d), "\n") == text
}

// add notes one chunk. It begins with a line of its own, whatever the one before
// ended with.
func (j *journal) add(i int64, d Digest) error {
	_, err := j.f.WriteString(line(i, d))
	return err
}

// resume opens a journal that was read, to add to it.
func resumeJournal(root *os.Root, name string) (*journal, error) {
	f, err := root.OpenFile(journalName(name), os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(-1, io.SeekEnd); err == nil {
		last := make([]byte, 1)
		if _, err = f.Read(last); err == nil && !bytes.Equal(last, []byte("\n")) {
			_, err = f.WriteString("\n")
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return &journal{f}, nil
}

func (j *journal) close() error { return j.f.Close() }
