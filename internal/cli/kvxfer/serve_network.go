// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	nixlbackend "github.com/kvxfer/kvxfer/backend/nixl"
	"github.com/kvxfer/kvxfer/internal/cli/exit"
	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/files"
	"github.com/kvxfer/kvxfer/internal/cli/kvxfer/move"
	"github.com/kvxfer/kvxfer/nixl"
	"github.com/kvxfer/kvxfer/transfer"
	"github.com/kvxfer/kvxfer/transfer/rpc"
	"github.com/kvxfer/kvxfer/transfer/rpc/authority"
	"github.com/kvxfer/kvxfer/transfer/wire"
)

// networkFlags are what serve, send and recv have in common: who this endpoint
// is, whom it trusts, and how the bytes go.
type networkFlags struct {
	name, peer           string
	certs, cert, key, ca string
	transport, device    string
	library, admin       string
	chunk                sizeFlag
	parallel             int
	timeout, grace, wait time.Duration
	patience             time.Duration
	json                 bool
}

// networkTransports leaves out what cannot tell two processes apart again after
// one of them died: only over TCP is the end of the own agent a fence.
var networkTransports = []string{"tcp", "cma", "auto"}

func (f *networkFlags) add(cmd *cobra.Command) {
	f.chunk = files.DefaultChunk
	fl := cmd.Flags()
	fl.StringVar(&f.name, "name", "", "this endpoint's `name` (default: the certificate's, or one of the host and process)")
	fl.StringVar(&f.certs, "certs", "", "`folder` with ca.pem, NAME.pem and NAME-key.pem; also on loopback, TLS then (default for other addresses: "+certsFolder()+")")
	fl.StringVar(&f.cert, "cert", "", "certificate `file`, instead of --certs; with --key and --ca")
	fl.StringVar(&f.key, "key", "", "the certificate's key `file`")
	fl.StringVar(&f.ca, "ca", "", "`file` with the authorities that sign the peers' certificates")
	fl.StringVar(&f.transport, "transport", "tcp", "`"+alternatives(networkTransports)+"`; only over tcp is a dead peer survived")
	fl.StringVar(&f.device, "device", "", "network `device` for the data, such as eth0 (default: lo for local addresses, else any)")
	fl.Var(&f.chunk, "chunk", "bytes in one transfer")
	fl.IntVar(&f.parallel, "parallel", files.DefaultParallel, "how many `transfers` at once")
	fl.DurationVar(&f.timeout, "timeout", defaultTimeout, "how long a transfer of one chunk may take")
	fl.DurationVar(&f.grace, "grace", defaultGrace, "how long proof may take after that")
	fl.DurationVar(&f.wait, "wait", defaultWait, "how long to wait for an operation before doubting it")
	fl.DurationVar(&f.patience, "patience", files.DefaultPatience, "how long a peer may stay away while memory waits for it")
	fl.StringVar(&f.admin, "admin", "", "serve this endpoint's state at `address` unix:PATH, for kvxfer explain")
	fl.BoolVar(&f.json, "json", false, "print one JSON object for each event")
	addLibraryFlag(cmd, &f.library)
	completeWords(cmd, "transport", networkTransports...)
}

// networkText are the flags that must not be given empty.
var networkText = []string{"name", "certs", "cert", "key", "ca", "device", "admin"}

func (f *networkFlags) check() error {
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{{"timeout", f.timeout}, {"grace", f.grace}, {"wait", f.wait}, {"patience", f.patience}} {
		if d.value <= 0 {
			return usagef("give a time such as 2s", "--%s: %v is no time to wait", d.flag, d.value)
		}
	}
	switch {
	case !slices.Contains(networkTransports, f.transport):
		return usagef("give "+alternatives(networkTransports), "--transport: unknown transport %q", f.transport)
	case f.chunk < files.MinChunk || f.chunk > files.MaxChunk:
		return usagef(fmt.Sprintf("give %s to %s", sizeText(files.MinChunk), sizeText(files.MaxChunk)), "--chunk: %d bytes", int64(f.chunk))
	case f.parallel < 1 || f.parallel > 256:
		return usagef("give 1 to 256", "--parallel: %d transfers", f.parallel)
	case f.certs != "" && f.cert+f.key+f.ca != "":
		return usagef("give --certs, or --cert, --key and --ca", "--certs and single files: both say who this is")
	case f.cert+f.key+f.ca != "" && (f.cert == "" || f.key == "" || f.ca == ""):
		return usagef("give all three", "--cert, --key and --ca: one of them is missing")
	case f.name != "" && wire.CheckEndpoint(f.name) != nil:
		return usagef("use letters, digits and . _ - :", "--name: %q is no name of an endpoint", f.name)
	}
	return nil
}

// local reports whether an address stays on this machine.
func local(addr string) bool {
	if strings.HasPrefix(addr, "unix:") || strings.HasPrefix(addr, "unix-abstract:") {
		return true
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil || host == "localhost" {
		return true // one that cannot be read is refused soon, with the reason
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// carrier says how streams go to or from an address, and settles the name.
func (f *networkFlags) carrier(addr, role string) (rpc.Config, error) {
	c := rpc.Config{Peer: f.peer}
	if f.certs == "" && f.cert == "" && !local(addr) {
		if f.certs = certsFolder(); f.certs == "" {
			return c, usagef("give --certs", "%s: an address beyond this machine needs certificates", addr)
		}
	}
	if f.certs != "" {
		if err := f.find(); err != nil {
			return c, err
		}
	}
	if f.cert == "" {
		if f.name == "" {
			host, _ := os.Hostname()
			f.name = fmt.Sprintf("%s-%s-%s", role, host, random()[:8])
		}
		if wire.CheckEndpoint(f.name) != nil { // an odd hostname
			f.name = role + "-" + random()[:8]
		}
		return c, nil
	}
	id, err := rpc.LoadIdentity(f.cert, f.key, f.ca)
	if err != nil {
		return c, envf(`make one with "kvxfer certs init", or give --cert, --key and --ca`, "certificate: %w", err)
	}
	f.name = cmp.Or(f.name, id.Names()[0])
	if !slices.Contains(id.Names(), f.name) {
		return c, usagef("give a name that the certificate has", "--name: the certificate %s has %q, not %q", f.cert, id.Names(), f.name)
	}
	c.Identity = id
	return c, nil
}

// find looks for this endpoint's files in the folder of --certs.
func (f *networkFlags) find() error {
	name := f.name
	if name == "" {
		keys, _ := filepath.Glob(filepath.Join(f.certs, "*-key.pem"))
		keys = slices.DeleteFunc(keys, func(k string) bool { return filepath.Base(k) == authority.KeyFile })
		switch len(keys) {
		case 0:
			return envf(fmt.Sprintf("kvxfer certs init --dir %s --name NAME", f.certs), "--certs: %s has no certificate of an endpoint", f.certs)
		case 1:
			name = strings.TrimSuffix(filepath.Base(keys[0]), "-key.pem")
		default:
			return usagef("give --name", "--certs: %s has %d certificates", f.certs, len(keys))
		}
	}
	f.cert, f.key, f.ca = authority.Files(f.certs, name)
	return nil
}

// node makes the configuration of the endpoint and says what is used.
func (a *app) node(f *networkFlags, addr string, tell func(files.Event)) (files.Config, *nixl.Library, error) {
	lib, err := openLibrary(f.library)
	if err != nil {
		return files.Config{}, nil, libraryFailure(err)
	}
	transport, err := nixl.ParseTransport(f.transport)
	if err != nil {
		return files.Config{}, nil, err
	}
	device := f.device
	if device == "" && local(addr) {
		device = "lo"
	}
	return files.Config{
		Name: f.name, Chunk: int64(f.chunk), Parallel: f.parallel, Admin: f.admin, Tell: tell,
		RequestTimeout: f.timeout, Grace: f.grace, OperationWait: f.wait, Patience: f.patience,
		Open: func(name string) (files.Agent, error) {
			b, err := nixlbackend.New(nixlbackend.Config{Name: name, Library: lib, Transport: transport, Device: device, NoProgressThread: true})
			if err != nil {
				return nil, fmt.Errorf("open NIXL as %q: %w", name, err)
			}
			return b, nil
		},
	}, lib, nil
}

// networkFailure gives an error of these commands its exit code.
func networkFailure(flag string, err error) error {
	var fatal *files.FatalError
	switch {
	case errors.As(err, &fatal):
		return &failure{exit.Fatal, err, "its memory was not given back, and never will be"}
	case errors.Is(err, files.ErrRetained):
		return &failure{exit.Retained, err, "end this process when nobody can touch its memory any more"}
	case errors.Is(err, errInterrupted):
		return err
	case errors.Is(err, rpc.ErrAddressInUse):
		return &failure{exit.Env, fmt.Errorf("%s: %w", flag, err), "give another address, or port 0"}
	case errors.Is(err, rpc.ErrInvalidAddress), errors.Is(err, rpc.ErrNotLocal):
		return usagef("give HOST:PORT, unix:/path or unix-abstract:name", "%s: %w", flag, err)
	case errors.Is(err, files.ErrExists):
		return usagef("give --force to replace it", "%w", err)
	case errors.Is(err, wire.ErrVersion):
		return &failure{exit.Peer, fmt.Errorf("peer: %w", err), "use the same version of kvxfer on both sides"}
	case errors.Is(err, transfer.ErrGone):
		return &failure{exit.Peer, err, "another process took this endpoint's name: give each its own, with --name"}
	case move.IsEnvironment(err):
		return &failure{exit.Env, err, ""}
	}
	return &failure{exit.Peer, err, ""}
}
