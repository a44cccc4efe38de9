// SPDX-License-Identifier: Apache-2.0
//
// A build without SQLite reads no exports of Nsight Systems.
#include "common/error.h"
#include "trace/communication/import.h"

namespace tandem::trace {

Traffic import_nsight(const ImportFile& file, const ImportOptions& /*options*/) {
  throw Error("communication", "'" + file.name +
                                   "' is an SQLite file, and this build has no SQLite: install "
                                   "libsqlite3-dev and build again");
}

}  // namespace tandem::trace
