// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

func madviseHuge(b []byte) error {
	if err := syscall.Madvise(b, syscall.MADV_HUGEPAGE); err != nil {
		return fmt.Errorf("memory: madvise(MADV_HUGEPAGE): %w", err)
	}
	return nil
}

// ResidentHuge measures how many bytes of the arena lie in huge pages now, as
// the kernel tells (AnonHugePages in /proc/self/smaps). Pages appear when they
// are first touched.
func (a *Arena) ResidentHuge() (int, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.mapping == nil {
		return 0, nil
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return 0, fmt.Errorf("memory: huge pages in use: %w", err)
	}
	defer f.Close()
	lo := uint64(addrOf(a.mapping))
	hi := lo + uint64(len(a.mapping))
	total, inside := 0, false
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if from, to, ok := addressRange(fields); ok {
			inside = from < hi && to > lo
			continue
		}
		if inside && len(fields) >= 2 && fields[0] == "AnonHugePages:" {
			kib, err := strconv.Atoi(fields[1])
			if err != nil {
				return 0, fmt.Errorf("memory: huge pages in use: %w", err)
			}
			total += kib << 10
		}
	}
	return total, lines.Err()
}

// addressRange parses the first word of a mapping's first line, "from-to".
func addressRange(fields []string) (from, to uint64, ok bool) {
	if len(fields) == 0 {
		return 0, 0, false
	}
	lo, hi, found := strings.Cut(fields[0], "-")
	from, err1 := strconv.ParseUint(lo, 16, 64)
	to, err2 := strconv.ParseUint(hi, 16, 64)
	return from, to, found && err1 == nil && err2 == nil
}
