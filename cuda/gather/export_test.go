// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package gather

// KernelPTX is what the engine loads, for the benchmark that launches it by hand.
var KernelPTX = kernelPTX
