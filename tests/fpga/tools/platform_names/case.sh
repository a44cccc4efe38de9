# SPDX-License-Identifier: Apache-2.0
# Platforms are found by every name that people write, and platforminfo answers what Makefiles ask.
family() { platforminfo -p "$1" | grep 'FPGA Family' | sed 's/.*://' | sed 's/^[[:space:]]*//'; }
same "$(family u50)" virtexuplusHBM
same "$(family xilinx_u55c_gen3x16_xdma_3_202210_1)" virtexuplusHBM
same "$(family u200)" virtexuplus
same "$(family xilinx_u250_gen3x16_xdma_3_1_202020_1)" virtexuplus
same "$(family /opt/xilinx/platforms/p/xilinx_u280_gen3x16_xdma_1_202211_1.xpfm)" virtexuplusHBM
same "$(family xilinx_vck5000_gen4x8_qdma_2_202220_1)" versal
same "$(platforminfo -p u250 | grep 'CPU Type' | sed 's/.*://' | sed 's/^[[:space:]]*//')" x86

# Single values and whole descriptions.
value() { platforminfo "--json=$2" -p "$1"; }
same "$(value u250 hardwarePlatform.extensions.raptor2.feature_support.DDR)" 4
same "$(value u280 hardwarePlatform.extensions.raptor2.feature_support.HBM)" 32
same "$(value u280 hardwarePlatform.extensions.raptor2.feature_support.DDR)" 2
same "$(value u50 'hardwarePlatform.memories[31].tag')" 'HBM[31]'
same "$(value vck5000 'hardwarePlatform.memories[0].tag')" MC_NOC0
same "$(value vck5000 hardwarePlatform.pcie.generation)" 4
same "$(value xilinx_u50_gen3x16_nodma_1_202010_1 hardwarePlatform.dma)" false
same "$(platforminfo u200 -jhardwarePlatform.board.part | tail -1)" xcu200-fsgd2104-2-e
same "$(platforminfo -j -d xilinx_u200_xdma_201830_2 | grep -m1 uniqueName)" '  "uniqueName": "xilinx_u200_xdma_201830_2",'
for path in $(platforminfo -k u50); do value u50 "$path" >/dev/null || fail "--keys names $path, which is not there"; done

# The host's memory lies above all that is the card's, on every platform.
for board in u50 u55c u200 u250 u280 vck5000; do
  expect "\"board\": \"$board\"" platforminfo --list
  platforminfo -j -p $board | python3 -c '
import json, sys
banks = json.load(sys.stdin)["hardwarePlatform"]["memories"]
end = 0
for bank in banks:
    assert int(bank["baseAddress"], 0) >= end, bank
    end = int(bank["baseAddress"], 0) + int(bank["size"], 0)
assert banks[-1]["tag"] == "HOST[0]", banks[-1]' || fail "the memory map of $board"
done

# Output files.
platforminfo -j -o info.json -d u250
refuse "exists already" platforminfo -j -o info.json -d u250
platforminfo -f -j -o info.json -d u250
[ "$(ls)" = info.json ] || fail "more than the file was left: $(ls)"

refuse "platform 'u999' is unknown" platforminfo -p u999
for board in vck190 zcu104 xilinx_zcu102_base_202210_1 /opt/xilinx/platforms/xilinx_vck190_base_202210_1.xpfm; do
  refuse "platform '$board' is an embedded platform" platforminfo -p "$board"
done
echo 'extern "C" void vadd(int* a) { a[0] = 1; }' >kernel.cpp
refuse "is an embedded platform" v++ -c -t sw_emu --platform xilinx_zcu106_base_202210_1 -k vadd kernel.cpp
rm kernel.cpp *.log
refuse "no platform is given" platforminfo
refuse "two platforms are given" platforminfo -p u50 u55c
refuse "no value at 'a.b'" platforminfo --json=a.b -p u50
refuse "software platform" platforminfo --sw x
refuse "--foo" platforminfo --foo
