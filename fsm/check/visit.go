// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package check

// successor is a state that differs from the loaded one in one component.
type successor struct {
	code uint64
	comp uint8
}

// visit puts states into the queue, unless they were seen.
func (x *explorer) visit(list []successor) {
	switch {
	case x.direct:
		for _, s := range list {
			c := s.comp & (maxComps - 1)
			moved := x.field(s.code, int(c)) - uint64(x.idx[c])
			if x.seen.mark(x.here + moved*x.seen.weight[c]) {
				x.q.push(s.code)
			}
		}
	case x.inside != nil:
		for _, s := range list {
			x.arrive(s.code)
		}
	default:
		for _, s := range list {
			code := s.code
			if x.sym {
				code = x.reorder(code, int(s.comp))
			}
			if x.seen.add(code) {
				x.q.push(code)
			}
		}
	}
}

// arrive puts a state into the queue, unless it was seen.
func (x *explorer) arrive(code uint64) {
	if x.sym {
		code = x.canonical(code)
	}
	if x.inside != nil && x.reached(x.inside, code) {
		return
	}
	if x.seen.add(code) {
		x.q.push(code)
	}
}
