// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"github.com/dave/jennifer/jen"

	"github.com/kvxfer/kvxfer/fsm/load"
)

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
