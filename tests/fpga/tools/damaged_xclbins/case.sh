# SPDX-License-Identifier: Apache-2.0
# Foreign, truncated and hostile files: xclbinutil says what is wrong in one message and never dies of a signal, and an
# application is told the same.
. "$TOOLS_DIR/build.sh"
build_xclbin vadd.xclbin u50 sw_emu
build_host
export XCL_EMULATION_MODE=sw_emu
expect "TEST PASSED" ./host vadd.xclbin
size=$(stat -c %s vadd.xclbin)

for bytes in 0 1 7 8 100 495 496 600 1000 $((size / 2)) $((size - 1)); do
  head -c "$bytes" vadd.xclbin >cut.xclbin
  refuse "cut.xclbin" xclbinutil --info -i cut.xclbin
  refuse "cut.xclbin" xbutil program -d 0 -u cut.xclbin
done
head -c $((size / 2)) vadd.xclbin >cut.xclbin
code=0
./host cut.xclbin >log 2>&1 || code=$?
[ $code -ne 0 ] && ! grep -q "TEST PASSED" log || fail "a truncated file ran"

for file in /bin/true "$CASE_DIR/case.sh" "$TOOLS_DIR/vadd.cpp" vadd.xo; do
  refuse "this is not an xclbin file" xclbinutil --info -i "$file"
done
refuse "" xclbinutil --info -i .

# Any byte of header and tables may be anything.
cat >damage.py <<'PYTHON'
import random, sys
random.seed(int(sys.argv[1]))
data = bytearray(open("vadd.xclbin", "rb").read())
for _ in range(random.randint(1, 6)):
    data[random.randrange(0, 1100)] = random.choice([0, 1, 0x7f, 0x80, 0xff, random.randrange(256)])
open("damaged.xclbin", "wb").write(data)
PYTHON
for seed in $(seq 25); do
  python3 damage.py "$seed"
  code=0
  timeout 20 xclbinutil --info -i damaged.xclbin >log 2>&1 || code=$?
  [ $code -eq 0 ] || { [ $code -eq 2 ] && [ "$(grep -c ERROR log)" -eq 1 ]; } || fail "seed $seed: $code $(cat log)"
  for section in MEM_TOPOLOGY IP_LAYOUT CONNECTIVITY CLOCK_FREQ_TOPOLOGY; do
    code=0
    timeout 20 xclbinutil -i damaged.xclbin --dump-section $section:JSON:x.json --force >log 2>&1 || code=$?
    [ $code -eq 0 ] || [ $code -eq 2 ] || fail "seed $seed, $section: $code $(cat log)"
  done
done
