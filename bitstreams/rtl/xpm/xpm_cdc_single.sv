// SPDX-License-Identifier: Apache-2.0
//
// A simulation model of the vendor's macro of this name, from its public description (UG974): a bit
// crosses from one clock to another.
module xpm_cdc_single #(
  parameter integer DEST_SYNC_FF = 4,
  parameter integer INIT_SYNC_FF = 0,
  parameter integer SIM_ASSERT_CHK = 0,
  parameter integer SRC_INPUT_REG = 1
) (
  input  wire src_clk,
  input  wire src_in,
  input  wire dest_clk,
  output wire dest_out
);
  xpm_cdc_array_single #(
    .DEST_SYNC_FF(DEST_SYNC_FF), .SRC_INPUT_REG(SRC_INPUT_REG), .WIDTH(1)
  ) bits (.*);
endmodule
