# SPDX-License-Identifier: Apache-2.0
# xclbinutil: what is dumped and put back gives the same file; edits take effect; everything else is refused by name.
. "$TOOLS_DIR/build.sh"
build_xclbin vadd.xclbin u280 sw_emu --connectivity.sp vadd_1.a:"HBM[0:3]" --connectivity.sp vadd_1.out:"DDR[1]"
expect "Content:                sw_emu" xclbinutil --info --input vadd.xclbin
expect "Signature:              vadd (" xclbinutil --info -i vadd.xclbin
expect "xilinx_u280" xclbinutil --info -i vadd.xclbin
xclbinutil --info info.txt -i vadd.xclbin
grep -q "DDR\[1\]" info.txt || fail "--info to a file"

sections=$(xclbinutil --info -i vadd.xclbin | sed -n 's/.*Sections: *//p' | tr -d ',')
for section in $sections; do
  xclbinutil -i vadd.xclbin --dump-section "$section:RAW:$section.bin"
  xclbinutil -i vadd.xclbin --replace-section "$section:RAW:$section.bin" -o same.xclbin --force -q
  cmp same.xclbin vadd.xclbin || fail "$section in raw form does not go round"
done
for section in MEM_TOPOLOGY IP_LAYOUT CONNECTIVITY GROUP_TOPOLOGY GROUP_CONNECTIVITY CLOCK_FREQ_TOPOLOGY BUILD_METADATA; do
  xclbinutil -i vadd.xclbin --dump-section "$section:JSON:$section.json"
  python3 -m json.tool "$section.json" >/dev/null || fail "$section is not JSON"
  xclbinutil -i vadd.xclbin --replace-section "$section:JSON:$section.json" -o same.xclbin --force -q
  cmp same.xclbin vadd.xclbin || fail "$section as JSON does not go round"
done
grep -q '"m_tag": "HBM\[0\]"' MEM_TOPOLOGY.json || fail "MEM_TOPOLOGY lacks a field"
grep -q '"m_name": "vadd:vadd_1"' IP_LAYOUT.json || fail "IP_LAYOUT lacks a field"

# From nothing, from the dumped sections, in their order: the same sections again.
adds=()
for section in $sections; do adds+=(--add-section "$section:RAW:$section.bin"); done
xclbinutil "${adds[@]}" --target sw_emu --key-value SYS:PlatformVBNV:xilinx_u280_x -o built.xclbin -q
xclbinutil -i built.xclbin --dump-section BITSTREAM:RAW:again.bin
cmp again.bin BITSTREAM.bin || fail "the bitstream changed"
expect "xilinx_u280_x" xclbinutil --info -i built.xclbin

# A changed file has another identity and still runs.
build_host
sed 's/"m_freq_Mhz": "[0-9]*"/"m_freq_Mhz": "123"/' CLOCK_FREQ_TOPOLOGY.json >clocks.json
xclbinutil -i vadd.xclbin --replace-section CLOCK_FREQ_TOPOLOGY:JSON:clocks.json -o changed.xclbin -q
expect "123 MHz" xclbinutil --info -i changed.xclbin
uuid() { xclbinutil --info -i "$1" | grep UUID; }
[ "$(uuid vadd.xclbin)" != "$(uuid changed.xclbin)" ] || fail "the UUID stayed"
expect "TEST PASSED" env XCL_EMULATION_MODE=sw_emu ./host changed.xclbin
xclbinutil -i vadd.xclbin --remove-section BUILD_METADATA -o less.xclbin -q
refuse "has no such section" xclbinutil -i less.xclbin --dump-section BUILD_METADATA:JSON:x.json
xclbinutil -i less.xclbin --add-section BUILD_METADATA:JSON:BUILD_METADATA.json -o more.xclbin -q
cmp <(xclbinutil --info -i more.xclbin | grep -v -e UUID -e Sections:) <(xclbinutil --info -i vadd.xclbin | grep -v -e UUID -e Sections:) ||
  fail "removing and adding changed more than order and UUID"

# Keys of users: in their order, changed, taken away again.
expect "<empty>" xclbinutil --info -i vadd.xclbin
xclbinutil -i vadd.xclbin --key-value USER:built:monday --key-value "USER:at:http://a:80/ 'b'" -o keys.xclbin -q
expect "1) 'built' = 'monday'" xclbinutil --info -i keys.xclbin
expect "2) 'at' = 'http://a:80/ 'b''" xclbinutil --info -i keys.xclbin
expect "KEYVALUE_METADATA" xclbinutil --info -i keys.xclbin
expect "TEST PASSED" env XCL_EMULATION_MODE=sw_emu ./host keys.xclbin
xclbinutil -i keys.xclbin --remove-key at --key-value USER:built: -o fewer.xclbin -q
expect "1) 'built' = ''" xclbinutil --info -i fewer.xclbin
xclbinutil -i fewer.xclbin --dump-section KEYVALUE_METADATA:JSON:keys.json
same "$(cat keys.json)" '{"keyvalue_metadata":{"key_values":[{"key":"built","value":""}]}}'
xclbinutil -i fewer.xclbin --remove-key built -o none.xclbin -q
cmp <(xclbinutil --info -i none.xclbin | grep -v UUID) <(xclbinutil --info -i vadd.xclbin | grep -v UUID) || fail "a key is left"
echo '{"keyvalue_metadata":[]}' >broken.json
xclbinutil -i vadd.xclbin --add-section KEYVALUE_METADATA:JSON:broken.json -o broken.xclbin -q
refuse "KEYVALUE_METADATA is damaged" xclbinutil --info -i broken.xclbin
refuse "KEYVALUE_METADATA is damaged" xclbinutil -i broken.xclbin --key-value USER:a:b -o x

before=$(ls)
for key in USER USER: USER:a USER::b OTHER:a:b SYS:a:b; do
  refuse "write USER:<name>:<value>" xclbinutil -i vadd.xclbin --key-value $key -o x
done
refuse "must be UTF-8" xclbinutil -i vadd.xclbin --key-value $'USER:a:\xff' -o x
refuse "has no such key" xclbinutil -i vadd.xclbin --remove-key a -o x
refuse "HTML is not supported" xclbinutil -i vadd.xclbin --dump-section MEM_TOPOLOGY:HTML:x
refuse "has no JSON" xclbinutil -i vadd.xclbin --dump-section BITSTREAM:JSON:x
refuse "is not a section" xclbinutil -i vadd.xclbin --dump-section MEMORY:RAW:x
refuse "write SECTION:FORMAT:FILE" xclbinutil -i vadd.xclbin --dump-section MEM_TOPOLOGY
refuse "exists already" xclbinutil -i vadd.xclbin --add-section IP_LAYOUT:JSON:IP_LAYOUT.json -o x
refuse "is not there" xclbinutil -i vadd.xclbin --remove-section PDI -o x
refuse "is not there" xclbinutil -i vadd.xclbin --replace-section PDI:RAW:info.txt -o x
refuse "is not saved" xclbinutil -i vadd.xclbin --remove-section BUILD_METADATA
refuse "exists already" xclbinutil -i vadd.xclbin -o vadd.xclbin
refuse "build kernels with v++" xclbinutil --add-kernel x.json
refuse "unsigned" xclbinutil -i vadd.xclbin --private-key k --certificate c -o x
refuse "hw needs" xclbinutil -i vadd.xclbin --target hw -o x
refuse "does not exist" xclbinutil -i nowhere.xclbin --info
refuse "nothing to do" xclbinutil
refuse "--foo" xclbinutil --foo
for text in '{' '{"mem_topology":{}}' '{"mem_topology":{"m_count":"2","m_mem_data":[]}}' \
  '{"mem_topology":{"m_count":"1","m_mem_data":[{"m_type":"MEM_NONE"}]}}' \
  '{"mem_topology":{"m_count":"1","m_mem_data":[{"m_type":"MEM_DDR4","m_used":"1","m_sizeKB":"-1","m_tag":"x","m_base_address":"0"}]}}'; do
  echo "$text" >../text.json
  refuse "text.json" xclbinutil -i vadd.xclbin --replace-section MEM_TOPOLOGY:JSON:../text.json -o x
done
same "$(ls)" "$before"
