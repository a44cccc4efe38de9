// SPDX-License-Identifier: Apache-2.0
//
// A kernel without control: adds 1 to every word of a stream and passes `last` and `keep` on. Its
// $finish has no effect, as in hardware.
module plus (
  input  wire        ap_clk,
  input  wire        ap_rst_n,
  input  wire [31:0] in_tdata,
  input  wire [3:0]  in_tkeep,
  input  wire        in_tlast,
  input  wire        in_tvalid,
  output wire        in_tready,
  output reg  [31:0] out_tdata,
  output reg  [3:0]  out_tkeep,
  output reg         out_tlast,
  output reg         out_tvalid,
  input  wire        out_tready
);
  assign in_tready = !out_tvalid || out_tready;
  always @(posedge ap_clk) begin
    if (in_tready) begin
      out_tvalid <= in_tvalid;
      out_tdata <= in_tdata + 1;
      out_tkeep <= in_tkeep;
      out_tlast <= in_tlast;
      if (in_tvalid) $finish;
    end
    if (!ap_rst_n) out_tvalid <= 0;
  end
endmodule
