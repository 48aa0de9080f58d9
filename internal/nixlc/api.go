// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package nixlc holds the raw C symbols of NIXL's C interface, one method a
// function, with the library's own return codes and no protection at all.
//
// It exists for two callers. Package nixl builds the binding that people use
// on it. The hazard command uses it to show what happens without protection:
// [API.ReleaseRequest] of a transfer in flight answers success and stops
// nothing. Nothing that a library user can import does that.
//
// # Duties of the caller
//
//  1. No call beside DestroyAgent of the same agent, and none after it: the
//     library dereferences freed memory and the process dies.
//  2. No Status, Post or Poll of a released request, for the same reason.
//  3. Memory in descriptors is never Go-heap memory and stays mapped while a
//     peer has the metadata that names it.
//  4. Agents are created with [SyncStrict]; any goroutine may then call.
//
// A library is never closed: its threads may still run.
package nixlc

// Handles are addresses of the library's own objects; zero is none. They are
// integers here because they are no memory that Go manages.
type (
	// Agent is a nixl_capi_agent_t.
	Agent uintptr
	// Backend is a nixl_capi_backend_t; zero lets the library choose.
	Backend uintptr
	// Request is a nixl_capi_xfer_req_t.
	Request uintptr
	// Prepared is a nixl_capi_xfer_dlist_handle_t.
	Prepared uintptr
	// NotifMap is a nixl_capi_notif_map_t.
	NotifMap uintptr
)

// Desc is one contiguous range. Its layout is that of the C side's array.
type Desc struct {
	Addr uint64
	Len  uint64 // bytes
	Dev  uint64 // device, file descriptor or object, by kind of memory; 0 for DRAM
}

// List is an array of ranges of one kind of memory.
type List struct {
	Mem   MemType
	Descs []Desc
}

// Sync is how the library guards an agent against its callers.
type Sync int32

// Sync modes, with the library's numbers. Only SyncStrict survives many
// threads in all measured combinations.
const (
	SyncNone Sync = iota
	SyncStrict
	SyncRW
)

// AgentConfig is what an agent is created with.
type AgentConfig struct {
	ProgressThread  bool
	ProgressDelayUS uint64 // 0 spins on a whole core
	Sync            Sync
	Telemetry       bool
}

// RequestSpec describes a request built from descriptor lists.
type RequestSpec struct {
	Op      Op
	Local   List
	Remote  List
	Peer    string
	Backend Backend
	Notify  []byte // none when empty
}

// MakeSpec describes a request built from prepared lists by index.
type MakeSpec struct {
	Op          Op
	Local       Prepared
	LocalIndex  []int32
	Remote      Prepared
	RemoteIndex []int32
	Notify      []byte // none when empty
}

// Notif is one notification that arrived.
type Notif struct {
	Agent   string
	Message []byte
}

// API is NIXL's C interface. Methods are named after the C functions, which
// their comments name, without the prefix nixl_capi_.
type API interface {
	// Has tells whether the library exports the whole name symbol.
	Has(symbol string) bool
	// Origin is the file the library was loaded from, as the loader says.
	Origin() string

	CreateAgent(name string, cfg AgentConfig) (Agent, Code) // create_configured_agent
	DestroyAgent(Agent) Code                                // destroy_agent
	Plugins(Agent) ([]string, Code)                         // get_available_plugins
	// CreateBackend is create_backend; params are key, value, key, value.
	CreateBackend(a Agent, plugin string, params []string) (Backend, Code)
	// DestroyBackend is destroy_backend: it frees the wrapper, the engine
	// lives as long as its agent.
	DestroyBackend(Backend) Code

	RegisterMem(Agent, List, Backend) Code   // register_mem
	DeregisterMem(Agent, List, Backend) Code // deregister_mem: no fence, stops nothing

	LocalMD(Agent) ([]byte, Code)                        // get_local_md
	LoadRemoteMD(Agent, []byte) (name string, code Code) // load_remote_md: cut data poisons the name
	InvalidateRemoteMD(Agent, string) Code               // invalidate_remote_md: transfers go on
	CheckRemoteMD(Agent, string) Code                    // check_remote_md, without descriptors
	MakeConnection(Agent, string) Code                   // agent_make_connection

	// PrepXferDlist is prep_xfer_dlist; an empty peer prepares a local list.
	PrepXferDlist(a Agent, peer string, l List, b Backend) (Prepared, Code)
	ReleaseXferDlist(Agent, Prepared) Code             // release_xfer_dlist_handle
	CreateRequest(Agent, *RequestSpec) (Request, Code) // create_xfer_req
	MakeRequest(Agent, *MakeSpec) (Request, Code)      // make_xfer_req
	Post(Agent, Request) Code                          // post_xfer_req: may block while it copies
	Status(Agent, Request) Code                        // get_xfer_status
	// Poll asks get_xfer_status for every request in one crossing into C.
	// codes must be at least as long as requests.
	Poll(a Agent, requests []Request, codes []Code)
	// ReleaseRequest is release_xfer_req. In flight it answers success and
	// cancels nothing: the memory is still read or written afterwards.
	ReleaseRequest(Agent, Request) Code
	DestroyRequest(Request) Code // destroy_xfer_req: frees the wrapper, after ReleaseRequest

	CreateNotifMap() (NotifMap, Code) // create_notif_map
	DestroyNotifMap(NotifMap) Code    // destroy_notif_map
	// TakeNotifs is get_notifs and the walk over the map, which is cleared.
	// One caller at a time for each map.
	TakeNotifs(Agent, NotifMap) ([]Notif, Code)
	GenNotif(a Agent, peer string, message []byte) Code // gen_notif
}
