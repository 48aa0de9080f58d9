// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// initialisms keep their capitals in Go names.
var initialisms = map[string]bool{
	"api": true, "cpu": true, "dma": true, "gpu": true, "http": true, "id": true,
	"io": true, "ip": true, "ok": true, "rdma": true, "rpc": true, "tcp": true, "udp": true, "url": true, "uuid": true,
}

// GoName gives the exported Go name of a spec name: IN_DOUBT is InDoubt, done_ok
// is DoneOK.
func GoName(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(strings.ToLower(name), "_") {
		switch {
		case part == "":
		case initialisms[part]:
			b.WriteString(strings.ToUpper(part))
		default:
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}

// GoParam gives the unexported Go name of a spec name: in_doubt is inDoubt.
func GoParam(name string) string {
	first, rest, more := strings.Cut(strings.ToLower(name), "_")
	if !more {
		return first
	}
	return first + GoName(rest)
}

// packagePaths are folder names that Go treats specially, or packages that
// generated code imports.
var packagePaths = []string{"main", "internal", "vendor", "testdata", "fsm", "strconv", "atomic", "errors", "doc"}

// reserved reports whether Go gives name a meaning of its own.
func reserved(name string) bool {
	return token.IsKeyword(name) || types.Universe.Lookup(name) != nil || name == "init"
}

// reservedParam reports whether an input cannot be a parameter with this name:
// generated code uses it where inputs are parameters.
func reservedParam(name string) bool {
	return token.IsKeyword(name) || slices.Contains([]string{"decisions", "answers", "whys", "whyOf", "d", "int"}, name) || strings.HasPrefix(name, "bit")
}

// goNames finds names that would be the same in Go, or differ by case alone, which
// nobody could read.
type goNames struct {
	r     *reader
	taken map[string]goName // by lower case
}

// goName is a Go name with what has it.
type goName struct{ name, owner string }

func (r *reader) goNames(generated ...string) *goNames {
	g := &goNames{r: r, taken: map[string]goName{}}
	for _, name := range generated {
		g.taken[strings.ToLower(name)] = goName{name, "the generated code"}
	}
	return g
}

// take claims the Go name of a spec name, or notes the collision.
func (g *goNames) take(pos Pos, kind, name, inGo string) {
	other, used := g.taken[strings.ToLower(inGo)]
	switch {
	case !used:
		g.taken[strings.ToLower(inGo)] = goName{inGo, kind + " " + name}
	case other.name == inGo:
		g.r.errs.Add(g.r.file, pos, "%s %s has the Go name %s, as has %s", kind, name, inGo, other.owner)
	default:
		g.r.errs.Add(g.r.file, pos, "%s %s has the Go name %s, which differs by case alone from %s of %s", kind, name, inGo, other.name, other.owner)
	}
}

// reservedPackage reports whether a spec cannot have name, as its package could not.
func reservedPackage(name string) bool {
	return reserved(name) || slices.Contains(packagePaths, name)
}
