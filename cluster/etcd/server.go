// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// DefaultQuota bounds the bytes of an embedded server's database. A database
// that is larger takes no writes any more: cluster.ErrFull.
const DefaultQuota = 2 << 30

// backendCommit is the time between two commits of the database. Nothing is written
// while one runs, for as long as its two fsyncs take: ten a second, as etcd has it
// without a word, would show in the latency of one request in a hundred. What is not
// yet in the database is in the log, from which a server that starts takes it.
const backendCommit = time.Second

// ServerConfig says how an etcd server inside of this process runs. Zero fields
// take the defaults.
type ServerConfig struct {
	// Dir is where it keeps its data. Required. A server that starts again with
	// its old data goes on where it stopped.
	Dir string
	// Name is the member's; default "kvxfer".
	Name string
	// Listen is host:port for clients; default a free port on the loopback
	// interface. Peers is host:port for other members, the same by default.
	Listen, Peers string
	// AdvertisePeers is host:port at which other members reach this one, where
	// that is not Peers.
	AdvertisePeers string
	// Members are the names of all members and their host:port for members, this
	// one included; none: it is the only one.
	Members map[string]string
	// CertFile, KeyFile and CAFile turn TLS on for clients, who have to show a
	// certificate of that CA. Without them an address that is not the loopback
	// interface is refused.
	CertFile, KeyFile, CAFile string
	// PeerCertFile, PeerKeyFile and PeerCAFile do the same between members.
	PeerCertFile, PeerKeyFile, PeerCAFile string
	// Quota bounds the database in bytes; DefaultQuota.
	Quota int64
	// Heartbeat is that of the members; an election takes ten. Default 100 ms.
	Heartbeat time.Duration
	// Logger gets what the server has to say; nil: nobody.
	Logger *zap.Logger

	_ struct{}
}

// Server is an etcd server inside of this process.
type Server struct {
	etcd *embed.Etcd
	url  string
}

// Start starts a server and waits until it can serve. The context bounds that
// alone. The error matches ErrConfig, or is etcd's.
func Start(ctx context.Context, config ServerConfig) (*Server, error) {
	c, err := config.embed()
	if err != nil {
		return nil, err
	}
	e, err := embed.StartEtcd(c)
	if err != nil {
		return nil, fmt.Errorf("etcd: start in %s: %w", config.Dir, err)
	}
	s := &Server{etcd: e, url: c.ListenClientUrls[0].Scheme + "://" + e.Clients[0].Addr().String()}
	select {
	case <-e.Server.ReadyNotify():
		return s, nil
	case err = <-e.Err():
	case <-e.Server.StopNotify():
		err = fmt.Errorf("it stopped")
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	e.Close()
	return nil, fmt.Errorf("etcd: start in %s: %w", config.Dir, err)
}

// URL returns where clients reach the server.
func (s *Server) URL() string { return s.url }

// Leader reports whether this member leads.
func (s *Server) Leader() bool { return s.etcd.Server.Leader() == s.etcd.Server.MemberID() }

// Err returns a channel that gives an error when the server has failed.
func (s *Server) Err() <-chan error { return s.etcd.Err() }

// Close stops the server. Its data stays.
func (s *Server) Close() { s.etcd.Close() }

func (c ServerConfig) embed() (*embed.Config, error) {
	if c.Dir == "" {
		return nil, fmt.Errorf("etcd: data directory: none: %w", ErrConfig)
	}
	name := c.Name
	if name == "" {
		name = "kvxfer"
	}
	client, err := address(c.Listen, c.CertFile != "")
	if err != nil {
		return nil, err
	}
	peer, err := address(c.Peers, c.PeerCertFile != "")
	if err != nil {
		return nil, err
	}
	advertised := peer
	if c.AdvertisePeers != "" {
		advertised.Host = c.AdvertisePeers
	}
	e := embed.NewConfig()
	e.Dir, e.Name = c.Dir, name
	e.ListenClientUrls, e.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	e.ListenPeerUrls, e.AdvertisePeerUrls = []url.URL{peer}, []url.URL{advertised}
	e.InitialCluster = initialCluster(c.Members, name, advertised)
	e.ClientTLSInfo = tlsInfo(c.CertFile, c.KeyFile, c.CAFile)
	e.PeerTLSInfo = tlsInfo(c.PeerCertFile, c.PeerKeyFile, c.PeerCAFile)
	e.QuotaBackendBytes = DefaultQuota
	if c.Quota > 0 {
		e.QuotaBackendBytes = c.Quota
	}
	if c.Heartbeat > 0 {
		e.TickMs = uint(c.Heartbeat.Milliseconds())
		e.ElectionMs = 10 * e.TickMs
	}
	e.BackendBatchInterval = backendCommit
	// Ranks read what changed within seconds; older changes are of no use.
	e.AutoCompactionMode, e.AutoCompactionRetention = embed.CompactorModePeriodic, "1m"
	e.GRPCKeepAliveMinTime = 500 * time.Millisecond
	logger := c.Logger
	if logger == nil {
		logger = zap.NewNop()
	}
	e.ZapLoggerBuilder = embed.NewZapLoggerBuilder(logger)
	return e, nil
}

// address is host:port as a URL. Without TLS it must be the loopback interface.
func address(hostPort string, secure bool) (url.URL, error) {
	if hostPort == "" {
		hostPort = "127.0.0.1:0"
	}
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		return url.URL{}, fmt.Errorf("etcd: address %q: %w: %w", hostPort, ErrConfig, err)
	}
	if secure {
		return url.URL{Scheme: "https", Host: hostPort}, nil
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return url.URL{}, fmt.Errorf("etcd: address %q: not the loopback interface, and no certificate is given: %w", hostPort, ErrConfig)
	}
	return url.URL{Scheme: "http", Host: hostPort}, nil
}

func initialCluster(members map[string]string, own string, peer url.URL) string {
	if len(members) == 0 {
		return own + "=" + peer.String()
	}
	var list []string
	for name, hostPort := range members {
		list = append(list, name+"="+peer.Scheme+"://"+hostPort)
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}

func tlsInfo(cert, key, ca string) transport.TLSInfo {
	return transport.TLSInfo{CertFile: cert, KeyFile: key, TrustedCAFile: ca, ClientCertAuth: ca != ""}
}
