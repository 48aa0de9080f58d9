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
	// View is a nixl_capi_mem_view_t.
	View uintptr
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
	// Blobs, when not nil, has for each range what a plugin needs to know of
	// it, such as an object's key. Registration and queries read it.
	Blobs [][]byte
}

// Where is where metadata is exchanged: a peer that listens, or with the zero
// value the store that the environment names.
type Where struct {
	IP   string
	Port uint16
}

// PluginParams is what a plugin or a backend says of itself.
type PluginParams struct {
	Mems   []MemType
	Params map[string]string
}

// Found is the answer about one range.
type Found struct {
	Exists bool
	Params map[string]string
}

// Cost is the library's estimate.
type Cost struct {
	DurationUS, MarginUS int64
	Method               int32
}

// Telemetry is what the library measured of one transfer.
type Telemetry struct {
	StartUS, PostUS, TransferUS, Bytes, Descriptors uint64
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
	ListenPort      uint16 // 0: no thread that listens for peers' metadata
	ListenDelayUS   uint64
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
	Extra
}

// Extra is what both ways to build a request can carry.
type Extra struct {
	Notify    []byte // none when empty
	Custom    []byte // for the plugin; needs opt_args_set_custom_param
	SkipMerge bool   // needs opt_args_set_skip_desc_merge
}

// MakeSpec describes a request built from prepared lists by index.
type MakeSpec struct {
	Op          Op
	Local       Prepared
	LocalIndex  []int32
	Remote      Prepared
	RemoteIndex []int32
	Backend     Backend
	Extra
}

// Notif is one notification that arrived.
type Notif struct {
	Agent   string
	Message []byte
}

// API is NIXL's C interface. Methods are named after the C functions, which
// their comments name, without the prefix nixl_capi_. A method whose symbols the
// library lacks answers [CodeMissing] and calls nothing.
type API interface {
	// Has tells whether the library exports the whole name symbol.
	Has(symbol string) bool
	// Lacks names the symbol that the function call misses; empty: none.
	Lacks(call string) string
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

	// PluginParams is get_plugin_params, or get_backend_params when b is not 0.
	PluginParams(a Agent, plugin string, b Backend) (PluginParams, Code)

	RegisterMem(Agent, List, Backend) Code         // register_mem
	DeregisterMem(Agent, List, Backend) Code       // deregister_mem: no fence, stops nothing
	QueryMem(Agent, List, Backend) ([]Found, Code) // query_mem

	LocalMD(Agent) ([]byte, Code)                        // get_local_md
	LoadRemoteMD(Agent, []byte) (name string, code Code) // load_remote_md: cut data poisons the name
	InvalidateRemoteMD(Agent, string) Code               // invalidate_remote_md: transfers go on
	CheckRemoteMD(Agent, string, List) Code              // check_remote_md
	MakeConnection(Agent, string) Code                   // agent_make_connection
	LocalPartialMD(Agent, List, Backend) ([]byte, Code)  // get_local_partial_md
	SendLocalMD(Agent, Where) Code                       // send_local_md: asynchronous
	SendLocalPartialMD(Agent, List, Where) Code          // send_local_partial_md: asynchronous
	FetchRemoteMD(Agent, string, Where) Code             // fetch_remote_md: asynchronous
	InvalidateLocalMD(Agent, Where) Code                 // invalidate_local_md: asynchronous

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
	DestroyRequest(Request) Code                // destroy_xfer_req: frees the wrapper, after ReleaseRequest
	EstimateCost(Agent, Request) (Cost, Code)   // estimate_xfer_cost
	Telemetry(Agent, Request) (Telemetry, Code) // get_xfer_telemetry
	// RequestBackend is query_xfer_backend, as an index into backends, or
	// their number when it is none of them.
	RequestBackend(Agent, Request, []Backend) (int, Code)
	// ExactStatus asks the C++ core, whose codes the C interface folds; false
	// where the core cannot be asked. A C++ exception would end the process, so
	// only a request whose status is an error already may be asked about: the
	// core then answers from memory.
	ExactStatus(Agent, Request) (int32, bool)

	// PrepView is prep_mem_view_local, or prep_mem_view_remote when names is not
	// nil: one peer for each range.
	PrepView(a Agent, l List, names []string, b Backend) (View, Code)
	ReleaseView(Agent, View) Code // release_mem_view

	CreateNotifMap() (NotifMap, Code) // create_notif_map
	DestroyNotifMap(NotifMap) Code    // destroy_notif_map
	// TakeNotifs is get_notifs and the walk over the map, which is cleared.
	// One caller at a time for each map.
	TakeNotifs(Agent, NotifMap) ([]Notif, Code)
	GenNotif(a Agent, peer string, message []byte) Code // gen_notif
}
