// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/kvxfer/kvxfer/transfer"
)

// escape is for the value of a label.
var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// WriteMetrics writes metrics of one endpoint in the Prometheus text format,
// version 0.0.4. Each has the endpoint's name as a label.
func WriteMetrics(w io.Writer, endpoint string, metrics []transfer.Metric) error {
	b := bufio.NewWriter(w)
	last := ""
	for _, m := range metrics {
		if m.Name != last {
			fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", m.Name, m.Help, m.Name, m.Kind)
			last = m.Name
		}
		fmt.Fprintf(b, `%s{endpoint="%s"`, m.Name, escape.Replace(endpoint))
		if m.Label != "" {
			fmt.Fprintf(b, `,%s="%s"`, m.Label, escape.Replace(m.LabelValue))
		}
		fmt.Fprintf(b, "} %s\n", strconv.FormatFloat(m.Value, 'g', -1, 64))
	}
	return b.Flush()
}
