# SPDX-License-Identifier: Apache-2.0
# pyxrt: a host program in Python. setup.sh puts the module on PYTHONPATH.
[ -e "$XILINX_XRT/python/pyxrt.so" ] || { echo "SKIPPED: pyxrt was not built" && exit 0; }
/usr/bin/python3 -c 'import numpy' || { echo "SKIPPED: install python3-numpy" && exit 0; }
for kernel in scale bump; do
  v++ -c -t sw_emu --platform u55c -k $kernel -o $kernel.xo "$CASE_DIR/scale.cpp"
done
v++ -l -t sw_emu --platform u55c -o kernels.xclbin --connectivity.nk bump:2 scale.xo bump.xo
emconfigutil --platform u55c
for mode in sw_emu hw_emu; do
  expect "TEST PASSED" env XCL_EMULATION_MODE=$mode /usr/bin/python3 -B "$CASE_DIR/host.py" kernels.xclbin
done
expect "TEST PASSED" env XCL_EMULATION_MODE=hw_emu TANDEM_CARD_REPORT=report.jsonl TANDEM_CARD_FINDINGS=report \
  /usr/bin/python3 -B "$CASE_DIR/findings.py" kernels.xclbin
