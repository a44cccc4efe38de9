# SPDX-License-Identifier: Apache-2.0
# A platform of one's own: described in JSON, built for, emulated, found by path and by PLATFORM_REPO_PATHS.
export XCL_EMULATION_MODE=hw_emu
mkdir repository
cat >repository/my_board.json <<'JSON'
{
  "name": "my_board",
  "banks": [
    {"type": "HBM", "size": "256M", "count": 4, "bandwidth_gb_per_s": 14.375},
    {"type": "DDR", "size": "1G", "base": "0x4000000000", "bandwidth_gb_per_s": 19.2},
    {"type": "PLRAM", "size": 131072, "tag": "SCRATCH"}
  ],
  "clocks_mhz": [250, 450],
  "pcie": {"generation": 4, "lanes": 8},
  "fpga": {"family": "virtexuplus", "part": "xcvu9p"},
  "dma": false
}
JSON
. "$TOOLS_DIR/build.sh"
build_host
build_xclbin vadd.xclbin repository/my_board.json hw_emu --connectivity.sp vadd_1.out:"DDR[0]" \
  --connectivity.sp vadd_1.a:"HBM[3]"
expect "my_board" xclbinutil --info -i vadd.xclbin
expect "0x4000000000" xclbinutil --info -i vadd.xclbin

# emconfig.json carries the description, so the JSON itself is not needed any more.
emconfigutil --platform repository/my_board.json -q
mv repository hidden
expect "TEST PASSED" ./host vadd.xclbin
expect "card: my_board" ./host vadd.xclbin
expect "out at: 0x400000" ./host vadd.xclbin  # next to the host's half of the buffer, as the card has no DMA
expect "SCRATCH" xbutil examine -d 0 -r memory
rm emconfig.json
expect "card: my_board" env TANDEM_CARD_PRESET=hidden/my_board.json ./host vadd.xclbin
mv hidden repository
export PLATFORM_REPO_PATHS=/nowhere:$PWD/repository
build_xclbin by_name.xclbin my_board sw_emu
same "$(platforminfo -p my_board --json='hardwarePlatform.memories[4].baseAddress')" 0x4000000000
same "$(platforminfo -p my_board --json='hardwarePlatform.systemClocks[0].frequency')" 250.000000

# Every wrong field is named.
wrong() {
  echo "$2" >wrong.json
  refuse "wrong.json" platforminfo -p wrong.json
  refuse "$1" platforminfo -p wrong.json
}
bank='{"type":"DDR","size":"1G"}'
wrong "not valid JSON" '{'
wrong "field name is missing" "{\"banks\":[$bank]}"
wrong "field banks is missing" '{"name":"x"}'
wrong "field banks must be a list" '{"name":"x","banks":[]}'
wrong "field bank is unknown" "{\"name\":\"x\",\"bank\":[$bank]}"
wrong "field name may have" "{\"name\":\"x y\",\"banks\":[$bank]}"
wrong "banks[0].type is missing" '{"name":"x","banks":[{"size":"1G"}]}'
wrong "banks[0].type 'SRAM'" '{"name":"x","banks":[{"type":"SRAM","size":"1G"}]}'
wrong "banks[0].size is missing" '{"name":"x","banks":[{"type":"DDR"}]}'
wrong "banks[0].size '1T'" '{"name":"x","banks":[{"type":"DDR","size":"1T"}]}'
wrong "banks[0].size must be a multiple" '{"name":"x","banks":[{"type":"DDR","size":1000}]}'
wrong "banks[0].count" '{"name":"x","banks":[{"type":"DDR","size":"1G","count":0}]}'
wrong "banks[0].base '0xzz'" '{"name":"x","banks":[{"type":"DDR","size":"1G","base":"0xzz"}]}'
wrong "banks[0].speed is unknown" '{"name":"x","banks":[{"type":"DDR","size":"1G","speed":3}]}'
wrong "banks[0].bandwidth_gb_per_s" '{"name":"x","banks":[{"type":"DDR","size":"1G","bandwidth_gb_per_s":"3"}]}'
wrong "overlap" '{"name":"x","banks":[{"type":"DDR","size":"1G"},{"type":"HBM","size":"1G","base":4096}]}'
wrong "above 1 TiB" '{"name":"x","banks":[{"type":"DDR","size":"512G","count":200}]}'
wrong "clocks_mhz" "{\"name\":\"x\",\"banks\":[$bank],\"clocks_mhz\":300}"
wrong "clocks_mhz[0]" "{\"name\":\"x\",\"banks\":[$bank],\"clocks_mhz\":[-3]}"
wrong "pcie.lanes" "{\"name\":\"x\",\"banks\":[$bank],\"pcie\":{\"lanes\":99}}"
wrong "pcie.speed is unknown" "{\"name\":\"x\",\"banks\":[$bank],\"pcie\":{\"speed\":3}}"
wrong "dma must be" "{\"name\":\"x\",\"banks\":[$bank],\"dma\":1}"
wrong "fpga.part must be text" "{\"name\":\"x\",\"banks\":[$bank],\"fpga\":{\"part\":1}}"
refuse "cannot read" platforminfo -p nowhere.json
