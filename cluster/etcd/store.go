// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package etcd keeps what the ranks of package cluster share in etcd: a server
// that runs already, see Dial, or one inside of this process, see Start.
package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kvxfer/kvxfer/cluster"
)

// ErrConfig: a configuration is not usable.
var ErrConfig = errors.New("invalid argument")

// Config says where etcd is and who asks.
type Config struct {
	// Endpoints are the URLs of the members. Required.
	Endpoints []string
	// TLS is used for https endpoints; nil takes the system's roots.
	TLS *tls.Config
	// Username and Password log in where etcd's authentication is on.
	Username, Password string
	// KeepAlive is after how long of silence a connection is taken for broken;
	// default 2 s. A watch moves to another member then.
	KeepAlive time.Duration
	// Logger gets what etcd's client has to say; nil: nobody.
	Logger *zap.Logger

	_ struct{}
}

// Store is a connection to etcd. It implements cluster.Store.
type Store struct{ client *clientv3.Client }

var _ cluster.Store = (*Store)(nil)

// Dial connects to etcd, and waits until a member answers, for at most ten
// seconds or until the context ends, which bounds nothing else. Close ends the
// connection.
func Dial(ctx context.Context, config Config) (*Store, error) {
	if len(config.Endpoints) == 0 {
		return nil, fmt.Errorf("etcd: endpoints: none: %w", ErrConfig)
	}
	if config.KeepAlive == 0 {
		config.KeepAlive = 2 * time.Second
	}
	if config.Logger == nil {
		config.Logger = zap.NewNop()
	}
	const timeout = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	client, err := clientv3.New(clientv3.Config{
		Endpoints: config.Endpoints, TLS: config.TLS, Username: config.Username, Password: config.Password,
		DialTimeout: timeout, DialKeepAliveTime: config.KeepAlive, DialKeepAliveTimeout: config.KeepAlive,
		PermitWithoutStream: true, Logger: config.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("etcd: dial %v: %w", config.Endpoints, err)
	}
	if _, err := client.Get(ctx, "/", clientv3.WithCountOnly()); err != nil {
		_ = client.Close()
		return nil, fmt.Errorf("etcd: dial %v: %w", config.Endpoints, told(err))
	}
	return &Store{client}, nil
}

// Close ends the connection.
func (s *Store) Close() error { return s.client.Close() }

// Load implements cluster.Store.
func (s *Store) Load(ctx context.Context, prefix string) ([]cluster.Entry, cluster.Revision, error) {
	got, err := s.client.Get(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		return nil, 0, told(err)
	}
	list := make([]cluster.Entry, len(got.Kvs))
	for i, kv := range got.Kvs {
		list[i] = cluster.Entry{Key: string(kv.Key), Value: kv.Value, Revision: cluster.Revision(kv.ModRevision)}
	}
	return list, cluster.Revision(got.Header.Revision), nil
}

// Commit implements cluster.Store.
func (s *Store) Commit(ctx context.Context, txn cluster.Txn) (cluster.Revision, error) {
	var conditions []clientv3.Cmp
	var then, otherwise []clientv3.Op
	for _, c := range txn.If {
		conditions = append(conditions, clientv3.Compare(clientv3.ModRevision(c.Key), "=", int64(c.Revision)))
		otherwise = append(otherwise, clientv3.OpGet(c.Key, clientv3.WithKeysOnly()))
	}
	for _, p := range txn.Put {
		then = append(then, clientv3.OpPut(p.Key, string(p.Value), clientv3.WithLease(clientv3.LeaseID(p.Lease))))
	}
	for _, r := range txn.Delete {
		then = append(then, clientv3.OpDelete(r.From, clientv3.WithRange(r.To)))
	}
	got, err := s.client.Txn(ctx).If(conditions...).Then(then...).Else(otherwise...).Commit()
	if err != nil {
		return 0, told(err)
	}
	if got.Succeeded {
		return cluster.Revision(got.Header.Revision), nil
	}
	for i, c := range txn.If {
		have := cluster.Revision(0)
		if kvs := got.Responses[i].GetResponseRange().Kvs; len(kvs) > 0 {
			have = cluster.Revision(kvs[0].ModRevision)
		}
		if have != c.Revision {
			return 0, &cluster.ConditionError{Key: c.Key, Want: c.Revision, Have: have}
		}
	}
	return 0, fmt.Errorf("etcd: transaction: refused although its conditions hold")
}

// Grant implements cluster.Store. etcd counts leases in whole seconds, of which
// ttl is rounded up to, and has a least ttl of one and a half election timeouts.
func (s *Store) Grant(ctx context.Context, ttl time.Duration) (cluster.LeaseID, error) {
	got, err := s.client.Grant(ctx, int64((ttl+time.Second-1)/time.Second))
	if err != nil {
		return 0, told(err)
	}
	return cluster.LeaseID(got.ID), nil
}

// KeepAlive implements cluster.Store.
func (s *Store) KeepAlive(ctx context.Context, id cluster.LeaseID) error {
	_, err := s.client.KeepAliveOnce(ctx, clientv3.LeaseID(id))
	return told(err)
}

// Revoke implements cluster.Store.
func (s *Store) Revoke(ctx context.Context, id cluster.LeaseID) error {
	_, err := s.client.Revoke(ctx, clientv3.LeaseID(id))
	return told(err)
}

// told gives an error of etcd the meaning that package cluster knows.
func told(err error) error {
	for from, to := range map[error]error{
		rpctypes.ErrNoSpace: cluster.ErrFull, rpctypes.ErrLeaseNotFound: cluster.ErrLeaseEnded, rpctypes.ErrCompacted: cluster.ErrCompacted,
	} {
		if errors.Is(err, from) || err != nil && status.Code(err) != codes.Unknown && rpctypes.ErrorDesc(err) == rpctypes.ErrorDesc(from) {
			return fmt.Errorf("etcd: %w: %w", to, err)
		}
	}
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	return nil
}
