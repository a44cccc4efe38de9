# SPDX-License-Identifier: Apache-2.0
# C simulation from Tcl scripts and configurations, in the shapes of public projects: vitis_hls, vivado_hls, vitis-run,
# v++ --mode hls. The projects are in projects/; every script of Vitis HLS is run as its project's page says.
command -v tclsh >/dev/null || { echo "SKIPPED: install the package tcl" && exit 0; }
cp -r "$CASE_DIR/projects" projects
cd projects

# refused CODE TEXT COMMAND...: it ends with CODE and says TEXT.
refused() {
  local wanted=$1 text=$2 output code=0
  shift 2
  output=$("$@" 2>&1) || code=$?
  [ "$code" -eq "$wanted" ] || fail "'$*' ended with $code: $output"
  [[ $output == *"$text"* ]] || fail "'$*' did not say '$text' but: $output"
}

# An example that adds all up, with settings, a golden file and a co-simulation; the second run finds the project there.
cd introductory
for run in 1 2; do
  output=$(vitis_hls -f run_hls.tcl 2>&1) || fail "run $run: $output"
  [[ $output == *"CSim done with 0 errors"*"time model of 'sums'"*"cosim_design: skipped"* ]] || fail "$output"
done
grep -q "Test passed" proj_sums/solution1/csim/report/sums_csim.log || fail "no log of the simulation"
# The report of the time model: two loops of 50 trips with an II of 1, at the clock of the script.
synthesised=proj_sums/solution1/syn/report/sums_csynth.rpt
grep -q "time model of 'sums' (no synthesis), clock 5.00 ns" $synthesised || fail "$(cat $synthesised)"
same "$(grep -c "^| sums.cpp:[0-9]* *|       50 |    1 |" $synthesised)" 2
expect "no source that clang compiles defines 'other'" vitis_hls -f <(sed 's/set_top sums/set_top other/; s/simulate synth/synth/' run_hls.tcl)
expect "clock 10.00 ns" vitis_hls -f <(sed 's/200MHz/1.2.3/; s/simulate synth/synth/' run_hls.tcl)
expect "'5 ps' is neither nanoseconds nor MHz; the clock stays at 10 ns" vitis_hls -f <(sed 's/200MHz/5 ps/; s/simulate synth/synth/' run_hls.tcl)
expect "install the package clang" env TANDEM_CLANG=/no/clang vitis_hls -f <(sed 's/simulate synth/synth/' run_hls.tcl)
refused 1 "the test bench ended with 3" env SUMS_BREAK=1 vitis_hls -f run_hls.tcl
refused 1 "the test bench ended with 3" env SUMS_BREAK=1 vitis-run --mode hls --csim --tcl run_hls.tcl
expect "Test passed" vitis-run --mode hls --tcl run_hls.tcl
refused 1 "sums.cpp does not compile" env TANDEM_CXX="c++ -DSUMS_TYPO=." vitis_hls -f run_hls.tcl

mkdir other && echo '#error other headers' >other/ap_int.h
refused 1 "other headers" env TANDEM_HLS_INCLUDE="$PWD/other" vitis_hls -f run_hls.tcl

# The same component from a configuration, and its kernel for a card.
expect "Test passed" vitis-run --mode hls --csim --config hls_config.cfg --work_dir component
[ -x component/hls/csim/build/csim.exe ] || fail "the work folder is not the stated one"
refused 1 "the test bench ended with 3" env SUMS_BREAK=1 vitis-run --mode hls --csim --config hls_config.cfg
expect "sums.xo is the kernel" v++ -c --mode hls --config hls_config.cfg --work_dir component --platform u55c
v++ -l -t hw_emu --platform u55c -o sums.xclbin component/sums.xo
sed /flow_target/d hls_config.cfg >ip.cfg
expect "nothing is made" v++ -c --mode=hls --config=ip.cfg
sed /syn.top/d hls_config.cfg >topless.cfg
refused 1 "syn.top is missing" vitis-run --mode hls --csim --config topless.cfg
(cat hls_config.cfg; echo nonsense) >bad.cfg
refused 1 "bad.cfg:15: expected KEY=VALUE" vitis-run --mode hls --csim --config bad.cfg
refused 1 "--mode hls needs --config" v++ -c --mode hls
cd ..

# Weights and data in folders that the test bench writes to, options as arguments of the script.
cd network
output=$(vitis_hls -f build_prj.tcl "reset=1 csim=1 synth=1 cosim=0 validation=0 export=0" 2>&1) || fail "$output"
[[ $output == *"begin of simulation"*"end of simulation after "*" s"* ]] || fail "$output"
same "$(cat tb_data/csim_results.log)" "11 22 33"
[[ $output == *"time model of 'scaled'"* ]] || fail "$output"  # a dataflow region in C++0x
rm tb_data/csim_results.log
expect "begin of synthesis" vitis_hls -f build_prj.tcl "reset=0 csim=0"
[ ! -e tb_data/csim_results.log ] || fail "csim=0 simulated"
cd ..

# Options behind names, sources in C, a test bench that calls diff, arguments and libraries.
cd filter
expect "PASS: 7 taps of 2" vivado_hls fir.tcl
expect "time model of 'fir' (no synthesis), clock 5.00 ns" vivado_hls fir.tcl  # C, which is no C++
expect "there is no header 'moved.h'" vivado_hls fir.tcl
refused 1 "does not link" vivado_hls no_library.tcl
refused 1 "there is no file 'missing.c'" vivado_hls missing.tcl
refused 1 "invalid command name \"csim_desing\"" vivado_hls typo.tcl
refused 1 "option '-arg' is unknown" vivado_hls option.tcl
echo 'configure_all' >family.tcl
refused 1 'invalid command name "configure_all"' vivado_hls family.tcl
echo 'array set a {k v}; parray a' >loaded.tcl
expect "a(k) = v" vivado_hls loaded.tcl
cd ..

# A block of Verilog runs as the C function of its description.
cd blackbox
expect "top gave 36" vitis_hls -f run_hls.tcl
expect "top gave 36" vitis-run --mode hls --csim --config hls_config.cfg
v++ -c --mode hls --config kernel.cfg --work_dir kernel --platform u55c
v++ -l -t hw_emu --platform u55c -o scaled.xclbin kernel/scaled.xo  # fails if the kernel lacks the C function
sed s/scale.json/no_source.json/ hls_config.cfg >no_source.cfg
refused 1 "names no C source" vitis-run --mode hls --csim --config no_source.cfg
sed s/scale.json/no_source.json/ kernel.cfg >no_kernel.cfg
refused 1 "names no C source" v++ -c --mode hls --config no_kernel.cfg
refused 1 "names no C source" vitis_hls -f broken.tcl -tclargs model/no_source.json
refused 1 "there is no file 'none.json'" vitis_hls -f broken.tcl -tclargs none.json
mv model/scale.cpp model/moved.cpp
refused 1 "names a file 'scale.cpp' that is not there" vitis_hls -f broken.tcl -tclargs model/scale.json
cd ..

# A later script opens the project; -reset keeps the files in its folder.
cd kept
expect "Opening project" vitis_hls -f make.tcl
expect "Opening project" vitis_hls -f test.tcl
output=$(vitis_hls -f simulate.tcl 2>&1) || fail "$output"
[[ $output == *"top is kept"*"kept gave 42"* ]] || fail "$output"
echo 'open_project -reset proj; puts "[get_files] of [get_top]."' >forget.tcl
expect " of ." vitis_hls -f forget.tcl
refused 1 "there is no source" vitis_hls -f simulate.tcl
expect "Opening project" vitis_hls -f make.tcl
expect "Opening project" vitis_hls -f test.tcl
[ ! -e proj/solution1/csim ] || fail "-reset kept the results of the solution"
rm in.dat
output=$(vitis_hls -f simulate.tcl 2>&1) || fail "$output"
[[ $output == *"a file of the project is missing: $PWD/in.dat"*"kept gave 42"* ]] || fail "$output"
refused 1 "'.' is not a solution" vitis_hls -f delete.tcl proj .
mkdir proj/parts
cp proj/kept.cpp proj/parts/twice.cpp
echo 'open_project proj; add_files proj/parts/twice.cpp; delete_solution parts' >parts.tcl
refused 1 "'parts' has files of the project, such as twice.cpp" vitis_hls -f parts.tcl
[ -e proj/parts/twice.cpp ] || fail "a source was deleted"
rm -r proj/parts
vitis_hls -f delete.tcl proj solution1
[ ! -e proj/solution1 ] && [ -e proj/kept.cpp ] || fail "not only the solution was deleted"
mkdir notes
refused 1 "'notes' is not a project" vitis_hls -f delete.tcl notes
[ -d notes ] || fail "a folder was deleted"
echo "top" >proj/tandem_hls.project
refused 1 "tandem_hls.project' is damaged" vitis_hls -f simulate.tcl
vitis_hls -f delete.tcl proj
vitis_hls -f delete.tcl proj
[ ! -e proj ] || fail "the project was not deleted"
echo 'open_project proj; delete_project proj; set_top none; puts "open: [get_project]."' >own.tcl
expect "open: ." vitis_hls -f own.tcl
echo 'open_project .; delete_project .' >here.tcl
refused 1 "the script runs in '.'" vitis_hls -f here.tcl
[ -e here.tcl ] || fail "the working folder was deleted"
cd ..

# The headers, as Makefiles of textbooks find them.
echo '#include "ap_int.h"' >includes.cpp
g++ -I"$(vivado_hls -r)/include" -fsyntax-only includes.cpp

refused 2 "give a script" vitis_hls
refused 2 "cannot read the script 'none.tcl'" vitis_hls -f none.tcl
refused 2 "interactive" vitis_hls -i
refused 2 "needs the vendor's synthesis" vitis-run --mode hls --cosim --config introductory/hls_config.cfg
refused 2 "only hls" vitis-run --mode aie --csim --tcl filter/fir.tcl
refused 2 "'--fast' is unknown" vitis-run --fast
expect "v2022.2" vitis_hls -version
