// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package kvxfer

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/kvxfer/kvxfer"

// layer is what a package may import outside of its tests.
type layer struct {
	ours  []string // packages of this module; "gen/*" stands for every generated one
	third []string // prefixes of other modules' packages
	cgo   bool
}

// layers is the only list of who may import whom (architecture: data flows
// down as effects and up as evidence; an adapter never decides). A package
// that is missing here fails the test: decide its layer first.
var layers = map[string]layer{
	".": {},

	// The core: the standard library and each other.
	"spec":              {},
	"fsm":               {},
	"gen":               {},
	"gen/*":             {ours: []string{"fsm", "gen/*"}},
	"ownership":         {ours: []string{"fsm", "gen/*"}},
	"ownership/explain": {ours: []string{"ownership", "ownership/blocks", "gen/*"}},
	"ownership/blocks":  {},
	"backend":           {},
	"fence":             {ours: []string{"backend", "gen/*"}},
	"memory":            {},
	"transfer/wire":     {},
	"transfer":          {ours: []string{"ownership", "ownership/explain", "ownership/blocks", "transfer/wire", "backend", "fence", "memory", "gen/*"}},

	// The property suite: the model knows nothing of what it judges.
	"proptest":       {},
	"proptest/model": {},
	// Makes mutants of the core for the tests to find.
	"internal/mutate":  {ours: []string{"internal/overlay"}},
	"internal/overlay": {},

	// fsmgen's own: what loads, checks, draws and emits.
	"fsm/expr":      {},
	"fsm/load":      {ours: []string{"fsm", "fsm/expr"}, third: []string{"go.yaml.in/yaml/v3"}},
	"fsm/check":     {ours: []string{"fsm", "fsm/expr", "fsm/load"}},
	"fsm/codegen":   {ours: []string{"fsm", "fsm/expr", "fsm/load"}, third: []string{"github.com/dave/jennifer"}},
	"fsm/draw":      {ours: []string{"fsm", "fsm/expr", "fsm/load"}},
	"fsm/export":    {ours: []string{"fsm", "fsm/expr", "fsm/load"}},
	"fsm/lint":      {ours: []string{"fsm", "fsm/expr", "fsm/load"}},
	"fsm/format":    {ours: []string{"fsm", "fsm/expr", "fsm/load"}, third: []string{"go.yaml.in/yaml/v3"}},
	"fsm/mutate":    {ours: []string{"fsm", "fsm/load"}},
	"fsm/compare":   {ours: []string{"fsm", "fsm/expr", "fsm/load"}},
	"fsm/interpret": {ours: []string{"fsm", "fsm/expr", "fsm/load"}},
	"fsm/bench":     {},
	"fsm/looplab":   {ours: []string{"fsm"}, third: []string{"github.com/looplab/fsm"}},

	// Adapters.
	"internal/dl":            {cgo: true},
	"internal/nixlc":         {ours: []string{"internal/dl"}, cgo: true},
	"internal/ctest":         {},
	"internal/yamlfile":      {third: []string{"go.yaml.in/yaml/v3"}},
	"internal/nixltest":      {ours: []string{"internal/ctest"}},
	"nixl":                   {ours: []string{"internal/dl", "internal/nixlc"}, cgo: true},
	"nixl/wheel":             {},
	"nixl/interop":           {},
	"backend/loop":           {ours: []string{"backend", "memory"}},
	"backend/nixl":           {ours: []string{"backend", "memory", "nixl"}},
	"backend/backendtest":    {ours: []string{"backend", "memory"}},
	"internal/cudac":         {ours: []string{"internal/dl"}, cgo: true},
	"cuda":                   {ours: []string{"internal/dl", "internal/cudac"}},
	"cuda/cudatest":          {ours: []string{"internal/ctest", "internal/dl", "cuda"}, cgo: true},
	"cuda/gather":            {ours: []string{"backend", "cuda"}},
	"cuda/health":            {ours: []string{"internal/dl"}, third: []string{"github.com/NVIDIA/go-nvml"}},
	"transfer/rpc":           {ours: []string{"transfer", "transfer/wire", "transfer/rpc/pb", "ownership"}, third: []string{"google.golang.org/grpc", "google.golang.org/protobuf", "golang.org/x/sys", "golang.org/x/time"}},
	"transfer/rpc/authority": {},
	"transfer/admin":         {ours: []string{"transfer", "fence", "ownership", "ownership/explain"}},
	"transfer/rpc/pb":        {third: []string{"google.golang.org/grpc", "google.golang.org/protobuf"}},
	"trace":                  {ours: []string{"ownership", "gen/*", "fsm"}},
	"trace/mapping":          {ours: []string{"trace", "gen/*", "internal/yamlfile"}, third: []string{"go.yaml.in/yaml/v3"}},
	"scenario":               {ours: []string{"ownership", "transfer", "backend", "backend/loop", "gen/*", "fsm", "internal/yamlfile"}, third: []string{"go.yaml.in/yaml/v3"}},

	"cluster":           {ours: []string{"ownership", "fsm", "gen/*"}},
	"cluster/memstore":  {ours: []string{"cluster"}},
	"cluster/etcd":      {ours: []string{"cluster"}, third: []string{"go.etcd.io/etcd", "go.uber.org/zap", "google.golang.org/grpc"}},
	"cluster/storetest": {ours: []string{"cluster"}},

	// Commands.
	"internal/cli/exit":   {},
	"internal/coverage":   {ours: []string{"fsm", "fsm/load", "internal/overlay"}},
	"internal/bench":      {ours: []string{"*"}},
	"internal/proc":       {third: []string{"golang.org/x/sys"}},
	"internal/cli/fsmgen": {ours: []string{"*"}, third: []string{"github.com/spf13", "golang.org/x", "github.com/rogpeppe/go-internal/diff"}},
	"internal/cli/kvxfer": {ours: []string{"*"}, third: []string{"github.com/spf13", "golang.org/x", "go.uber.org/zap", "github.com/schollz/progressbar", "github.com/jedib0t/go-pretty", "github.com/dustin/go-humanize"}},
	// What its commands do, apart from flags and printing.
	"internal/cli/kvxfer/blocks": {ours: []string{"transfer/wire"}},
	"internal/cli/kvxfer/doctor": {ours: []string{"nixl", "cuda", "cuda/health", "internal/proc", "internal/cli/kvxfer/blocks"}, third: []string{"golang.org/x/sys", "github.com/dustin/go-humanize"}},
	"internal/cli/kvxfer/meter":  {ours: []string{"backend"}},
	"internal/cli/kvxfer/move":   {ours: []string{"*"}},
	"internal/cli/kvxfer/hazard": {ours: []string{"*"}},
	"internal/cli/kvxfer/chaos":  {ours: []string{"*"}},
	"internal/cli/kvxfer/files":  {ours: []string{"*"}},
	"internal/cli/kvxfer/ranks":  {ours: []string{"*"}, third: []string{"golang.org/x/sys"}},
	"cmd/fsmgen":                 {ours: []string{"internal/cli/fsmgen"}},
	"cmd/kvxfer":                 {ours: []string{"internal/cli/kvxfer"}},
	"examples/sidecar":           {ours: []string{"transfer", "transfer/admin", "transfer/rpc", "backend", "backend/loop", "memory", "ownership"}},
	"examples/quickstart":        {ours: []string{"transfer", "backend", "backend/loop", "memory", "ownership"}},
}

// testOnly lists what only _test.go files and packages ending in "test" may
// import: some of these register flags at import time, and none belongs in a
// user's program.
var testOnly = []string{"testing", "pgregory.net/rapid", "github.com/rogpeppe/go-internal/testscript", "github.com/anishathalye/porcupine"}

// rawSymbols is the one package outside of nixl that may call NIXL's raw C
// symbols: the hazard command shows what unsafe code does.
const rawSymbols, mayUseRaw = "internal/nixlc", "internal/cli/kvxfer/hazard"

// TestLayering reads the sources itself rather than asking "go list": the test
// cache tracks files that this process opens, and would miss edits seen by a
// child only.
func TestLayering(t *testing.T) {
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if n := d.Name(); n == "testdata" || n == "tools" || n == "bin" || n != "." && strings.HasPrefix(n, ".") {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") {
			checkImports(t, filepath.ToSlash(file))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkImports(t *testing.T, file string) {
	t.Helper()
	pkg := path.Dir(file)
	allowed, known := layerOf(pkg)
	if !known {
		t.Errorf("%s: package %s is not in the table of layers", file, pkg)
		return
	}
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range f.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if why := forbidden(pkg, imp, allowed); why != "" {
			t.Errorf("%s: may not import %q: %s", file, imp, why)
		}
	}
}

func layerOf(pkg string) (layer, bool) {
	if l, ok := layers[pkg]; ok {
		return l, true
	}
	if strings.HasPrefix(pkg, "gen/") {
		return layers["gen/*"], true
	}
	return layer{}, false
}

// forbidden says why pkg may not import imp, or nothing.
func forbidden(pkg, imp string, l layer) string {
	ours, inside := strings.CutPrefix(imp, module+"/")
	switch {
	case inside:
		if ours == rawSymbols && slices.Contains([]string{mayUseRaw, "nixl"}, pkg) {
			return ""
		}
		if ours == rawSymbols {
			return "only nixl and the hazard command may reach the raw symbols"
		}
		if !slices.ContainsFunc(l.ours, func(a string) bool { return matches(a, ours) }) {
			return "not below " + pkg
		}
	case imp == "C":
		if !l.cgo {
			return "cgo stays behind the seam"
		}
	case isTestOnly(imp):
		if !strings.HasSuffix(pkg, "test") {
			return "only for tests"
		}
	case strings.Contains(strings.SplitN(imp, "/", 2)[0], "."):
		if !slices.ContainsFunc(l.third, func(p string) bool { return imp == p || strings.HasPrefix(imp, p+"/") }) {
			return "another module's package that this layer has no use for"
		}
	}
	return ""
}

func matches(pattern, pkg string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(pkg, prefix)
	}
	return pattern == pkg
}

func isTestOnly(imp string) bool {
	return slices.ContainsFunc(testOnly, func(p string) bool { return imp == p || strings.HasPrefix(imp, p+"/") })
}

// TestForbidden shows that the check above can fail.
func TestForbidden(t *testing.T) {
	for _, c := range []struct {
		pkg, imp string
		ok       bool
	}{
		{"ownership", module + "/gen/claim", true},
		{"ownership", module + "/backend", false},
		{"ownership", "sync", true},
		{"ownership", "C", false},
		{"ownership", "google.golang.org/grpc", false},
		{"transfer", "testing", false},
		{"backend/backendtest", "testing", true},
		{"transfer/rpc", "google.golang.org/grpc/keepalive", true},
		{"backend/nixl", module + "/internal/nixlc", false},
		{"internal/cli/kvxfer/hazard", module + "/internal/nixlc", true},
		{"internal/cli/kvxfer", module + "/internal/nixlc", false},
		{"gen/claim", module + "/fsm", true},
		{"gen/claim", module + "/fsm/load", false},
	} {
		l, _ := layerOf(c.pkg)
		if why := forbidden(c.pkg, c.imp, l); (why == "") != c.ok {
			t.Errorf("%s importing %s: got %q, allowed should be %v", c.pkg, c.imp, why, c.ok)
		}
	}
}
