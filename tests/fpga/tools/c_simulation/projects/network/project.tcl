# SPDX-License-Identifier: Apache-2.0
variable project_name
set project_name "scaled"
