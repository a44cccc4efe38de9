# SPDX-License-Identifier: Apache-2.0
# case.sh TARGET PLATFORM pass|broken|refused: the Makefile end to end, as it stands.
target=$1 platform=$2 expected=$3
cp -r "$CASE_DIR" project
cp "$TOOLS_DIR/vadd.cpp" project/src/
cd project
flags=
[ "$expected" = broken ] && flags=-DTANDEM_BROKEN
code=0
make run TARGET="$target" PLATFORM="$platform" VPP_FLAGS="-t $target --platform $platform --save-temps -g $flags" \
  >log 2>&1 || code=$?
case $expected in
  pass)
    [ $code -eq 0 ] && grep -q "TEST PASSED" log || fail "make run: $(cat log)"
    grep -q "card: $platform" log || fail "the card has another name: $(cat log)"
    [ -e emconfig.json ] || fail "no emconfig.json"
    make clean >clean.log 2>&1 || fail "make clean: $(cat clean.log)"
    ;;
  broken)
    # The last element alone is wrong: without a program on the card all of them would be.
    [ $code -ne 0 ] && grep -q "TEST FAILED: out\[4999\] is" log || fail "not the broken kernel's failure: $(cat log)"
    ;;
  refused)
    [ $code -ne 0 ] || fail "target $target was accepted: $(cat log)"
    grep -q "$target" log && grep -qi "error" log || fail "no clear sentence: $(cat log)"
    [ ! -e _x.*/vadd.xo ] || fail "something was left behind"
    ;;
esac
