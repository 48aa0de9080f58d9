// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/blocks"
	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/move"
	"github.com/kvxfer/kvxfer/transfer/admin"
)

const (
	backendAuto = "auto"
	backendNIXL = "nixl"
	backendLoop = "loop"
)

var (
	transports = []string{"auto", "tcp", "cma"}
	backends   = []string{backendAuto, backendNIXL, backendLoop}
	faults     = []string{string(move.Stall), string(move.Kill), string(move.Slow)}
)

type runFlags struct {
	layers, blocks, count int
	blockSize             sizeFlag
	in, out               string
	transport, backend    string
	fault, control        string
	grace, timeout, wait  time.Duration
	seed                  uint64
	library               string
	json, recover         bool
	admin, trace          string
	countGiven            bool
	storageFlags
}

// The times that a fault is shown with, where the user gave none: long enough
// to be seen, short enough to be waited for.
const (
	defaultTimeout = 60 * time.Second
	defaultGrace   = 30 * time.Second
	defaultWait    = 10 * time.Second
	faultGrace     = 2 * time.Second
	faultWait      = 300 * time.Millisecond
	recoverWait    = time.Second
)

func (f *runFlags) add(cmd *cobra.Command) {
	f.blockSize = 16 << 10
	fl := cmd.Flags()
	fl.IntVar(&f.layers, "layers", 32, "layers of the KV cache")
	fl.IntVar(&f.blocks, "blocks", 64, "blocks a layer in one transfer; the pool has twice as many")
	fl.Var(&f.blockSize, "block-size", "bytes in a block")
	fl.IntVar(&f.count, "count", 1, "how many `transfers`, one after the other, each with new content (2 with a fault)")
	fl.StringVar(&f.in, "in", "", "move the bytes of this `file`, in as many transfers as it takes")
	fl.StringVar(&f.out, "out", "", "with --in: `file` that the receiver writes what it got to")
	fl.StringVar(&f.transport, "transport", "auto", "`"+alternatives(transports)+"`; with a fault auto means tcp")
	fl.StringVar(&f.backend, "backend", backendAuto, "`"+alternatives(backends)+"`; auto falls back to loop where there is no NIXL")
	fl.StringVar(&f.fault, "fault", "", "`"+alternatives(faults)+"` the receiver in the last transfer")
	fl.BoolVar(&f.recover, "recover", false, "with --fault stall: go on in another life of the sender, with one transfer more")
	fl.DurationVar(&f.timeout, "timeout", defaultTimeout, "how long a request may take")
	fl.DurationVar(&f.grace, "grace", defaultGrace, "how long proof may take after that (2s with a fault)")
	fl.DurationVar(&f.wait, "wait", defaultWait, "how long to wait for an operation before doubting it (300ms with --fault stall)")
	fl.StringVar(&f.control, "control", "", "`address` of the control stream: 127.0.0.1:0, unix:/path, unix-abstract:name (default: an abstract one)")
	fl.StringVar(&f.admin, "admin", "", "serve the sender's state at `address` unix:PATH, for kvxfer explain")
	fl.StringVar(&f.trace, "trace", "", "write what both owners did to `file`s, for kvxfer check-trace: FILE.jsonl becomes FILE.prefill.jsonl and FILE.decode.jsonl")
	fl.Uint64Var(&f.seed, "seed", 1, "`number` that content and orders are made from")
	fl.BoolVar(&f.json, "json", false, "print one JSON object for each event")
	addLibraryFlag(cmd, &f.library)
	f.addStorage(cmd)
	completeWords(cmd, "transport", transports...)
	completeWords(cmd, "backend", backends...)
	completeWords(cmd, "fault", faults...)
}

func alternatives(words []string) string {
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// settle fills in what depends on other flags.
func (f *runFlags) settle(cmd *cobra.Command) {
	given := cmd.Flags().Changed
	f.countGiven = given("count")
	if f.fault == "" {
		return
	}
	if !f.countGiven {
		f.count = 2 // the first makes the connection, so that the second is in flight at once
		if f.recover {
			f.count = 3 // and one more goes on after it
		}
	}
	if !given("grace") && !f.recover { // what is retained is to be seen, not contained
		f.grace = faultGrace
	}
	if !given("wait") && f.fault == string(move.Stall) {
		f.wait = faultWait
		if f.recover { // the others are to end in time, on a slow machine too
			f.wait = recoverWait
		}
	}
	if f.transport == "auto" { // over CMA the copy ends inside the post: nothing would be in flight
		f.transport = "tcp"
	}
}

// check refuses what cannot work before anything is started.
func (f *runFlags) check() error {
	for _, w := range []struct {
		flag, value string
		of          []string
	}{{"transport", f.transport, transports}, {"backend", f.backend, backends}, {"fault", f.fault, append([]string{""}, faults...)}} {
		if !slices.Contains(w.of, w.value) {
			return usagef("give "+alternatives(slices.DeleteFunc(w.of, func(s string) bool { return s == "" })), "--%s: unknown %s %q", w.flag, w.flag, w.value)
		}
	}
	if f.admin != "" {
		if _, err := admin.NewClient(f.admin); err != nil {
			return adminFailure("--admin", err)
		}
	}
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{{"timeout", f.timeout}, {"grace", f.grace}, {"wait", f.wait}} {
		if d.value <= 0 {
			return usagef("give a time such as 2s", "--%s: %v is no time to wait", d.flag, d.value)
		}
	}
	if f.recover && (f.fault != string(move.Stall) || f.in != "" || f.count < 2) {
		return usagef("give --fault stall, no --in, and a --count of 2 or more", "--recover: there is nothing to recover from, or nothing after it")
	}
	if f.count < 1 || f.count > maxTransfers {
		return usagef(fmt.Sprintf("give 1 to %d", maxTransfers), "--count: %d transfers", f.count)
	}
	if err := f.checkShape(); err != nil {
		return err
	}
	return f.checkFiles()
}

// checkLoop refuses flags that the loop backend has no use for.
func (f *runFlags) checkLoop(cmd *cobra.Command) error {
	if f.backend != backendLoop {
		return nil
	}
	for _, with := range []struct{ flag, why string }{
		{"transport", "its bytes are copied in memory and go over no transport"},
		{"control", "both sides are in one process, and nobody else is to connect"},
	} {
		if cmd.Flags().Changed(with.flag) {
			return usagef("leave one of them out", "--backend loop and --%s: %s", with.flag, with.why)
		}
	}
	return nil
}

func (f *runFlags) shape() blocks.Shape {
	return blocks.Shape{Layers: f.layers, Blocks: f.blocks, BlockSize: int64(f.blockSize)}
}

func (f *runFlags) checkShape() error {
	err := f.shape().Check()
	if err == nil {
		err = f.shape().CheckFits(2)
	}
	var size *blocks.SizeError
	var fit *blocks.FitError
	switch {
	case errors.As(err, &size):
		return usagef("", "--%s: %d %s", size.Name, size.Value, size.Why)
	case errors.As(err, &fit):
		return usagef("give fewer or smaller ones", "--layers, --blocks, --block-size: the pools of both sides need %s, and %s are available",
			sizeText(fit.Need), sizeText(fit.Available))
	}
	return err
}

func (f *runFlags) checkFiles() error {
	if f.in == "" {
		if f.out != "" {
			return usagef("give --in as well", "--out: there is no file to receive")
		}
		return nil
	}
	if f.countGiven {
		return usagef("leave one of them out", "--count and --in: the file decides how many transfers it takes")
	}
	info, err := os.Stat(f.in)
	var at *fs.PathError
	switch {
	case errors.As(err, &at):
		return usagef("give a file that can be read", "--in: %s: %w", f.in, at.Err)
	case err != nil:
		return usagef("give a file that can be read", "--in: %w", err)
	case !info.Mode().IsRegular():
		return usagef("give a file of bytes", "--in: %s is a %s", f.in, kindOf(info.Mode()))
	case info.Size() == 0:
		return usagef("give one with something in it", "--in: %s is empty", f.in)
	}
	if out, err := os.Stat(f.out); f.out != "" && err == nil && os.SameFile(info, out) {
		return usagef("give another file", "--out: %s is the file of --in, which it would empty", f.out)
	}
	n := (info.Size() + f.shape().Bytes() - 1) / f.shape().Bytes()
	if n > maxTransfers {
		return usagef("make the transfers larger", "--in: %s would take %d transfers", f.in, n)
	}
	f.count = int(n)
	return nil
}

// kindOf names what is no regular file.
func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "directory"
	case m&fs.ModeNamedPipe != 0:
		return "pipe, whose length is not known"
	case m&fs.ModeSocket != 0:
		return "socket"
	}
	return "device"
}

// maxTransfers bounds what one report keeps.
const maxTransfers = 1 << 20

func (f *runFlags) shapeText() string {
	s := f.shape()
	return fmt.Sprintf("%d layers × %d blocks × %s = %s a transfer, out of pools of %s", s.Layers, s.Blocks, sizeText(s.BlockSize), sizeText(s.Bytes()), sizeText(s.PoolBytes()))
}
