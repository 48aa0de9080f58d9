// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"github.com/dave/jennifer/jen"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// forms emits the three forms of an instance, with the same Offer: a State of one
// byte, a Machine without a lock, a MutexMachine with one.
func (e *emitter) forms(m *load.Machine) {
	e.comment("Offer applies ev to the state in v, and returns the state afterwards and what ev did. It is the form of a machine that one goroutine owns, in one byte.")
	e.file.Func().Params(jen.Id("v").Op("*").Id("State")).Id("Offer").Params(jen.Id("ev").Id("Event")).Params(jen.Id("State"), e.qual("Result")).Block(
		jen.List(jen.Id("s"), jen.Id("res")).Op(":=").Id("Next").Call(jen.Op("*").Id("v"), jen.Id("ev")),
		jen.Op("*").Id("v").Op("=").Id("s"),
		jen.Return(jen.Id("s"), jen.Id("res")))
	e.atomicMachine(m)
	e.mutexMachine(m)
}

// mutexMachine emits the form for machines that are fought for: a mutex hands the
// cache line over in batches, where compare-and-swap loops take it in turns.
func (e *emitter) mutexMachine(m *load.Machine) {
	f := e.file
	recv := func() *jen.Statement { return f.Func().Params(jen.Id("m").Op("*").Id("MutexMachine")) }
	lock := func() []jen.Code {
		return []jen.Code{jen.Id("m").Dot("mu").Dot("Lock").Call(), jen.Defer().Id("m").Dot("mu").Dot("Unlock").Call()}
	}
	e.comment("MutexMachine is a Machine with a lock: faster where many goroutines move one machine all the time, slower everywhere else. The zero MutexMachine is in state %s. It must not be copied after its first use.", m.States[m.Initial()].Name)
	f.Type().Id("MutexMachine").Struct(
		jen.Id("mu").Qual("sync", "Mutex"),
		jen.Id("v").Id("State").Comment("state XOR Initial; guarded by mu"))
	e.comment("State returns the state at some moment during the call.")
	recv().Id("State").Params().Id("State").Block(append(lock(), jen.Return(jen.Id("m").Dot("v").Op("^").Id("Initial")))...)
	e.comment("Offer applies ev at one moment during the call, and returns the state just after that moment and what this very offer did. The lock is held for the table lookup alone.")
	recv().Id("Offer").Params(jen.Id("ev").Id("Event")).Params(jen.Id("State"), e.qual("Result")).Block(append(lock(),
		jen.List(jen.Id("s"), jen.Id("res")).Op(":=").Id("Next").Call(jen.Id("m").Dot("v").Op("^").Id("Initial"), jen.Id("ev")),
		jen.Id("m").Dot("v").Op("=").Id("s").Op("^").Id("Initial"),
		jen.Return(jen.Id("s"), jen.Id("res")))...)
}

// atomicMachine emits a machine that many goroutines share without a lock. The
// state is kept as its difference from the initial one (by XOR), so that the zero
// Machine is a new machine.
func (e *emitter) atomicMachine(m *load.Machine) {
	f := e.file
	recv := func() *jen.Statement { return f.Func().Params(jen.Id("m").Op("*").Id("Machine")) }
	decode := func() *jen.Statement { return jen.Id("State").Call(jen.Id("v")).Op("^").Id("Initial") }

	e.comment("Machine is a machine that goroutines may share without a lock. The zero Machine is in state %s. It must not be copied after its first use.", m.States[m.Initial()].Name)
	f.Type().Id("Machine").Struct(jen.Id("v").Qual("sync/atomic", "Uint32").Comment("state XOR Initial"))

	e.comment("Restore returns a machine in state s, for a state that was stored; a state that is not valid is an error.")
	f.Func().Id("Restore").Params(jen.Id("s").Id("State")).Params(jen.Op("*").Id("Machine"), jen.Error()).Block(
		jen.If(jen.Op("!").Id("s").Dot("IsValid").Call()).Block(
			jen.Return(jen.Nil(), jen.Qual("errors", "New").Call(jen.Lit(m.Name+": cannot restore ").Op("+").Id("s").Dot("String").Call()))),
		jen.Id("m").Op(":=").New(jen.Id("Machine")),
		jen.Id("m").Dot("v").Dot("Store").Call(jen.Uint32().Call(jen.Id("s").Op("^").Id("Initial"))),
		jen.Return(jen.Id("m"), jen.Nil()))

	e.comment("State returns the state at some moment during the call.")
	recv().Id("State").Params().Id("State").Block(
		jen.Id("v").Op(":=").Id("m").Dot("v").Dot("Load").Call(),
		jen.Return(decode()))

	e.comment("Offer applies ev at one moment during the call, and returns the state just after that moment and what this very offer did. Of offers that race, each is judged in the state that the one before it left. It never blocks and never allocates; only a move writes.")
	recv().Id("Offer").Params(jen.Id("ev").Id("Event")).Params(jen.Id("State"), e.qual("Result")).Block(
		jen.For().Block(
			jen.Id("v").Op(":=").Id("m").Dot("v").Dot("Load").Call(),
			jen.List(jen.Id("s"), jen.Id("res")).Op(":=").Id("Next").Call(decode(), jen.Id("ev")),
			jen.If(jen.Id("res").Op("!=").Add(e.qual("Moved")).Op("||").Id("m").Dot("v").Dot("CompareAndSwap").Call(jen.Id("v"), jen.Uint32().Call(jen.Id("s").Op("^").Id("Initial")))).Block(
				jen.Return(jen.Id("s"), jen.Id("res")))))
}
