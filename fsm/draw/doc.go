// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

// Package draw renders specs for people: state diagrams as SVG, Mermaid and
// Graphviz DOT, matrices as Markdown and HTML, and a whole page a spec.
//
// The promise: the same spec gives the same bytes, no external program is run,
// and in an SVG no two names lie on each other, whatever the machine.
package draw
