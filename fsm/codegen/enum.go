// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"github.com/dave/jennifer/jen"

	"github.com/kvxfer/kvxfer/fsm/load"
)

// enum emits the type, its constants with their codes, and its methods:
//
//	type State uint8
//	const ( Open State = 1 ... )
//	func _() { var x [1]struct{}; _ = x[Open-1] ... }
//	func AllStates() []State
//	func (s State) IsValid() bool; String; MarshalText; UnmarshalText
func (e *emitter) enum(en *load.Enum) {
	e.comment("%s", en.Name+": "+sentence(en.Doc)+" The zero value is not valid; the codes are stable.")
	e.file.Type().Id(en.Name).Uint8()
	e.file.Const().DefsFunc(func(g *jen.Group) {
		for _, v := range en.Values {
			for _, line := range wrap(v.Go+" ("+v.Name+"): "+sentence(v.Doc), 92) {
				g.Comment(line)
			}
			g.Id(v.Go).Id(en.Name).Op("=").Lit(v.Code)
		}
	})
	e.enumGuard(en)
	e.enumAll(en)
	e.enumText(en)
}

// enumGuard emits a function that stops compiling when a code changes by hand.
func (e *emitter) enumGuard(en *load.Enum) {
	e.file.Comment("A code that differs from the spec's stops the build here.")
	e.file.Func().Id("_").Params().BlockFunc(func(g *jen.Group) {
		g.Var().Id("x").Index(jen.Lit(1)).Struct()
		for _, v := range en.Values {
			g.Id("_").Op("=").Id("x").Index(jen.Id(v.Go).Op("-").Lit(v.Code))
		}
	})
}

func (e *emitter) enumAll(en *load.Enum) {
	e.comment("%s returns every %s in the order of the spec, in a slice of the caller's own.", en.AllName(), en.Name)
	e.file.Func().Id(en.AllName()).Params().Index().Id(en.Name).Block(
		jen.Return(jen.Index().Id(en.Name).ValuesFunc(func(g *jen.Group) {
			for _, v := range en.Values {
				g.Id(v.Go)
			}
		})),
	)
}

func (e *emitter) enumText(en *load.Enum) {
	names, recv := lowerFirst(en.Name)+"Names", "v"
	size, _ := padded(en.MaxCode())
	e.file.Var().Id(names).Op("=").Index(jen.Lit(size)).String().Values(jen.DictFunc(func(d jen.Dict) {
		for _, v := range en.Values {
			d[jen.Id(v.Go)] = jen.Lit(v.Name)
		}
	}))
	method := func(ptr bool) *jen.Statement {
		if ptr {
			return e.file.Func().Params(jen.Id(recv).Op("*").Id(en.Name))
		}
		return e.file.Func().Params(jen.Id(recv).Id(en.Name))
	}
	inRange := jen.Int().Call(jen.Id(recv)).Op("<").Len(jen.Id(names))

	e.comment("IsValid reports whether v is one of the values above.")
	method(false).Id("IsValid").Params().Bool().Block(
		jen.Return(inRange.Clone().Op("&&").Id(names).Index(jen.Id(recv)).Op("!=").Lit("")))

	e.comment("String returns the name in the spec, or %s(n) for a value that is not valid.", en.Name)
	method(false).Id("String").Params().String().Block(
		jen.If(jen.Id(recv).Dot("IsValid").Call()).Block(jen.Return(jen.Id(names).Index(jen.Id(recv)))),
		jen.Return(jen.Lit(en.Name+"(").Op("+").Qual("strconv", "Itoa").Call(jen.Int().Call(jen.Id(recv))).Op("+").Lit(")")))

	e.comment("MarshalText returns the name in the spec; a value that is not valid is an error.")
	method(false).Id("MarshalText").Params().Params(jen.Index().Byte(), jen.Error()).Block(
		jen.If(jen.Op("!").Id(recv).Dot("IsValid").Call()).Block(
			jen.Return(jen.Nil(), jen.Qual("errors", "New").Call(jen.Lit(e.head.Name+": no such value: ").Op("+").Id(recv).Dot("String").Call()))),
		jen.Return(jen.Index().Byte().Call(jen.Id(names).Index(jen.Id(recv))), jen.Nil()))

	e.comment("UnmarshalText sets v to the value with this name; an unknown name is an error and leaves v unchanged.")
	method(true).Id("UnmarshalText").Params(jen.Id("text").Index().Byte()).Error().Block(
		jen.For(jen.List(jen.Id("i"), jen.Id("name")).Op(":=").Range().Id(names)).Block(
			jen.If(jen.Id("name").Op("!=").Lit("").Op("&&").Id("name").Op("==").String().Call(jen.Id("text"))).Block(
				jen.Op("*").Id(recv).Op("=").Id(en.Name).Call(jen.Id("i")),
				jen.Return(jen.Nil()))),
		jen.Return(jen.Qual("errors", "New").Call(
			jen.Lit(e.head.Name+": unknown "+en.Name+" ").Op("+").Qual("strconv", "Quote").Call(jen.String().Call(jen.Id("text"))))))
}

func lowerFirst(s string) string { return string(s[0]|0x20) + s[1:] }
