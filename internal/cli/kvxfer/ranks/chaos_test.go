// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package ranks

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kvxfer/kvxfer/cluster"
	"github.com/kvxfer/kvxfer/cluster/etcd"
	"github.com/kvxfer/kvxfer/internal/proc"
)

// all runs every fault instead of the bounded part that a usual test run has.
var all = flag.Bool("chaos", false, "run all faults, not the bounded part")

const (
	rankRole = "be-a-rank"
	etcdRole = "be-an-etcd"
)

// TestMain makes this program the processes that the tests start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == rankRole || os.Args[1] == etcdRole) {
		if err := role(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, os.Args[1]+":", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	os.Exit(m.Run())
}

func role(name string) error {
	parent, err := proc.Parent()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-parent.Ended(); cancel() }()
	if name == rankRole {
		var plan Plan
		if err := parent.Recv(ctx, &plan); err != nil {
			return err
		}
		return Serve(ctx, plan, parent)
	}
	var c etcd.ServerConfig
	if err := parent.Recv(ctx, &c); err != nil {
		return err
	}
	server, err := etcd.Start(ctx, c)
	if err != nil {
		return err
	}
	if err := parent.Send(server.URL()); err != nil {
		return err
	}
	for { // asked whether it leads
		var ask string
		if err := parent.Recv(ctx, &ask); err != nil {
			server.Close()
			return nil
		}
		if err := parent.Send(server.Leader()); err != nil {
			return err
		}
	}
}

// quiet takes what dying processes say.
type quiet struct{ t *testing.T }

func (q quiet) Write(p []byte) (int, error) {
	q.t.Logf("%s", strings.TrimSpace(string(p)))
	return len(p), nil
}

func startRole(t *testing.T, name string) (*proc.Child, error) {
	return proc.Start(proc.Spec{Args: []string{"ranks", name}, Stderr: quiet{t}})
}

// member is an etcd server in a process of its own.
type member struct {
	*proc.Child
	config etcd.ServerConfig
	url    string
}

func (m *member) start(t *testing.T) {
	t.Helper()
	var err error
	if m.Child, err = startRole(t, etcdRole); err != nil {
		t.Fatal(err)
	}
	child := m.Child
	t.Cleanup(func() { _ = child.Close() })
	if err := m.Send(m.config); err != nil {
		t.Fatal(err)
	}
}

func (m *member) ready(t *testing.T, ctx context.Context) {
	t.Helper()
	if err := m.Recv(ctx, &m.url); err != nil {
		t.Fatalf("etcd %s: %v", m.config.Name, err)
	}
}

// startEtcd starts n members, whose words to each other go through proxies.
func startEtcd(t *testing.T, ctx context.Context, n int) (members []*member, between []*proxy) {
	t.Helper()
	names := map[string]string{}
	for i := range n {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr := free.Addr().String()
		_ = free.Close()
		p := newProxy(t, addr)
		m := &member{config: etcd.ServerConfig{Name: fmt.Sprint("m", i), Dir: t.TempDir(), Peers: addr, AdvertisePeers: p.addr(), Heartbeat: 50 * time.Millisecond}}
		names[m.config.Name] = p.addr()
		members, between = append(members, m), append(between, p)
	}
	for _, m := range members {
		m.config.Members = names
		m.start(t)
	}
	for _, m := range members {
		m.ready(t, ctx)
	}
	return members, between
}

// fault is a run with something that goes wrong.
type fault struct {
	t       *testing.T
	ctx     context.Context
	run     *Run
	members []*member
	between []*proxy // between the members
	before  []*proxy // between each rank and its etcd
	dead    map[string]bool
}

const chaosRanks = 4

func newFault(t *testing.T, members int) *fault {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	f := &fault{t: t, ctx: ctx, dead: map[string]bool{}}
	f.members, f.between = startEtcd(t, ctx, members)
	o := Options{
		Plan: Plan{Group: "chaos", Ranks: chaosRanks, Lease: 2 * time.Second, Mix: Mix{Fail: 20, Cancel: 60},
			Hold: 10 * time.Millisecond, Drain: 5 * time.Millisecond, Folder: t.TempDir()},
		Rate: 200, Kill: -1, Patience: 60 * time.Second,
		Start: func() (*proc.Child, error) { return startRole(t, rankRole) },
	}
	f.run = &Run{Options: o, Children: make([]*proc.Child, chaosRanks), Lives: make([]string, chaosRanks), next: 1}
	t.Cleanup(f.run.Close)
	for rank := range chaosRanks {
		f.before = append(f.before, newProxy(t, strings.TrimPrefix(f.members[rank%members].url, "http://")))
		f.launch(rank, "", 0)
	}
	f.regroup()
	return f
}

func (f *fault) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fault) launch(rank int, step string, times int) {
	f.t.Helper()
	plan := f.run.Plan
	plan.Etcd = Access{Endpoints: []string{"http://" + f.before[rank].addr()}}
	for i, m := range f.members { // the others are where it goes when its own is gone
		if i != rank%len(f.members) {
			plan.Etcd.Endpoints = append(plan.Etcd.Endpoints, m.url)
		}
	}
	plan.FailAt, plan.FailAfter = step, times
	f.must(f.run.Launch(f.ctx, rank, plan))
}

func (f *fault) regroup() { f.t.Helper(); f.must(f.run.Regroup(f.ctx)) }
func (f *fault) pace(n int) {
	f.t.Helper()
	f.must(f.run.Pace(f.ctx, n))
}

// kill ends a rank's process and returns its life.
func (f *fault) kill(rank int) string {
	f.run.Children[rank].Kill()
	f.dead[f.run.Lives[rank]] = true
	return f.run.Lives[rank]
}

func (f *fault) fence(rank int, life string) {
	f.t.Helper()
	f.must(f.run.WriteFence(f.ctx, rank, life, "the process was reaped"))
}

// end waits until everything is retired or its reason known, and judges.
// retained says whether something is to be left.
func (f *fault) end(retained bool) {
	f.t.Helper()
	if retained {
		f.run.Patience = 3 * time.Second
	}
	reports, err := f.run.Finish(f.ctx)
	f.must(err)
	events, err := ReadHistories(f.run.Folder)
	f.must(err)
	v := Judge(events, f.run.Mix, chaosRanks)
	for _, b := range v.Broken {
		f.t.Error(b)
	}
	if !linearizable(events, chaosRanks) {
		f.t.Error("porcupine refuses the history")
	}
	listed := map[string]bool{}
	for _, r := range reports {
		for _, q := range r.Retained {
			listed[fmt.Sprint(r.Rank, q.Session)] = len(q.Waits) > 0
		}
	}
	if retained == (len(listed) == 0) {
		f.t.Errorf("%d parts are retained, wanted some: %v; such as %v", len(listed), retained, reports)
	}
	f.unlisted(events, listed)
	f.t.Logf("%d requests, %d parts retired, %d retained and listed", v.Requests, v.Retired, len(listed))
	if v.Retired == 0 {
		f.t.Error("nothing retired at all")
	}
}

// unlisted finds parts that are neither retired, nor listed, nor died with their process.
func (f *fault) unlisted(events []Event, listed map[string]bool) {
	f.t.Helper()
	type key struct{ rank, n int }
	open := map[key]string{}
	for _, e := range events {
		switch e.What {
		case Opened:
			open[key{e.Rank, e.Request}] = e.Life
		case Retired:
			delete(open, key{e.Rank, e.Request})
		}
	}
	for k, life := range open {
		if !f.dead[life] && !listed[fmt.Sprint(k.rank, session(k.n).String())] {
			f.t.Errorf("rank %d holds request %d and does not list it", k.rank, k.n)
		}
	}
}

// faults are what may go wrong. Those that are usual run in every test run.
var faults = []struct {
	name    string
	members int
	usual   bool
	run     func(*fault)
}{
	{"none", 1, false, func(f *fault) { f.pace(300); f.end(false) }},
	{"kill", 1, true, func(f *fault) {
		f.pace(100)
		f.kill(1)
		f.pace(100)
		f.end(true)
	}},
	{"kill and fence", 1, true, func(f *fault) {
		f.pace(100)
		life := f.kill(1)
		f.pace(100)
		f.fence(1, life)
		f.end(false)
	}},
	{"restart", 1, true, func(f *fault) {
		f.pace(100)
		life := f.kill(1)
		f.launch(1, "", 0)
		f.regroup()
		f.pace(100)
		f.fence(1, life)
		f.end(false)
	}},
	{"restart without a fence", 1, false, func(f *fault) {
		f.pace(100)
		f.kill(1)
		f.launch(1, "", 0)
		f.regroup()
		f.pace(100)
		f.end(true)
	}},
	{"pause beyond the lease", 1, true, func(f *fault) {
		f.pace(100)
		f.must(f.run.Children[1].Stop(f.ctx))
		f.pace(100)
		time.Sleep(3 * f.run.Lease)
		f.must(f.run.Children[1].Continue(f.ctx))
		f.regroup()
		f.pace(50)
		f.end(false)
	}},
	{"partition of a rank from etcd", 1, true, func(f *fault) {
		f.pace(100)
		f.before[1].cut()
		f.pace(100)
		time.Sleep(3 * f.run.Lease)
		f.before[1].heal()
		f.before[1].reset()
		f.pace(50)
		f.end(false)
	}},
	{"short partition of a rank from etcd", 1, false, func(f *fault) {
		f.pace(100)
		f.before[1].cut()
		f.pace(50)
		f.before[1].heal()
		f.end(false)
	}},
	{"delay", 1, false, func(f *fault) {
		for i, p := range f.before {
			p.slow(time.Duration(i) * 20 * time.Millisecond)
		}
		f.pace(200)
		f.end(false)
	}},
	{"connections break, changes are compacted", 1, false, func(f *fault) {
		for range 5 {
			f.pace(40)
			f.before[1].reset()
			f.before[2].reset()
			f.compact()
		}
		f.end(false)
	}},
	{"etcd restarts", 1, false, func(f *fault) {
		f.pace(100)
		m := f.members[0]
		m.config.Listen = strings.TrimPrefix(m.url, "http://")
		m.Kill()
		f.pace(20)
		m.start(f.t)
		m.ready(f.t, f.ctx)
		f.pace(50)
		f.end(false)
	}},
	{"leader change", 3, true, func(f *fault) {
		f.pace(100)
		leader := f.leader()
		f.members[leader].Kill()
		f.pace(100)
		f.end(false)
	}},
	{"leader pauses", 3, false, func(f *fault) {
		f.pace(100)
		leader := f.leader()
		f.must(f.members[leader].Stop(f.ctx))
		f.pace(100)
		time.Sleep(2 * time.Second)
		f.must(f.members[leader].Continue(f.ctx))
		f.pace(50)
		f.end(false)
	}},
	{"partition between the members and so between ranks", 3, false, func(f *fault) {
		f.pace(100)
		leader := f.leader()
		f.between[leader].cut()
		f.pace(100)
		time.Sleep(3 * f.run.Lease)
		f.between[leader].heal()
		f.pace(50)
		f.end(false)
	}},
}

func (f *fault) leader() int {
	f.t.Helper()
	for {
		for i, m := range f.members {
			var leads bool
			f.must(m.Send("leader?"))
			f.must(m.Recv(f.ctx, &leads))
			if leads {
				return i
			}
		}
		f.must(f.ctx.Err())
	}
}

func (f *fault) compact() {
	f.t.Helper()
	store, err := etcd.Dial(f.ctx, etcd.Config{Endpoints: []string{f.members[0].url}})
	f.must(err)
	defer func() { _ = store.Close() }()
	_, at, err := store.Load(f.ctx, "/")
	f.must(err)
	f.must(store.Compact(f.ctx, at))
}

// TestChaos puts each fault into a run of real processes on a real etcd. No
// rank may retire before its siblings drained, and everything is retired or
// listed with the reason.
func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	for _, c := range faults {
		if !c.usual && !*all {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(newFault(t, c.members))
		})
	}
}

// usualSteps are the steps at which a process ends in every test run.
var usualSteps = []cluster.Step{cluster.AfterOpen, cluster.AfterState, cluster.BeforeApply}

// rareSteps are not come to a second time in such a run.
var rareSteps = []cluster.Step{
	cluster.BeforeRegister, cluster.AfterRegister, cluster.BeforeCollect, cluster.AfterCollect, cluster.BeforeFence, cluster.AfterFence,
}

// TestChaosBetweenSteps ends a process between any two steps of the protocol,
// starts another one in its place, and fences the dead one.
func TestChaosBetweenSteps(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	for _, step := range cluster.Steps() {
		if !*all && !slices.Contains(usualSteps, step) {
			continue
		}
		for _, times := range []int{1, 7} {
			if times == 1 && !*all || times > 1 && slices.Contains(rareSteps, step) {
				continue
			}
			t.Run(fmt.Sprint(step, " ", times), func(t *testing.T) {
				t.Parallel()
				betweenSteps(newFault(t, 1), step, times)
			})
		}
	}
}

func betweenSteps(f *fault, step cluster.Step, times int) {
	f.pace(40)
	first := f.kill(2) // so that the process that ends at the step has one to fence
	f.fence(2, first)
	plan := f.run.Plan
	plan.Etcd = Access{Endpoints: []string{"http://" + f.before[2].addr()}}
	plan.FailAt, plan.FailAfter = step.String(), times
	before := f.run.Lives[2]
	if err := f.run.Launch(f.ctx, 2, plan); err == nil {
		f.regroup()
		f.pace(100)
		f.fenceOrderTo(2, before) // it writes a fence as well
	}
	state, err := f.run.Children[2].Wait(within(f.t, time.Minute))
	if err != nil {
		f.t.Fatalf("the process never came to step %v: %v", step, err)
	} else if !state.Signaled || state.Signal != syscall.SIGKILL {
		f.t.Errorf("the process %v, want that it killed itself", state)
	}
	f.launch(2, "", 0)
	f.regroup()
	f.pace(40)
	f.fenceAllOf(2)
	f.end(false)
}

// fenceOrderTo asks one rank to write a fence, which may be its end.
func (f *fault) fenceOrderTo(rank int, life string) {
	o := &fenceOrder{Rank: rank, Life: life, Kind: "process", Checked: "the process was reaped", By: "test"}
	if f.run.Children[rank].Send(command{Fence: o}) == nil {
		_, _ = receive(f.ctx, f.run.Children[rank])
	}
}

// fenceAllOf fences every incarnation of a rank but the newest, as registered
// in etcd: a process that died at its birth never said who it was.
func (f *fault) fenceAllOf(rank int) {
	f.t.Helper()
	store, err := etcd.Dial(f.ctx, etcd.Config{Endpoints: []string{f.members[0].url}})
	f.must(err)
	defer func() { _ = store.Close() }()
	entries, _, err := store.Load(f.ctx, fmt.Sprintf("/kvxfer/chaos/m/%d/", rank))
	f.must(err)
	for _, e := range entries {
		if life := string(e.Value); life != f.run.Lives[rank] {
			f.dead[life] = true
			f.fence(rank, life)
		}
	}
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
