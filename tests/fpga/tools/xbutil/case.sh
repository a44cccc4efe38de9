# SPDX-License-Identifier: Apache-2.0
# xbutil: lists, describes, validates; names of older tools are answered with what to use.
export TANDEM_CARDS=2 TANDEM_CARD_PRESET=xilinx_u250_gen3x16_xdma_3_1_202020_1
for mode in "" sw_emu hw_emu; do
  export XCL_EMULATION_MODE=$mode
  [ -n "$mode" ] || unset XCL_EMULATION_MODE
  same "$(xbutil examine | grep -c $TANDEM_CARD_PRESET)" 2
  expect "[PASSED]" xbutil validate --device 1
done
expect "[0000:00:00.0] : xilinx_u250" xbutil examine
expect "DDR[3]" xbutil examine --device 0000:00:00.0 --report memory
expect "76.8 GB/s" xbutil examine -d 1 -r platform
expect "Xclbin UUID" xbutil examine -d 0 -r dynamic-regions
xbutil examine -d all -r all -f JSON -o report.json
python3 -c '
import json
report = json.load(open("report.json"))
assert len(report["system"]["host"]["devices"]) == 2
assert report["devices"][1]["platform"]["board"] == "u250"
assert report["devices"][1]["memory"][0]["tag"] == "DDR[0]"' || fail "the JSON report"
same "$(xbutil validate | grep -c PASSED)" 8
expect "nothing to reset" xbutil reset -d 0 --force
expect "2022.1" xbutil --version
env -u XILINX_XRT -u LD_LIBRARY_PATH "$(command -v xbutil)" examine | grep -q u250 || fail "needs an environment"

refuse "use: xbutil examine" xbutil list
refuse "use: xbutil examine --device" xbutil query
refuse "use: xbutil examine" xbutil scan
refuse "no card is called '7'" xbutil examine -d 7
refuse "have no report 'thermal'" xbutil examine -d 0 -r thermal
refuse "format 'XML'" xbutil examine -f XML
refuse "exists already" xbutil examine -f JSON -o report.json
refuse "subcommand" xbutil
refuse "'nonsense' is not a command" xbutil nonsense
refuse "the file does not exist" xbutil program -d 0 -u nothing.xclbin
refuse "there is no card" env TANDEM_CARDS=0 xbutil validate
[ "$(ls)" = report.json ] || fail "something was left: $(ls)"

unknown=$(TANDEM_CHECKS=depths,deep xbutil validate 2>&1) && fail "a check that is unknown was accepted"
[[ $unknown == *"TANDEM_CHECKS names 'deep'; the checks are: depths"* ]] || fail "no word of the unknown check: $unknown"
