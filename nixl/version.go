// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package nixl

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/kvxfer/kvxfer/internal/nixlc"
)

// ErrVersion is matched by every refusal of a library because of its version.
var ErrVersion = errors.New("nixl: unsupported version")

// MinVersion is the oldest version that Open accepts. Of the older ones 1.3.2
// crashes when a handle is posted after its peer's metadata was replaced, and
// 1.0.1 posts it through freed keys.
var MinVersion = Version{1, 4, 1}

// Version is a version of NIXL. The zero value means unknown.
type Version struct{ Major, Minor, Patch int }

// String is major.minor.patch, or "unknown".
func (v Version) String() string {
	if v == (Version{}) {
		return "unknown"
	}
	return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
}

// Less reports whether v is older than w.
func (v Version) Less(w Version) bool {
	if v.Major != w.Major {
		return v.Major < w.Major
	}
	if v.Minor != w.Minor {
		return v.Minor < w.Minor
	}
	return v.Patch < w.Patch
}

var leadingDigits = regexp.MustCompile(`^\d*`)

// ParseVersion reads major.minor.patch; what follows the numbers is ignored.
func ParseVersion(s string) (Version, error) {
	var v Version
	parts := strings.SplitN(s, ".", 3)
	if len(parts) != 3 {
		return Version{}, fmt.Errorf("%w: %q is not major.minor.patch", ErrArgument, s)
	}
	parts[2] = leadingDigits.FindString(parts[2])
	for i, p := range []*int{&v.Major, &v.Minor, &v.Patch} {
		n, err := strconv.Atoi(parts[i])
		if err != nil || n < 0 {
			return Version{}, fmt.Errorf("%w: %q is not major.minor.patch", ErrArgument, s)
		}
		*p = n
	}
	return v, nil
}

// VersionError refuses a library because of its version.
type VersionError struct {
	Path    string
	Version Version // zero when it could not be found out
}

// Error says which file, which version and which one is needed.
func (e *VersionError) Error() string {
	return fmt.Sprintf("nixl: %s is version %v, need %v or newer: older ones crash on a stale handle",
		e.Path, e.Version, MinVersion)
}

// Is makes every VersionError match [ErrVersion].
func (e *VersionError) Is(target error) bool { return target == ErrVersion }

// versionOnDisk reads what the files beside the library say: NIXL exports no
// version. A wheel has a folder of records that carries it in its name; any
// build has it as text in libnixl_common.so.
func versionOnDisk(library string) Version {
	dir := filepath.Dir(library)
	found, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), wheelName(dir)+"-*.dist-info"))
	for _, f := range found {
		_, rest, _ := strings.Cut(strings.TrimSuffix(filepath.Base(f), ".dist-info"), "-")
		if v, err := ParseVersion(rest); err == nil {
			return v
		}
	}
	return versionInText(filepath.Join(dir, "libnixl_common.so"))
}

// wheelName is nixl_cu12 for a folder .nixl_cu12.mesonpy.libs.
func wheelName(libs string) string {
	name, ok := strings.CutSuffix(strings.TrimPrefix(filepath.Base(libs), "."), ".mesonpy.libs")
	if !ok {
		return "nixl"
	}
	return name
}

var versionText = regexp.MustCompile(`\x00(\d+\.\d+\.\d+)\x00`)

// versionInText takes a version only when the file holds exactly one.
func versionInText(file string) Version {
	b, err := os.ReadFile(file)
	if err != nil {
		return Version{}
	}
	var only []byte
	for _, m := range versionText.FindAllSubmatch(b, -1) {
		if only != nil && !bytes.Equal(only, m[1]) {
			return Version{}
		}
		only = m[1]
	}
	v, _ := ParseVersion(string(only))
	return v
}

// versionBySymbols is the last resort: these came with 1.5.
func versionBySymbols(api nixlc.API) Version {
	for _, s := range []string{"nixl_capi_opt_args_set_custom_param", "nixl_capi_prep_mem_view_local"} {
		if api.Has(s) {
			return Version{1, 5, 0}
		}
	}
	return Version{}
}
