// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixlc

// Prefix is what every symbol of the C interface starts with.
const Prefix = "nixl_capi_"

// needs lists the symbols, without [Prefix], that each optional function
// calls. A function that is not listed needs required symbols only.
var needs = map[string][]string{
	"get_local_partial_md":  {"get_local_partial_md"},
	"send_local_md":         {"send_local_md", "opt_args_set_ip_addr", "opt_args_set_port"},
	"send_local_partial_md": {"send_local_partial_md", "opt_args_set_ip_addr", "opt_args_set_port"},
	"fetch_remote_md":       {"fetch_remote_md", "opt_args_set_ip_addr", "opt_args_set_port"},
	"invalidate_local_md":   {"invalidate_local_md", "opt_args_set_ip_addr", "opt_args_set_port"},
	"get_plugin_params":     append([]string{"get_plugin_params"}, paramsNeed...),
	"get_backend_params":    append([]string{"get_backend_params"}, paramsNeed...),
	"query_mem": append([]string{"query_mem", "create_query_resp_list", "destroy_query_resp_list",
		"query_resp_list_size", "query_resp_list_has_value", "query_resp_list_get_params"}, paramsNeed...),
	"estimate_xfer_cost":           {"estimate_xfer_cost"},
	"get_xfer_telemetry":           {"get_xfer_telemetry"},
	"query_xfer_backend":           {"query_xfer_backend"},
	"opt_args_set_custom_param":    {"opt_args_set_custom_param"},
	"opt_args_set_skip_desc_merge": {"opt_args_set_skip_desc_merge"},
	"prep_mem_view_local":          {"prep_mem_view_local", "release_mem_view"},
	"prep_mem_view_remote": {"prep_mem_view_remote", "release_mem_view",
		"create_remote_dlist", "remote_dlist_add_desc", "destroy_remote_dlist"},
}

var paramsNeed = []string{"params_is_empty", "params_create_iterator", "params_iterator_next",
	"params_destroy_iterator", "mem_list_size", "mem_list_get", "destroy_mem_list"}

// Unused tells of every symbol that this package never calls why not. Together
// with what it calls that is the whole C interface.
var Unused = map[string]string{
	"create_agent":                 "create_configured_agent says the same with a configuration",
	"is_stub":                      "the stub is for programs that link the library",
	"mem_list_is_empty":            "mem_list_size says it",
	"mem_type_to_string":           "MemType.String needs no library",
	"opt_args_get_custom_param":    "optional arguments are written only",
	"opt_args_get_has_notif":       "optional arguments are written only",
	"opt_args_get_notif_msg":       "optional arguments are written only",
	"opt_args_get_skip_desc_merge": "optional arguments are written only",
	"reg_dlist_clear":              listsAreSlices,
	"reg_dlist_desc_count":         listsAreSlices,
	"reg_dlist_get_type":           listsAreSlices,
	"reg_dlist_is_empty":           listsAreSlices,
	"reg_dlist_print":              "prints to standard output, which belongs to the program",
	"reg_dlist_rem_desc":           listsAreSlices,
	"reg_dlist_resize":             listsAreSlices,
	"reg_dlist_trim":               listsAreSlices,
	"xfer_dlist_clear":             listsAreSlices,
	"xfer_dlist_desc_count":        listsAreSlices,
	"xfer_dlist_get_type":          listsAreSlices,
	"xfer_dlist_is_empty":          listsAreSlices,
	"xfer_dlist_len":               listsAreSlices,
	"xfer_dlist_print":             "prints to standard output, which belongs to the program",
	"xfer_dlist_rem_desc":          listsAreSlices,
	"xfer_dlist_resize":            listsAreSlices,
	"xfer_dlist_trim":              listsAreSlices,
}

const listsAreSlices = "a list is a Go slice; the library's own is made from it for one call"
