// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package health

// xids are the driver's error numbers as NVIDIA documents them, with what
// follows. An Xid does not say whose work it hit, so that one that may have
// ended anybody's work is doubt for all of ours.
var xids = map[uint64]struct {
	verdict Verdict
	text    string
}{
	8:   {Doubt, "GPU stopped processing"},
	13:  {Doubt, "graphics engine exception"},
	31:  {Doubt, "memory page fault"},
	32:  {Doubt, "corrupted push buffer"},
	38:  {Doubt, "driver firmware error"},
	43:  {Doubt, "GPU stopped processing: a channel was reset"},
	44:  {Doubt, "fault in a context switch"},
	45:  {Doubt, "channels were ended after an earlier error"},
	48:  {Doubt, "double bit ECC error"},
	61:  {Doubt, "internal micro-controller warning"},
	62:  {Doubt, "internal micro-controller halt"},
	63:  {Quarantine, "row remap or page retirement recorded: the device needs a reset"},
	64:  {Quarantine, "row remap or page retirement could not be recorded"},
	69:  {Doubt, "graphics engine class error"},
	74:  {Doubt, "NVLink error"},
	79:  {Doubt, "GPU has fallen off the bus"},
	92:  {Quarantine, "high rate of single bit ECC errors"},
	94:  {Doubt, "contained memory error"},
	95:  {Doubt, "uncontained memory error"},
	109: {Doubt, "context switch timeout"},
	110: {Doubt, "security fault"},
	119: {Doubt, "timeout of the GPU system processor"},
	120: {Doubt, "error of the GPU system processor"},
	121: {Notice, "corrected error of the link to the CPU"},
	137: {Doubt, "NVLink privilege error"},
	140: {Doubt, "unrecovered ECC error"},
	143: {Doubt, "GPU could not be initialised"},
	154: {Quarantine, "the action to recover the GPU has changed"},
}

// judge is what follows from an Xid; what is not known is doubt.
func judge(xid uint64) (Verdict, string) {
	if x, ok := xids[xid]; ok {
		return x.verdict, x.text
	}
	return Doubt, "unknown error"
}
