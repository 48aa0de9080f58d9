// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package expr

// Op is the operation of a node. The zero value is no operation.
type Op uint8

// The operations of expressions.
const (
	_         Op = iota
	Const        // Val
	ReadVar      // Var, with Args[0] the index if it is replicated; Old: before the step
	ReadLocal    // Local
	Not          // Args[0]
	And          // Args[0] && Args[1]
	Or
	Eq
	Ne
	Lt
	Le
	Gt
	Ge
	Add
	Sub
	Min
	Max
	In     // is the value of Args[0] in Mask?
	Has    // is the index Args[1] in the set Args[0]?
	All    // for every Local in Over (and in the set Args[1], if given): Args[0]
	Any    // for some
	Count  // the number
	Would  // what would offering the event Args[1] to the machine Args[0] give?
	Call   // Def with Args
	Decide // the output Output of Table for Args
)

// Node is one typed expression.
type Node struct {
	Op     Op
	Type   *Type
	Off    int // byte offset into the text
	Args   []*Node
	Val    int
	Mask   uint64
	Var    *Var
	Old    bool // ReadVar and Call: in the state before the step
	Local  *Local
	Over   *IndexSet
	Def    *Def
	Output *Output
}

// Machine is what the language needs of a machine: its states and events as enums,
// and its matrix.
type Machine struct {
	Name    string
	State   *Type
	Event   *Type
	Initial int
	To      [][]int // [state][event]: the state afterwards
	Result  [][]int // [state][event]: a value of Results
}

// Table is a decision table: every combination of inputs has an answer.
type Table struct {
	Name    string
	Inputs  []*Local
	Outputs []*Output
}

// Output is what a table answers. The last input of the table changes fastest in
// Answers; -1 is no value.
type Output struct {
	Table   string
	Name    string
	Type    *Type
	Answers []int
}

// Var is a variable of a system.
type Var struct {
	Name    string
	Type    *Type
	Over    *IndexSet // one for each member; nil for a single variable
	Machine *Machine  // the state of this machine; nil for plain variables
	Set     bool      // declared as a set of Over
	Hidden  bool      // known to the outside world alone
	Output  bool      // kept for the caller; the system itself need not read it
	InitAny bool      // every value may be the first
	Tried   *Type     // InitAny: the first values that a checker tries, where that is not all
	Init    int
	Doc     string
	Used    bool // read somewhere
}

// Tracked reports whether the variable can make a difference: nothing reads what is
// only kept for the caller, so that it is no part of the states to explore.
func (v *Var) Tracked() bool { return v.Used || !v.Output }

// Local is a parameter, the variable of a quantifier or loop, or a result.
type Local struct {
	Name  string
	Type  *Type
	alias *Var // the quantifier ranges over the elements of this variable
}

// Def is a named expression with parameters.
type Def struct {
	Name    string
	Params  []*Local
	Body    *Node // nil until it is typed
	Doc     string
	Used    bool
	Hidden  bool // reads a hidden variable
	UsesOld bool // reads the state before a step
}

// Proc is a named list of statements with parameters.
type Proc struct {
	Name   string
	Params []*Local
	Body   []*Stmt
	Doc    string
	Hidden bool // reads or changes a hidden variable
}

// StmtOp is the operation of a statement. The zero value is no operation.
type StmtOp uint8

// The operations of statements.
const (
	_        StmtOp = iota
	Assign          // Target = Value
	Offer           // offer Value (an event) to the machine Target; Result, if any, takes the answer
	If              // if Value Body else Else
	For             // for Local in Over (and in the set Value, if given) Body
	CallProc        // Proc with Args
	Emit            // the effect Name with Args
)

// Stmt is one typed statement.
type Stmt struct {
	Op     StmtOp
	Off    int
	Target *Node // ReadVar
	Value  *Node
	Local  *Local // Offer: the result, or nil; For: the loop's variable
	Over   *IndexSet
	Body   []*Stmt
	Else   []*Stmt
	Proc   *Proc
	Name   string
	Args   []*Node
}

// Mistake is one error in a text.
type Mistake struct {
	Off int // byte offset into the text
	Msg string
}
