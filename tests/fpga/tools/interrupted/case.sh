# SPDX-License-Identifier: Apache-2.0
# A signal to v++ ends its compiler too, and leaves neither a temporary folder nor an output.
set -m  # jobs of a script without job control ignore SIGINT
cp "$TOOLS_DIR/vadd.cpp" .
mkdir temporary
cat >slow-compiler <<'SH'
#!/bin/sh
case "$*" in *-fsyntax-only*) exit 0 ;; esac
echo $$ >compiler.new
mv compiler.new compiler.pid
sleep 1000
SH
chmod +x slow-compiler

for signal in INT:130 TERM:143 HUP:129; do
  rm -f compiler.pid
  TMPDIR=$PWD/temporary TANDEM_CXX=$PWD/slow-compiler v++ -c -t sw_emu --platform u280 -k vadd -o vadd.xo vadd.cpp &
  program=$!
  while [ ! -e compiler.pid ]; do
    kill -0 "$program" || fail "v++ ended before its compiler started"
    sleep 0.05
  done
  [ -n "$(ls temporary)" ] || fail "there is no temporary folder to remove"
  kill "-${signal%:*}" "$program"
  code=0
  wait "$program" || code=$?
  same "$signal" "${signal%:*}:$code"
  same "$(ls temporary)" ""
  same "$(ls | grep -e xo -e '\.tmp' || true)" ""
  if kill -0 "$(cat compiler.pid)" 2>/dev/null; then fail "the compiler goes on after SIG${signal%:*}"; fi
done

# An HLS component is compiled by a script in the same process.
mkdir tree
printf '#!/bin/sh\necho $$ >script.pid\nexec sleep 1000\n' >tree/tclsh
chmod +x tree/tclsh
printf '[hls]\nsyn.top=vadd\nsyn.file=vadd.cpp\n' >component.cfg
PATH=$PWD/tree:$PATH v++ -c --mode hls --config component.cfg &
program=$!
while [ ! -s script.pid ]; do sleep 0.05; done
kill -TERM "$program"
code=0
wait "$program" || code=$?
same "$code" 143
