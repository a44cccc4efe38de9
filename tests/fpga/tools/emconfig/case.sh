# SPDX-License-Identifier: Apache-2.0
# emconfig.json decides how many cards there are and what they play; variables outrank it; a bitstream decides for a card
# that nobody described.
export XCL_EMULATION_MODE=hw_emu
u250=xilinx_u250_gen3x16_xdma_3_1_202020_1
u200=xilinx_u200_gen3x16_xdma_2_202110_1
build_host_and_bitstream() {
  . "$TOOLS_DIR/build.sh"
  build_host
  build_xclbin vadd.xclbin $u250 hw_emu --connectivity.sp vadd_1.out:"DDR[3]"
}
build_host_and_bitstream

# Nobody says what the card is: it becomes what the bitstream was built for, its fourth bank included.
expect "TEST PASSED" ./host vadd.xclbin
expect "card: $u250" ./host vadd.xclbin
expect "out at: 0xc00000000" ./host vadd.xclbin
same "$(./host vadd.xclbin 2>&1 | grep -c "match shell")" 0

# Next to the executable, in the working folder, or where EMCONFIG_PATH says.
expect "wrote" emconfigutil --platform $u200 --nd 3
expect "card: $u200" ./host vadd.xclbin
expect "TEST PASSED" ./host vadd.xclbin
expect "does not match shell on card. Shell VBNV is '$u200', Xclbin VBNV is '$u250'" ./host vadd.xclbin
same "$(xbutil examine | grep -c "$u200")" 3
mkdir elsewhere
mv emconfig.json elsewhere/
expect "card: $u250" ./host vadd.xclbin
expect "card: $u200" env EMCONFIG_PATH=elsewhere ./host vadd.xclbin
(cd elsewhere && expect "card: $u200" ../host ../vadd.xclbin)

# Variables outrank the file.
mv elsewhere/emconfig.json .
same "$(TANDEM_CARDS=5 xbutil examine | grep -c "$u200")" 5
expect "card: xilinx_u280" env TANDEM_CARD_PRESET=u280 ./host vadd.xclbin
expect "0 devices" env TANDEM_CARDS=0 xbutil examine

# --od makes the folder; --xp is named; -f is --platform.
expect "--xp param:x=y" emconfigutil -f u50 --od deep/er --xp param:x=y --save-temps
grep -q xilinx_u50 deep/er/emconfig.json || fail "the platform is not in the file"

# A damaged file is named and the application goes on.
for text in 'not json' '{}' '{"Version":{"FileVersion":"1.0"},"Platform":{"Boards":[]}}' \
  '{"Version":{"FileVersion":"2.0"},"Platform":{"Boards":[{"Devices":[{"Name":"nonsense"}]}]}}' \
  '{"Version":{"FileVersion":"2.0"},"Platform":{"Boards":[{"Devices":[{"Name":"u50","NumDevices":1000}]}]}}'; do
  echo "$text" >emconfig.json
  expect "TEST PASSED" ./host vadd.xclbin
  expect "is ignored" ./host vadd.xclbin
done
rm emconfig.json

refuse "platform 'u9' is unknown; choose one of: u50" emconfigutil --platform u9
refuse "--platform is required" emconfigutil
refuse "--nd" emconfigutil -f u50 --nd 99
refuse "cannot write" emconfigutil -f u50 --od /proc/nothing
refuse "unknown option --foo; --help lists the options" emconfigutil -f u50 --foo
refuse "unknown option --nonsense; --help" emconfigutil --nonsense
refuse "unknown option --platfrom (did you mean 'platform'?)" emconfigutil --platfrom=u50
refuse "'u50' is not expected here" emconfigutil u50
refuse "'---' is not expected here" emconfigutil ---
refuse "unknown option -y" emconfigutil -y
[ ! -e emconfig.json ] || fail "a refused call left a file"
