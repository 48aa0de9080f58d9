// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package wheel

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// pythonTag is any one tag that the lock has a hash for.
const pythonTag = "3.12"

// download asks pip for the pinned wheel and returns the file below dir.
func download(ctx context.Context, o *Options, lock, dir string) (string, error) {
	plat, err := platform()
	if err != nil {
		return "", err
	}
	python, err := exec.LookPath(o.python())
	if err != nil {
		return "", ErrNoPython
	}
	list := filepath.Join(dir, "requirements.txt")
	if err := os.WriteFile(list, []byte(lock), 0o600); err != nil {
		return "", err
	}
	out := filepath.Join(dir, "wheels")
	cmd := exec.CommandContext(ctx, python, "-m", "pip", "download", "--no-deps", "--require-hashes",
		"--only-binary=:all:", "--implementation", "cp", "--python-version", pythonTag, "--platform", plat,
		"--no-cache-dir", "--disable-pip-version-check", "--progress-bar", "off", "--no-input",
		"-r", list, "-d", out)
	// Pip writes the growing file below its temporary folder, so that is ours.
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	cmd.WaitDelay = time.Second
	stop := watch(dir, o.Progress)
	err = cmd.Run()
	stop()
	if err != nil {
		return "", pipError(ctx, err, text.String())
	}
	found, _ := filepath.Glob(filepath.Join(out, "*.whl"))
	if len(found) != 1 {
		return "", &PipError{Kind: ErrPip, Text: "it left no wheel"}
	}
	return found[0], nil
}

// pipWords map what pip says to what it means for the user.
var pipWords = []struct {
	text string
	kind error
}{
	{"No module named pip", ErrNoPip},
	{"DO NOT MATCH THE HASHES", ErrHash},
	{"do not match the hashes", ErrHash},
	{"NewConnectionError", ErrNetwork},
	{"ConnectTimeoutError", ErrNetwork},
	{"ReadTimeoutError", ErrNetwork},
	{"ProxyError", ErrNetwork},
	{"Connection to ", ErrNetwork},
	{"name resolution", ErrNetwork},
	{"Network is unreachable", ErrNetwork},
}

func pipError(ctx context.Context, err error, text string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return &PipError{Kind: ErrPip, Text: err.Error()}
	}
	for _, w := range pipWords {
		if strings.Contains(text, w.text) {
			return &PipError{Kind: w.kind, Text: lastLine(text)}
		}
	}
	return &PipError{Kind: ErrPip, Text: lastLine(text)}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.HasPrefix(lines[i], "ERROR:") {
			return strings.TrimSpace(strings.TrimPrefix(lines[i], "ERROR:"))
		}
	}
	return strings.TrimSpace(lines[len(lines)-1])
}
