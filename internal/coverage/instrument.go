// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/kvxfer/kvxfer/fsm/load"
	"github.com/kvxfer/kvxfer/internal/overlay"
)

// noting is what the overlay adds to package fsm. A thing is written when it is
// first met in a process, so that no end of the process has to be waited for; after
// that it costs a load, and nothing is allocated, as the tests count allocations.
const noting = `package fsm

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

var (
	noting sync.Mutex
	notes  *os.File
)

// Note writes that a cell, a combination or a guard was met.
func Note(what string, key ...fmt.Stringer) {
	noting.Lock()
	defer noting.Unlock()
	dir := os.Getenv("KVXFER_COVERAGE")
	if notes == nil && dir != "" {
		notes, _ = os.CreateTemp(dir, filepath.Base(os.Args[0])+"-*")
	}
	if notes == nil {
		return
	}
	for _, v := range key {
		what += " " + v.String()
	}
	fmt.Fprintln(notes, what)
}

// Truth spells a bool.
type Truth bool

func (t Truth) String() string { return fmt.Sprint(bool(t)) }

// NoteOnce notes what was not noted yet.
func NoteOnce(noted *bool, what string) {
	if !*noted {
		*noted = true
		Note(what)
	}
}

// NoteError notes a refusal of a system.
func NoteError(noted *bool, e *CallError, what string) error {
	NoteOnce(noted, what)
	return e
}
`

// instrument writes an overlay in which machines, tables and systems note what they
// are asked. It returns the guards of each system: the names of its refusals.
func instrument(set *load.Set, work string) (map[string][]guard, error) {
	replaced := overlay.New(work)
	if err := replaced.Put("fsm/note.go", []byte(noting)); err != nil {
		return nil, err
	}
	guards := map[string][]guard{}
	for _, s := range set.Specs {
		h := s.Header()
		path := filepath.Join("gen", h.Name, h.Name+".gen.go")
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		text := string(data)
		switch s.(type) {
		case *load.Machine:
			text = noteMachine(h.Name, text)
		case *load.Table:
			text, err = noteTable(h.Name, text)
		case *load.System:
			text, guards[h.Name] = noteSystem(h.Name, text)
		}
		if err != nil {
			return nil, err
		}
		if err := replaced.Put(path, []byte(text)); err != nil {
			return nil, err
		}
	}
	const checker = "ownership/invariant.go"
	data, err := os.ReadFile(checker)
	if err != nil {
		return nil, err
	}
	text, err := noteInvariants(string(data))
	if err != nil {
		return nil, err
	}
	if err := replaced.Put(checker, []byte(text)); err != nil {
		return nil, err
	}
	_, err = replaced.Write()
	return guards, err
}

// noteMachine notes each cell: state and event.
func noteMachine(name, text string) string {
	const head = "func Next(s State, e Event) (State, fsm.Result) {\n"
	return strings.Replace(text, head, fmt.Sprintf(`var noted [256][256]bool // not exact under a race: a note may come twice

%s	if !noted[s][e] && s.IsValid() && e.IsValid() {
		noted[s][e] = true
		fsm.Note(%q, s, e)
	}
`, head, name), 1)
}

var (
	decide = regexp.MustCompile(`(?m)^func Decide\(([^)]*)\) Decision \{$`)
	answer = regexp.MustCompile(`(?m)^\treturn decisions\[answers\[(.*)\]\]$`)
)

// noteTable notes each combination of inputs.
func noteTable(name, text string) (string, error) {
	m, index := decide.FindStringSubmatch(text), answer.FindStringSubmatch(text)
	if m == nil || index == nil {
		return "", fmt.Errorf("gen/%s: no function Decide as it is generated", name)
	}
	var params []string
	for _, p := range strings.Split(m[1], ",") {
		of := strings.Fields(p)
		if of[1] == "bool" {
			of[0] = "fsm.Truth(" + of[0] + ")"
		}
		params = append(params, of[0])
	}
	text = strings.Replace(text, index[0], fmt.Sprintf(`	i := %s
	if !noted[i] {
		noted[i] = true
		fsm.Note(%q, %s)
	}
	return decisions[answers[i]]`, index[1], name, strings.Join(params, ", ")), 1)
	return imported(text, "github.com/kvxfer/kvxfer/fsm") + "\nvar noted [len(answers)]bool\n", nil
}

// imported adds an import where it is missing.
func imported(text, path string) string {
	if strings.Contains(text, `"`+path+`"`) {
		return text
	}
	if i := strings.Index(text, "import ("); i >= 0 {
		return text[:i+len("import (")] + "\n\t\"" + path + "\"" + text[i+len("import ("):]
	}
	i := strings.Index(text, "import ")
	return text[:i] + "import \"" + path + "\"\n" + text[i:]
}

// guard is one refusal of a system, or that an action was taken.
type guard struct {
	key    string // as it is noted
	action string
	kind   string // the contract's word; "done" where it is taken
	reason string
}

// never are actions that cannot be taken: each call of them is refused.
var never = map[string]string{
	"send Outsider": "an operation towards somebody outside of the cohort is stale, fatal, reject or conflict",
}

var (
	refusal = regexp.MustCompile(`(?m)^(\t+)return (out|System\{\}), (err[A-Z]\w*)$`)
	taken   = regexp.MustCompile(`(?m)^(\t+)return out, nil$`)
	static  = regexp.MustCompile(`(?m)^\t(err\w+)\s*= &fsm\.CallError\{System: "(\w+)", Action: "(\w+)", Kind: fsm\.(\w+), Reason: "(.*)"\}$`)
)

// noteSystem notes each refusal, and each action that is taken.
func noteSystem(name, text string) (string, []guard) {
	var guards []guard
	for _, m := range static.FindAllStringSubmatch(text, -1) {
		if m[1] == "errNew" || strings.HasSuffix(m[1], "Argument") {
			continue // an argument out of its type: no guard of the spec
		}
		guards = append(guards, guard{name + " " + m[1], m[3], m[4], strings.ReplaceAll(m[5], `\"`, `"`)})
	}
	text = refusal.ReplaceAllString(text, `${1}return ${2}, fsm.NoteError(&noted.${3}, ${3}, "`+name+` ${3}")`)
	flags := []string{}
	for _, g := range guards {
		flags = append(flags, strings.TrimPrefix(g.key, name+" "))
	}
	for _, m := range static.FindAllStringSubmatch(text, -1) {
		if m[1] == "errNew" || strings.HasSuffix(m[1], "Argument") {
			flags = append(flags, m[1])
		}
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return text, guards // go test says what is wrong
	}
	for i := len(file.Decls) - 1; i >= 0; i-- {
		f, ok := file.Decls[i].(*ast.FuncDecl)
		if !ok || f.Recv == nil || !f.Name.IsExported() || f.Type.Results == nil || f.Type.Results.NumFields() != 2 {
			continue
		}
		from, to := fset.Position(f.Body.Pos()).Offset, fset.Position(f.Body.End()).Offset
		key := name + " " + f.Name.Name
		body := taken.ReplaceAllString(text[from:to], "${1}fsm.NoteOnce(&noted.done"+f.Name.Name+", \""+key+"\")\n${1}return out, nil")
		if body != text[from:to] && never[key] == "" {
			guards = append(guards, guard{key, f.Name.Name, "done", ""})
			flags = append(flags, "done"+f.Name.Name)
			text = text[:from] + body + text[to:]
		}
	}
	return text + "\nvar noted struct { " + strings.Join(flags, ", ") + " bool }\n", guards
}
