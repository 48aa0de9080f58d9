// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"strings"

	"github.com/kvxfer/kvxfer/fsm/expr"
)

// System is a few machines and variables, some replicated, the actions that change
// them, what the outside world may do, and the properties that have to hold.
// docs/fsmgen-systems.md describes the language.
type System struct {
	Head
	Scenario     string           // what a scenario of a run begins with, with {members} and {variable}
	Sets         []*expr.IndexSet // what variables are replicated over
	Machines     []*Machine       // that the system uses, in the order of the file
	Tables       []*Table         // that the system asks, in the order of the file
	Enums        []*expr.Type     // that the system defines itself
	Vars         []*expr.Var
	Defs         []*expr.Def
	Procs        []*expr.Proc
	Effects      []*EffectType
	Environments []string // names of the environments, the first is the default
	Initially    *expr.Node
	Actions      []*Action
	Reactions    []*Reaction
	Properties   []*Property
	Fair         []*Fairness
	Survivors    []Survivor
	ProcPos      map[*expr.Proc]Pos
	Horizon      int // the last point in time of the model; 0 if there is no time

	raw *systemReader
}

// EffectType is an effect that actions may ask their caller to carry out.
type EffectType struct {
	Name, Doc string
	Params    []*expr.Local
}

// Action is one thing that can happen: a call of the system, or a deed of the
// outside world.
type Action struct {
	Name        string
	Doc         string
	Pos         Pos
	Params      []*expr.Local
	Scenario    string       // the step of a scenario, with {parameter} for values, and {refused}
	Environment bool         // the outside world acts; no code is generated
	Assume      *expr.Node   // when the outside world would do this; nil: any time
	When        *expr.Node   // when it is enabled; nil: always
	Refuse      []*Refusal   // judged in order, the first that holds refuses
	Do          []*expr.Stmt // what it changes
	World       []*expr.Stmt // what it changes in the hidden truth
}

// Refusal is a call that fails.
type Refusal struct {
	Kind string // of the error, such as closed
	Why  string
	Pos  Pos
	When *expr.Node
	Do   []*expr.Stmt // what is changed all the same; nil for most
}

// Reaction is a rule that fires by itself, after every action, as long as its
// condition holds.
type Reaction struct {
	Name string
	Doc  string
	Pos  Pos
	For  *expr.Local // a replica, or nil
	When *expr.Node
	Do   []*expr.Stmt
}

// PropertyKind is the kind of a property. The zero value is no kind.
type PropertyKind uint8

// The kinds of properties; leave one out and some bug cannot be seen.
const (
	_          PropertyKind = iota
	OfState                 // holds in every reachable state
	OfStep                  // holds for every step, over the state before and after
	AfterEvent              // holds after every occurrence of one action, moved or not
	Eventually              // every fair run that starts in From comes to Then
)

// Property is something that has to hold.
type Property struct {
	Name    string
	Doc     string
	Kind    PropertyKind
	Pos     Pos
	Refuted bool          // the spec says that it does not hold, and why
	For     []*expr.Local // one instance for each replica
	Action  *Action       // AfterEvent
	Args    []*expr.Local // AfterEvent: the parameters of the action
	From    *expr.Node    // AfterEvent and Eventually: the condition before; nil: always, or the first state
	Then    *expr.Node
}

// Fairness is an assumption: what stays possible is done at some time.
type Fairness struct {
	Pos     Pos
	Doc     string
	For     *expr.Local
	While   *expr.Node
	Actions []FairAction // any one of these will do
}

// FairAction is an action with some of its parameters fixed.
type FairAction struct {
	Action *Action
	Args   []*expr.Local // nil: any value of this parameter
	Values []int         // of a parameter that is fixed to one value of its enum; -1 for others
}

// Survivor is a change of the system that no property finds, with the reason why it
// may: fsmgen check --mutate lists the others.
type Survivor struct {
	Change string
	Why    string
	Pos    Pos
}

// Tolerates reports whether the spec explains a change. A * at the end of the spec's
// text stands for any rest.
func (s *System) Tolerates(change string) bool {
	for _, v := range s.Survivors {
		start, rest := strings.CutSuffix(v.Change, "*")
		if change == v.Change || rest && strings.HasPrefix(change, start) {
			return true
		}
	}
	return false
}
