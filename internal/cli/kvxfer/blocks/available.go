// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package blocks

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Available is how many bytes of memory this process may still take: the
// kernel's own estimate, and not more than its control group allows.
// False where the system does not say.
func Available() (int64, bool) {
	meminfo, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	free, ok := parseMeminfo(meminfo)
	if !ok {
		return 0, false
	}
	if left, ok := cgroupLeft(); ok {
		free = min(free, left)
	}
	return free, true
}

func parseMeminfo(text []byte) (int64, bool) {
	sc := bufio.NewScanner(bytes.NewReader(text))
	for sc.Scan() {
		rest, ok := strings.CutPrefix(sc.Text(), "MemAvailable:")
		if !ok {
			continue
		}
		kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
		return kb << 10, err == nil
	}
	return 0, false
}

// cgroupLeft is what a container's memory limit leaves (cgroup v2, as seen
// from inside the container).
func cgroupLeft() (int64, bool) {
	limit, ok := readNumber("/sys/fs/cgroup/memory.max")
	if !ok {
		return 0, false
	}
	used, ok := readNumber("/sys/fs/cgroup/memory.current")
	return max(limit-used, 0), ok
}

func readNumber(path string) (int64, bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64) // "max" is no number: no limit
	return n, err == nil
}

// CheckFits refuses a shape whose pools, one a process, do not fit in memory.
func (s Shape) CheckFits(processes int) error {
	free, known := Available()
	need := s.PoolBytes() * int64(processes)
	if known && need > free {
		return &SizeError{"layers × blocks × block-size", s.Bytes(),
			fmt.Sprintf("bytes need %d bytes for the pools of both sides, and %d are available; give a smaller shape", need, free)}
	}
	return nil
}
