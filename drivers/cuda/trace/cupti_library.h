// SPDX-License-Identifier: Apache-2.0
//
// CUPTI's functions, loaded at first use. Threads: any.
#pragma once

#include <string>

#include "common/cupti_records.h"

namespace tandem::cuda {

using Cupti = cupti::Functions;
using CuptiKind = cupti::RecordKind;
using CuptiRecord = cupti::Record;
using CuptiKernel = cupti::KernelRecord;
using CuptiMemcpy = cupti::CopyRecord;
using CuptiMemset = cupti::SetRecord;

// Loads CUPTI. Returns null and sets `reason` if the library cannot be loaded.
const Cupti* load_cupti(std::string& reason);

}  // namespace tandem::cuda
