// SPDX-License-Identifier: Apache-2.0
//
// Compiled as C11: the header must not need C++, and its functions must have C names.
#include "training/c_api/tandem_training.h"

int abi_as_c_sees_it(void);
tandem_status create_as_c_does(const tandem_store* store, tandem_group** group);

int abi_as_c_sees_it(void) { return tandem_training_abi() == TANDEM_TRAINING_ABI; }

tandem_status create_as_c_does(const tandem_store* store, tandem_group** group) {
  return tandem_group_create("{\"transport\": \"gloo\", \"world\": 1, \"address\": \"127.0.0.1\"}",
                             store, group);
}
