// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package wheel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Options of a fetch. The zero value uses the built-in lock and python3.
type Options struct {
	_ struct{}
	// Lock replaces the built-in lock.
	Lock string
	// Python is the interpreter whose pip is asked; empty means python3.
	Python string
	// Progress is told how many bytes were downloaded so far, a few times a
	// second, from another goroutine, while pip runs.
	Progress func(bytes int64)
}

func (o *Options) python() string {
	if o.Python != "" {
		return o.Python
	}
	return "python3"
}

// Fetch makes sure that the pinned wheel lies unpacked in dir/<version> and
// returns that folder. When it is there already nothing is asked of pip. A
// cancelled context ends pip and leaves nothing behind.
func Fetch(ctx context.Context, dir string, o Options) (string, error) {
	lock := o.Lock
	if lock == "" {
		lock = Lock
	}
	want, err := parseLock(lock)
	if err != nil {
		return "", err
	}
	target := filepath.Join(dir, want.version)
	if _, err := os.Stat(target); err == nil {
		return target, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("wheel: %w", err)
	}
	tmp, err := os.MkdirTemp(dir, ".fetch-")
	if err != nil {
		return "", fmt.Errorf("wheel: %w", err)
	}
	defer os.RemoveAll(tmp)
	// Python resolves nothing relative to us, so it is told a whole path.
	if tmp, err = filepath.Abs(tmp); err != nil {
		return "", fmt.Errorf("wheel: %w", err)
	}
	file, err := download(ctx, &o, lock, tmp)
	if err != nil {
		return "", err
	}
	return target, install(file, filepath.Join(tmp, "unpacked"), target, want)
}

// install checks and unpacks file, then renames the result into its place.
func install(file, unpacked, target string, want pin) error {
	sum, err := hash(file)
	if err != nil {
		return err
	}
	if !want.hashes[sum] {
		return fmt.Errorf("%w: %s has sha256 %s", ErrHash, filepath.Base(file), sum)
	}
	if err := unpack(file, unpacked); err != nil {
		return err
	}
	if err := os.Rename(unpacked, target); err != nil {
		if _, there := os.Stat(target); there == nil {
			return nil // another process was first
		}
		return fmt.Errorf("wheel: %w", err)
	}
	return nil
}

func hash(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("wheel: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("wheel: %s: %w", filepath.Base(file), err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
