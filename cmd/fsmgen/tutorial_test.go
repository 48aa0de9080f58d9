// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestTutorial runs the tutorial as it stands: each file is written, each diff applied,
// each command run, and each line of output that the page shows must come.
func TestTutorial(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module")
	}
	page, err := os.ReadFile("../../docs/tutorial-two-phase-commit.md")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "tutorial.txtar")
	if err := os.WriteFile(script, []byte(scriptOf(t, string(page))), 0o600); err != nil {
		t.Fatal(err)
	}
	params := scriptParams(t)
	params.Files = []string{script}
	testscript.Run(t, params)
}

// block is a fenced block of a page: its language, and its lines.
var block = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// fileName is the first line of a block that is a file, and of a diff.
var fileName = regexp.MustCompile(`^(?:#|//|---) (\S+)\n`)

func scriptOf(t *testing.T, page string) string {
	t.Helper()
	var script, archive strings.Builder
	files := map[string]string{} // as they stand now
	put := func(name, text string) {
		files[name] = text
		version := fmt.Sprintf("v%d.txt", strings.Count(archive.String(), "\n-- ")+1)
		fmt.Fprintf(&script, "mkdir %s\ncp %s %s\n", filepath.Dir(name), version, name)
		fmt.Fprintf(&archive, "\n-- %s --\n%s", version, text)
	}
	for _, m := range block.FindAllStringSubmatch(page, -1) {
		text := m[2]
		name := ""
		if m := fileName.FindStringSubmatch(text); m != nil {
			name = m[1]
		}
		switch m[1] {
		case "yaml", "go":
			put(name, text)
		case "diff":
			old, new := diffSides(text)
			if strings.Count(files[name], old) != 1 {
				t.Fatalf("%s does not have this once:\n%s", name, old)
			}
			put(name, strings.Replace(files[name], old, new, 1))
		case "sh":
			for line := range strings.Lines(text) {
				writeCommand(&script, strings.TrimSpace(line))
			}
		case "text":
			for line := range strings.Lines(text) {
				line = strings.TrimSuffix(line, "\n")
				fmt.Fprintf(&script, "stdout '%s'\n", strings.ReplaceAll("^"+regexp.QuoteMeta(line)+"$", "'", "''"))
			}
		default:
			t.Fatalf("a block of language %q", m[1])
		}
	}
	return script.String() + archive.String()
}

// diffSides is what a diff takes out, and what it puts there.
func diffSides(text string) (old, new string) {
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "--- "):
		case line[0] == '-':
			old += line[1:]
		case line[0] == '+':
			new += line[1:]
		}
	}
	return strings.TrimSuffix(old, "\n"), strings.TrimSuffix(new, "\n")
}

// writeCommand writes one command of the page. The module comes from the tree under
// test, in place of the network.
func writeCommand(script *strings.Builder, line string) {
	if module, ok := strings.CutPrefix(line, "go mod init "); ok {
		fmt.Fprintf(script, "scratch %s\n", module)
		return
	}
	if strings.HasPrefix(line, "go get -tool ") {
		return
	}
	command, finds := strings.CutSuffix(line, "   # exits 1")
	if finds {
		script.WriteString("! ")
	}
	fmt.Fprintf(script, "exec %s\n", command)
}
