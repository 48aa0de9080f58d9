// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/kvxfer/kvxfer/nixl"
)

// etcdTime bounds the question to one server.
const etcdTime = time.Second

// etcd asks whether the servers answer that NIXL would keep metadata in.
func etcd(ctx context.Context) []Finding {
	list, set := os.LookupEnv(nixl.EnvEtcd)
	if !set {
		return []Finding{{"etcd", "servers", Note, nixl.EnvEtcd + " is not set: metadata goes over the control stream", ""}}
	}
	if strings.TrimSpace(list) == "" {
		return []Finding{{"etcd", "servers", Problem, nixl.EnvEtcd + " is set and empty: NIXL refuses to make an agent", "unset " + nixl.EnvEtcd}}
	}
	var out []Finding
	for _, endpoint := range strings.Split(list, ",") {
		f := Finding{"etcd", endpoint, OK, "answers", ""}
		if err := reach(ctx, strings.TrimSpace(endpoint)); err != nil {
			f.Level, f.Text, f.Do = Problem, err.Error(), "start it, or unset "+nixl.EnvEtcd+": an agent that asked a server which is not there may never end"
		}
		out = append(out, f)
	}
	return out
}

func reach(ctx context.Context, endpoint string) error {
	host := endpoint
	if u, err := url.Parse(endpoint); err == nil && u.Host != "" {
		host = u.Host
	}
	ctx, cancel := context.WithTimeout(ctx, etcdTime)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", host)
	if err != nil {
		return err
	}
	return conn.Close()
}
