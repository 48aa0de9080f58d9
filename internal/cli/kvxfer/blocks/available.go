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

// FitError says that the pools of a shape are larger than the memory.
type FitError struct {
	Need, Available int64 // bytes
}

// Error gives both sizes.
func (e *FitError) Error() string {
	return fmt.Sprintf("pools of %d bytes do not fit in %d available", e.Need, e.Available)
}

// CheckFits refuses a shape whose pools, one for each of n sides, do not fit in
// memory.
func (s Shape) CheckFits(n int) error {
	free, known := Available()
	if need := s.PoolBytes() * int64(n); known && need > free {
		return &FitError{Need: need, Available: free}
	}
	return nil
}
