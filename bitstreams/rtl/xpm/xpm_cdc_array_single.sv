// SPDX-License-Identifier: Apache-2.0
//
// A simulation model of the vendor's macro of this name, from its public description (UG974): bits
// cross from one clock to another, each through DEST_SYNC_FF registers.
module xpm_cdc_array_single #(
  parameter integer DEST_SYNC_FF = 4,
  parameter integer INIT_SYNC_FF = 0,
  parameter integer SIM_ASSERT_CHK = 0,
  parameter integer SRC_INPUT_REG = 1,
  parameter integer WIDTH = 2
) (
  input  wire src_clk,
  input  wire [WIDTH-1:0] src_in,
  input  wire dest_clk,
  output wire [WIDTH-1:0] dest_out
);
  reg [WIDTH-1:0] source = 0;
  reg [DEST_SYNC_FF-1:0][WIDTH-1:0] stages = 0;
  wire [WIDTH-1:0] first = SRC_INPUT_REG != 0 ? source : src_in;
  always @(posedge src_clk) source <= src_in;
  always @(posedge dest_clk) stages <= (stages << WIDTH) | (DEST_SYNC_FF*WIDTH)'(first);
  assign dest_out = stages[DEST_SYNC_FF-1];
endmodule
