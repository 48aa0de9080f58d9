// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kvxfer/kvxfer/internal/proc"
	"github.com/kvxfer/kvxfer/nixl"
)

// Config says how to find NIXL and how to start the process that tries a plugin.
type Config struct {
	// Open finds the library.
	Open func() (*nixl.Library, error)
	// Start starts this program as a probe.
	Start func(stderr io.Writer) (*proc.Child, error)
	// Get is how to get NIXL, as an order to the user.
	Get string

	root string // of the file system, "" but in tests
}

// library is what was found of NIXL.
type library struct {
	findings   []Finding
	plugins    map[string]*attempt
	transports []Transport
}

// usable reports whether UCX could be created.
func (l *library) usable() bool {
	ucx := l.plugins[nixl.PluginUCX]
	return ucx != nil && ucx.answer.Error == ""
}

// probeTime bounds one plugin: some of them ask the network.
const probeTime = 2 * time.Second

// atOnce is how many plugins are tried side by side.
const atOnce = 3

func (c *Config) library(ctx context.Context) *library {
	l := &library{plugins: map[string]*attempt{}}
	lib, err := c.Open()
	if err != nil {
		l.missing(err, c.Get)
		return l
	}
	l.add(Finding{"nixl", "library", OK, fmt.Sprintf("%v, %s, found in %s", lib.Version(), lib.Path(), lib.Found()), ""})
	names, err := plugins(lib)
	if err != nil {
		do := "reinstall NIXL: " + c.Get
		if _, set := os.LookupEnv(envPlugins); set {
			do = "unset " + envPlugins + ", or let it name the folder of the plugins"
		}
		l.add(Finding{"nixl", "plugins", Problem, err.Error(), do})
		return l
	}
	l.environment()
	var wg sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for _, n := range names {
		at := &attempt{}
		l.plugins[n] = at
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			at.try(ctx, c, Job{Library: lib.Path(), Plugin: n})
		})
	}
	wg.Wait()
	for _, n := range names {
		l.add(l.plugins[n].finding(n))
	}
	if ucx := l.plugins[nixl.PluginUCX]; ucx != nil {
		l.transports = transportsIn(ucx.log.String())
		l.findings = append(l.findings, ucxFindings(l.transports, ucx.log.String())...)
	}
	return l
}

func (l *library) add(f Finding) { l.findings = append(l.findings, f) }

// missing tells every place that was looked at.
func (l *library) missing(err error, get string) {
	var none *nixl.NotFoundError
	if !errors.As(err, &none) {
		l.add(Finding{"nixl", "library", Problem, err.Error(), get})
		return
	}
	l.add(Finding{"nixl", "library", Problem, "no usable " + nixl.LibraryName, get})
	for _, at := range none.Attempts {
		l.add(Finding{"nixl", "looked at", Note, fmt.Sprintf("%s: %v", at.Place, at.Reason), ""})
	}
}

// envPlugins names the folder that NIXL takes plugins from.
const envPlugins = "NIXL_PLUGIN_DIR"

// plugins lists what NIXL finds beside itself, or where NIXL_PLUGIN_DIR says.
func plugins(lib *nixl.Library) ([]string, error) {
	a, err := lib.NewAgent("kvxfer-doctor", nixl.AgentConfig{NoProgressThread: true})
	if err != nil {
		return nil, err
	}
	names, err := a.Plugins()
	if err = errors.Join(err, a.Destroy()); err != nil {
		return nil, err
	}
	if !slices.Contains(names, nixl.PluginUCX) {
		return nil, fmt.Errorf("no plugin %s among %q", nixl.PluginUCX, names)
	}
	slices.Sort(names)
	return names, nil
}

// environment names what the user set that a Go process must not have, and
// what he chose for UCX, which goes before every flag.
func (l *library) environment() {
	for _, s := range nixl.Environment() {
		v, set := os.LookupEnv(s.Name)
		switch {
		case !set || v == s.Value || strings.HasSuffix(s.Name, "LOG_LEVEL"):
		case s.Name == "UCX_HANDLE_ERRORS" || s.Name == "UCX_DEBUG_SIGNO" || s.Name == "UCX_LOG_FILE":
			l.add(Finding{"nixl", s.Name, Problem, v + ", set in the environment: " + s.Why, "unset " + s.Name})
		}
	}
	for _, n := range []string{"UCX_TLS", "UCX_NET_DEVICES"} {
		if v, set := os.LookupEnv(n); set {
			l.add(Finding{"nixl", n, Note, v + ", set in the environment: it goes before --transport", ""})
		}
	}
}

// Plugin tries one plugin of a library: whether it works, and why not.
func Plugin(ctx context.Context, c Config, library, name string) Finding {
	at := &attempt{}
	at.try(ctx, &c, Job{Library: library, Plugin: name})
	return at.finding(name)
}

// attempt is one plugin that was tried.
type attempt struct {
	answer Answer
	log    bytes.Buffer // what NIXL and UCX wrote; whole once the probe has ended
}

func (t *attempt) try(ctx context.Context, c *Config, job Job) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	child, err := c.Start(&t.log)
	if err != nil {
		t.answer.Error = err.Error()
		return
	}
	if err = child.Send(job); err == nil {
		err = child.Recv(ctx, &t.answer)
	}
	state, waited := child.Wait(ctx) // its log is whole then
	err = errors.Join(err, waited)
	_ = child.Close()
	if err != nil && t.answer.Error == "" && !t.answer.Loaded {
		t.answer.Error = "the process that tried it " + state.String()
		if ctx.Err() != nil {
			t.answer.Error = fmt.Sprintf("no answer within %v", probeTime)
		}
	}
}

// finding says whether the plugin works, and why not in the library's words.
func (t *attempt) finding(name string) Finding {
	f := Finding{"plugin", name, OK, strings.Join(t.answer.Mems, ", "), ""}
	if t.answer.Error == "" {
		return f
	}
	f.Level = Note
	if name == nixl.PluginUCX || name == nixl.PluginPOSIX {
		f.Level = Problem
	}
	if f.Text = reason(t.log.String()); f.Text == "" {
		f.Text = t.answer.Error
	}
	if f.Do = advice(name, f.Text); strings.HasPrefix(f.Text, noPlugin) {
		f.Do = `"kvxfer doctor" lists the plugins`
	}
	return f
}
