// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Every contestant is two processes, an initiator and a target, that are told
// what to do one line at a time and answer with one line, "ok ..." or "error ...".
// Of raw.c, raw.py and bare.go:
//
//	init NAME SIZE                        -> ok ADDRESS METADATA
//	load METADATA                         -> ok
//	serve, and another line later         -> ok, and then: ok CPU
//	run WORK                              -> ok CPU WALL (POST-TO-DONE WHOLE)...
//
// and of raw.c alone, where the target asks the initiator over a Unix socket:
//
//	listen NAME, dial NAME                -> ok
//	ask WORK                              -> ok CPU WALL WHOLE...         (target)
//	answer, until the target has it all   -> ok CPU WALL POST-TO-DONE...  (initiator)
//
// WORK is OP LEN COUNT STRIDE PEER ADDRESS TRANSFERS WINDOW SLOT. All times are in
// nanoseconds, CPU that of the process; SLOT is the bytes between the memory of the
// WINDOW transfers that are under way at a time.

// process is one of them.
type process struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
}

func start(name string, env []string, argv ...string) (*process, error) {
	p := &process{name: name, cmd: exec.Command(argv[0], argv[1:]...)}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = os.Stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReaderSize(out, 1<<20)
	return p, p.cmd.Start()
}

func (p *process) close() {
	_ = p.in.Close()
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// ask sends a line and returns the words of the answer.
func (p *process) ask(format string, args ...any) ([]string, error) {
	if _, err := fmt.Fprintf(p.in, format+"\n", args...); err != nil {
		return nil, fmt.Errorf("%s: %w", p.name, err)
	}
	return p.answer()
}

func (p *process) answer() ([]string, error) {
	line, err := p.out.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("%s ended: %w", p.name, err)
	}
	words := strings.Fields(line)
	if len(words) == 0 || words[0] != "ok" {
		return nil, fmt.Errorf("%s: %s", p.name, strings.TrimSpace(line))
	}
	return words[1:], nil
}

// numbers reads the words of an answer.
func numbers(words []string, err error) ([]time.Duration, error) {
	var out []time.Duration
	for _, w := range words {
		n, bad := strconv.ParseInt(w, 10, 64)
		if bad != nil {
			return nil, errors.Join(err, bad)
		}
		out = append(out, time.Duration(n))
	}
	if err == nil && len(out) == 0 {
		err = errors.New("an answer without numbers")
	}
	return out, err
}

// raw is a pair of raw.c, raw.py or bare.go.
type raw struct {
	initiator, target *process
	address           string // of the target's memory
}

func startRaw(name string, env []string, argv ...string) (*raw, error) {
	r := &raw{}
	var err error
	if r.initiator, err = start(name+" initiator", env, argv...); err != nil {
		return nil, err
	}
	if r.target, err = start(name+" target", env, argv...); err != nil {
		r.initiator.close()
		return nil, err
	}
	if err := r.meet(); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *raw) meet() error {
	ours, err := r.initiator.ask("init initiator %d", arena)
	if err != nil {
		return err
	}
	theirs, err := r.target.ask("init target %d", arena)
	if err != nil {
		return err
	}
	r.address = theirs[0]
	_, err1 := r.initiator.ask("load %s", theirs[1])
	_, err2 := r.target.ask("load %s", ours[1])
	return errors.Join(err1, err2)
}

func (r *raw) run(w work) (s sample, err error) {
	if _, err := r.target.ask("serve"); err != nil {
		return s, err
	}
	got, err := numbers(r.initiator.ask("run %s", r.line(w)))
	served, err2 := numbers(r.target.ask("stop"))
	if err := errors.Join(err, err2); err != nil {
		return s, err
	}
	s.cpu, s.wall = got[0]+served[0], got[1]
	for i := 2; i < len(got); i += 2 {
		s.took, s.whole = append(s.took, got[i]), append(s.whole, got[i+1])
	}
	return s, nil
}

func (r *raw) line(w work) string {
	return fmt.Sprintf("%s %d %d %d target %s %d %d %d", w.op, w.len, w.count, w.stride, r.address, w.transfers, w.window, slot)
}

func (r *raw) close() {
	r.initiator.close()
	r.target.close()
}

// asked is the pair of raw.c again, whose target asks for each transfer.
type asked struct{ *raw }

func newAsked(r *raw) (asked, error) {
	name := fmt.Sprintf("kvxfer-bench-raw-%d", r.target.cmd.Process.Pid)
	_, err := r.initiator.ask("listen %s", name)
	if err == nil {
		_, err = r.target.ask("dial %s", name)
	}
	return asked{r}, err
}

func (r asked) run(w work) (s sample, err error) {
	if _, err := fmt.Fprintln(r.initiator.in, "answer"); err != nil {
		return s, err
	}
	whole, err := numbers(r.target.ask("ask %s", r.line(w)))
	if err != nil {
		return s, err
	}
	took, err := numbers(r.initiator.answer())
	if err != nil {
		return s, err
	}
	return sample{cpu: whole[0] + took[0], wall: whole[1], took: took[2:], whole: whole[2:]}, nil
}

func (asked) close() {} // the pair is closed where it is a contestant itself
