# SPDX-License-Identifier: Apache-2.0
# The shape of a textbook's script: options behind names, C, an argument, a library.
open_project fir.proj -reset
add_file {fir.c fir.h}
add_file -tb fir_top.c -cflags "-DTAPS=7 -DGOLD='\"out.gold.dat\"'"
add_file -tb out.gold.dat
set_top fir
open_solution solution -reset
set_part xc7k70tfbg676-1
create_clock -period 5
csim_desing
csynth_design
close_project
