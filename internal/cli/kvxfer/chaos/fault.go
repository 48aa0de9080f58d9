// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import "time"

// Fault is what happens in a run, while all nodes move data in both directions.
type Fault string

// The faults.
const (
	None             Fault = "none"
	StopContinue     Fault = "stop-continue"
	Slow             Fault = "slow"
	KillBeforePost   Fault = "kill-before-post"
	KillInFlight     Fault = "kill-in-flight"
	KillAfter        Fault = "kill-after"
	Restart          Fault = "restart"
	Renew            Fault = "renew"
	MetadataLost     Fault = "metadata-lost"
	ShortReads       Fault = "short-reads"
	Lengths          Fault = "lengths"
	OutOfBounds      Fault = "out-of-bounds"
	Repost           Fault = "repost"
	DoubleRelease    Fault = "double-release"
	Cancels          Fault = "cancels"
	NotificationLost Fault = "notification-lost"
)

// Faults lists them in the order in which they are run, with what each one does.
var Faults = []struct {
	Fault Fault
	Does  string
}{
	{None, "nothing: data moves, in all directions"},
	{StopContinue, "a process stands still until others doubt it, and goes on"},
	{Slow, "a process mostly stands still"},
	{KillBeforePost, "a process is killed with requests that it has not answered"},
	{KillInFlight, "a process is killed in the middle of transfers"},
	{KillAfter, "a process is killed at rest, and is asked again"},
	{Restart, "a process is killed in the middle of transfers and comes again under its name"},
	{Renew, "agents are removed and added again, back to back, in the middle of transfers"},
	{MetadataLost, "NIXL forgets a peer's metadata in the middle of transfers towards it"},
	{ShortReads, "control messages arrive in small pieces, and streams are cut"},
	{Lengths, "the two sides of a transfer state different lengths"},
	{OutOfBounds, "descriptors that lie outside of their memory, of nobody, of nothing"},
	{Repost, "operations are posted again: in flight, when over, when released"},
	{DoubleRelease, "handles are released in flight and twice, with the memory and the agent that they use"},
	{Cancels, "transfers are cancelled at random moments"},
	{NotificationLost, "who was to be notified of an end is killed before"},
}

// Names lists the faults' names.
func Names() []string {
	var list []string
	for _, f := range Faults {
		list = append(list, string(f.Fault))
	}
	return list
}

const (
	regions       = 6
	operationWait = 300 * time.Millisecond
)

// regionBytes is as much as it takes to be in flight for long enough.
func regionBytes(f Fault) int {
	switch f {
	case KillInFlight, Restart, NotificationLost, StopContinue, Renew, MetadataLost:
		return 4 << 20
	case Cancels:
		return 256 << 10
	}
	return 1 << 20
}
