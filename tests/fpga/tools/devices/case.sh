# SPDX-License-Identifier: Apache-2.0
# Outputs that are no regular files are written, not replaced, whoever asks.
. "$TOOLS_DIR/build.sh"
build_xclbin vadd.xclbin u280 sw_emu
expect "" v++ -c -t sw_emu --platform u280 -k vadd -o /dev/null "$TOOLS_DIR/vadd.cpp"
[ -c /dev/null ] || fail "/dev/null is no device any more"
[ ! -e /dev/null.compile_summary ] || fail "a file lies beside /dev/null"

xclbinutil -q -i vadd.xclbin --dump-section BITSTREAM:RAW:section.bin
xclbinutil -q -i vadd.xclbin --dump-section BITSTREAM:RAW:/dev/stdout --force | cmp - section.bin || fail "a pipe got something else"
xclbinutil -q -i vadd.xclbin --dump-section BITSTREAM:RAW:/dev/stdout >redirected
cmp redirected section.bin || fail "a redirection got something else"
ln -s section.bin link.bin
xclbinutil -q -i vadd.xclbin --dump-section IP_LAYOUT:RAW:link.bin --force
[ -L link.bin ] || fail "the link was replaced"
refuse "exists already" xclbinutil -q -i vadd.xclbin --dump-section IP_LAYOUT:RAW:section.bin
same "$(ls | grep '\.tmp' || true)" ""
