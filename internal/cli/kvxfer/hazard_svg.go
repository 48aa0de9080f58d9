// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"errors"
	"io/fs"
	"os"

	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/hazard"
)

// picture is the file of --svg. It is opened before the runs, which take long,
// and what was in it stays until there is something better.
type picture struct {
	file    *os.File // nil: none is wanted, or it is done
	created bool
}

func openPicture(path string) (*picture, error) {
	if path == "" {
		return &picture{}, nil
	}
	_, err := os.Lstat(path)
	p := &picture{created: errors.Is(err, fs.ErrNotExist)}
	p.file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644) // the user names it
	if err != nil {
		return nil, envf("give a file that can be written", "--svg: %w", err)
	}
	return p, nil
}

func (p *picture) write(r *hazard.Report) error {
	if p.file == nil {
		return nil
	}
	err := r.WriteSVG(p.file)
	if err == nil {
		err = p.shorten()
	}
	if err != nil {
		return envf("give a file that can be written", "--svg: %w", err)
	}
	file := p.file
	p.file = nil
	return file.Close()
}

// shorten cuts off what is left of an older picture that was longer.
func (p *picture) shorten() error {
	info, err := p.file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	at, err := p.file.Seek(0, 1)
	if err != nil {
		return err
	}
	return p.file.Truncate(at)
}

// abandon leaves no empty file behind; after write it does nothing.
func (p *picture) abandon() {
	if p.file == nil {
		return
	}
	_ = p.file.Close()
	if p.created {
		_ = os.Remove(p.file.Name())
	}
}
