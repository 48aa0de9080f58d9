// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kvxfer/kvxfer/internal/proc"
	"github.com/kvxfer/kvxfer/nixl"
)

// Job is what a probe is told.
type Job struct {
	Library string `json:"library"`
	Plugin  string `json:"plugin"`
}

// Answer is what it found.
type Answer struct {
	Loaded bool     `json:"loaded"` // the plugin's own library, and all that it needs
	Mems   []string `json:"mems"`   // kinds of memory that it serves
	Error  string   `json:"error"`  // why it cannot be created
}

// Probe is the probe's process: it creates one plugin and answers. The reason of
// a failure is in what NIXL writes to standard error.
func Probe(_ context.Context, job Job, parent *proc.Lines) error {
	return parent.Send(probe(job))
}

func probe(job Job) (a Answer) {
	err := create(job, &a)
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

// logs make NIXL and UCX say why, and UCX say what it has; both read them when
// they are loaded.
var logs = map[string]string{"NIXL_LOG_LEVEL": "INFO", "UCX_LOG_LEVEL": "debug", "UCX_LOG_FILE": "stderr"}

func create(job Job, a *Answer) (err error) {
	for name, value := range logs {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	lib, err := nixl.Open(nixl.Options{Library: job.Library})
	if err != nil {
		return err
	}
	agent, err := lib.NewAgent(fmt.Sprintf("doctor-%s", job.Plugin), nixl.AgentConfig{NoProgressThread: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, agent.Destroy()) }()
	info, err := agent.PluginInfo(job.Plugin)
	if err != nil {
		return err
	}
	a.Loaded = true
	for _, m := range info.Mems {
		a.Mems = append(a.Mems, m.String())
	}
	_, err = agent.CreateBackend(job.Plugin, nil)
	return err
}
