// SPDX-License-Identifier: Apache-2.0
//
// The registers of vadd: control at 0x00; a at 0x10, b at 0x1c, out at 0x28 (64 bits each), length
// at 0x34, sum at 0x38 (read only), mistake at 0x3c. ap_done is cleared when it is read.
`timescale 1 ns / 1 ps
module vadd_control (
  input  wire        clk,
  input  wire        rst_n,
  input  wire        awvalid,
  output wire        awready,
  input  wire [5:0]  awaddr,
  input  wire        wvalid,
  output wire        wready,
  input  wire [31:0] wdata,
  output reg         bvalid,
  input  wire        bready,
  input  wire        arvalid,
  output wire        arready,
  input  wire [5:0]  araddr,
  output reg         rvalid,
  input  wire        rready,
  output reg  [31:0] rdata,
  output reg         ap_start,
  input  wire        ap_done,
  input  wire        ap_idle,
  output reg  [63:0] a,
  output reg  [63:0] b,
  output reg  [63:0] out,
  output reg  [31:0] length,
  output reg  [31:0] mistake,
  input  wire [31:0] sum
);
  reg done;
  wire writes = awvalid && wvalid && !bvalid;
  wire reads = arvalid && !rvalid;
  assign awready = writes;
  assign wready = writes;
  assign arready = reads;

  always @(posedge clk) begin
    if (writes) begin
      bvalid <= 1;
      case (awaddr)
        6'h00: if (wdata[0]) ap_start <= 1;
        6'h10: a[31:0] <= wdata;
        6'h14: a[63:32] <= wdata;
        6'h1c: b[31:0] <= wdata;
        6'h20: b[63:32] <= wdata;
        6'h28: out[31:0] <= wdata;
        6'h2c: out[63:32] <= wdata;
        6'h34: length <= wdata;
        6'h3c: mistake <= wdata;
        default: ;
      endcase
    end else if (bready) bvalid <= 0;
    if (reads) begin
      rvalid <= 1;
      rdata <= araddr == 6'h00 ? {29'd0, ap_idle, done, ap_start} : araddr == 6'h38 ? sum : 0;
      if (araddr == 6'h00) done <= 0;
    end else if (rready) rvalid <= 0;
    if (ap_done) begin
      done <= 1;
      ap_start <= 0;
    end
    if (!rst_n) begin
      bvalid <= 0;
      rvalid <= 0;
      ap_start <= 0;
      done <= 0;
    end
  end
endmodule
