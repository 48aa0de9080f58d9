// SPDX-FileCopyrightText: The kvxfer authors
// SPDX-License-Identifier: Apache-2.0

package cuda

import (
	"strconv"

	"github.com/kvxfer/kvxfer/internal/cudac"
)

// Result is a code of the CUDA driver (CUresult). It is an error, so that
// errors.Is(err, cuda.ErrorOutOfMemory) works on an [Error].
type Result cudac.Result

// The driver's codes that programs decide on, with CUDA's numbers and names.
const (
	Success                 Result = 0
	ErrorInvalidValue       Result = 1
	ErrorOutOfMemory        Result = 2
	ErrorNotInitialized     Result = 3
	ErrorDeinitialized      Result = 4
	ErrorStubLibrary        Result = 34
	ErrorDeviceUnavailable  Result = 46
	ErrorNoDevice           Result = 100
	ErrorInvalidDevice      Result = 101
	ErrorInvalidImage       Result = 200
	ErrorInvalidContext     Result = 201
	ErrorNoBinaryForGPU     Result = 209
	ErrorECCUncorrectable   Result = 214
	ErrorInvalidPTX         Result = 218
	ErrorNVLink             Result = 220
	ErrorUnsupportedPTX     Result = 222
	ErrorInvalidHandle      Result = 400
	ErrorNotFound           Result = 500
	ErrorNotReady           Result = 600
	ErrorIllegalAddress     Result = 700
	ErrorLaunchResources    Result = 701
	ErrorLaunchTimeout      Result = 702
	ErrorContextDestroyed   Result = 709
	ErrorAssert             Result = 710
	ErrorHostRegistered     Result = 712
	ErrorHardwareStack      Result = 714
	ErrorIllegalInstruction Result = 715
	ErrorMisalignedAddress  Result = 716
	ErrorInvalidAddrSpace   Result = 717
	ErrorInvalidPC          Result = 718
	ErrorLaunchFailed       Result = 719
	ErrorContained          Result = 721
	ErrorNotPermitted       Result = 800
	ErrorNotSupported       Result = 801
	ErrorSystemNotReady     Result = 802
	ErrorDriverMismatch     Result = 803
	ErrorExternalDevice     Result = 911
	ErrorUnknown            Result = 999
)

// resultNames are CUDA's own, for the time before a driver can be asked.
var resultNames = map[Result]string{
	Success:                 "CUDA_SUCCESS",
	ErrorInvalidValue:       "CUDA_ERROR_INVALID_VALUE",
	ErrorOutOfMemory:        "CUDA_ERROR_OUT_OF_MEMORY",
	ErrorNotInitialized:     "CUDA_ERROR_NOT_INITIALIZED",
	ErrorDeinitialized:      "CUDA_ERROR_DEINITIALIZED",
	ErrorStubLibrary:        "CUDA_ERROR_STUB_LIBRARY",
	ErrorDeviceUnavailable:  "CUDA_ERROR_DEVICE_UNAVAILABLE",
	ErrorNoDevice:           "CUDA_ERROR_NO_DEVICE",
	ErrorInvalidDevice:      "CUDA_ERROR_INVALID_DEVICE",
	ErrorInvalidImage:       "CUDA_ERROR_INVALID_IMAGE",
	ErrorInvalidContext:     "CUDA_ERROR_INVALID_CONTEXT",
	ErrorNoBinaryForGPU:     "CUDA_ERROR_NO_BINARY_FOR_GPU",
	ErrorECCUncorrectable:   "CUDA_ERROR_ECC_UNCORRECTABLE",
	ErrorInvalidPTX:         "CUDA_ERROR_INVALID_PTX",
	ErrorNVLink:             "CUDA_ERROR_NVLINK_UNCORRECTABLE",
	ErrorUnsupportedPTX:     "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
	ErrorInvalidHandle:      "CUDA_ERROR_INVALID_HANDLE",
	ErrorNotFound:           "CUDA_ERROR_NOT_FOUND",
	ErrorNotReady:           "CUDA_ERROR_NOT_READY",
	ErrorIllegalAddress:     "CUDA_ERROR_ILLEGAL_ADDRESS",
	ErrorLaunchResources:    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
	ErrorLaunchTimeout:      "CUDA_ERROR_LAUNCH_TIMEOUT",
	ErrorContextDestroyed:   "CUDA_ERROR_CONTEXT_IS_DESTROYED",
	ErrorAssert:             "CUDA_ERROR_ASSERT",
	ErrorHostRegistered:     "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
	ErrorHardwareStack:      "CUDA_ERROR_HARDWARE_STACK_ERROR",
	ErrorIllegalInstruction: "CUDA_ERROR_ILLEGAL_INSTRUCTION",
	ErrorMisalignedAddress:  "CUDA_ERROR_MISALIGNED_ADDRESS",
	ErrorInvalidAddrSpace:   "CUDA_ERROR_INVALID_ADDRESS_SPACE",
	ErrorInvalidPC:          "CUDA_ERROR_INVALID_PC",
	ErrorLaunchFailed:       "CUDA_ERROR_LAUNCH_FAILED",
	ErrorContained:          "CUDA_ERROR_CONTAINED",
	ErrorNotPermitted:       "CUDA_ERROR_NOT_PERMITTED",
	ErrorNotSupported:       "CUDA_ERROR_NOT_SUPPORTED",
	ErrorSystemNotReady:     "CUDA_ERROR_SYSTEM_NOT_READY",
	ErrorDriverMismatch:     "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
	ErrorExternalDevice:     "CUDA_ERROR_EXTERNAL_DEVICE",
	ErrorUnknown:            "CUDA_ERROR_UNKNOWN",
}

// String is CUDA's name of the code.
func (r Result) String() string {
	if n, ok := resultNames[r]; ok {
		return n
	}
	return "CUDA result " + strconv.Itoa(int(r))
}

// Error is String with the package in front.
func (r Result) Error() string { return "cuda: " + r.String() }

// refusals are the codes by which the driver says no to a call, and to that
// call alone. Every other failure may be an earlier kernel's, and puts the
// context in doubt: the list must be short and certain.
var refusals = map[Result]bool{
	ErrorInvalidValue: true, ErrorOutOfMemory: true, ErrorInvalidImage: true, ErrorNoBinaryForGPU: true,
	ErrorInvalidPTX: true, ErrorUnsupportedPTX: true, ErrorInvalidHandle: true, ErrorNotFound: true,
	ErrorNotReady: true, ErrorLaunchResources: true, ErrorHostRegistered: true, ErrorNotPermitted: true,
	ErrorNotSupported: true, ErrorInvalidDevice: true,
}
