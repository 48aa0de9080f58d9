// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package wheel

import (
	"archive/zip"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// maxUnpacked bounds what a damaged or hostile archive may write, in bytes.
const maxUnpacked = 4 << 30

// unpack writes the archive's files below dir, with the right to execute that
// they carry. Names that would leave dir are refused.
func unpack(file, dir string) error {
	z, err := zip.OpenReader(file)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrCorrupt, filepath.Base(file), err)
	}
	defer z.Close()
	left := int64(maxUnpacked)
	for _, f := range z.File {
		if f.FileInfo().IsDir() {
			continue
		}
		if !filepath.IsLocal(f.Name) {
			return fmt.Errorf("%w: file name %q", ErrCorrupt, f.Name)
		}
		n, err := unpackFile(f, filepath.Join(dir, f.Name), left)
		if err != nil {
			return err
		}
		left -= n
	}
	return nil
}

func unpackFile(f *zip.File, to string, limit int64) (int64, error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return 0, fmt.Errorf("wheel: %w", err)
	}
	in, err := f.Open()
	if err != nil {
		return 0, fmt.Errorf("%w: %s: %w", ErrCorrupt, f.Name, err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644|f.Mode()&0o111)
	if err != nil {
		return 0, fmt.Errorf("wheel: %w", err)
	}
	n, err := io.Copy(out, io.LimitReader(in, limit+1))
	if cerr := out.Close(); err == nil && cerr != nil {
		return n, fmt.Errorf("wheel: %w", cerr)
	}
	if err != nil {
		return n, fmt.Errorf("%w: %s: %w", ErrCorrupt, f.Name, err)
	}
	if n > limit {
		return n, fmt.Errorf("%w: more than %d bytes", ErrCorrupt, int64(maxUnpacked))
	}
	return n, nil
}
