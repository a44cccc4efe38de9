// SPDX-License-Identifier: Apache-2.0
//
// A simulation model of the vendor's macro of this name, from its public description (UG974): a
// FIFO of one clock. A word can be read in the cycle after its write. Read and write widths are
// equal; there is no error correction.
module xpm_fifo_sync #(
  parameter integer CASCADE_HEIGHT = 0,
  parameter DOUT_RESET_VALUE = "0",
  parameter ECC_MODE = "no_ecc",
  parameter EN_SIM_ASSERT_ERR = "warning",
  parameter FIFO_MEMORY_TYPE = "auto",
  parameter integer FIFO_READ_LATENCY = 1,
  parameter integer FIFO_WRITE_DEPTH = 2048,
  parameter integer FULL_RESET_VALUE = 0,
  parameter integer PROG_EMPTY_THRESH = 10,
  parameter integer PROG_FULL_THRESH = 10,
  parameter integer RD_DATA_COUNT_WIDTH = 1,
  parameter integer READ_DATA_WIDTH = 32,
  parameter READ_MODE = "std",
  parameter integer SIM_ASSERT_CHK = 0,
  parameter USE_ADV_FEATURES = "0707",
  parameter integer WAKEUP_TIME = 0,
  parameter integer WRITE_DATA_WIDTH = 32,
  parameter integer WR_DATA_COUNT_WIDTH = 1
) (
  input  wire sleep,
  input  wire rst,
  input  wire wr_clk,
  input  wire wr_en,
  input  wire [WRITE_DATA_WIDTH-1:0] din,
  output wire full,
  output wire prog_full,
  output wire [WR_DATA_COUNT_WIDTH-1:0] wr_data_count,
  output wire overflow,
  output wire wr_rst_busy,
  output wire almost_full,
  output wire wr_ack,
  input  wire rd_en,
  output wire [READ_DATA_WIDTH-1:0] dout,
  output wire empty,
  output wire prog_empty,
  output wire [RD_DATA_COUNT_WIDTH-1:0] rd_data_count,
  output wire underflow,
  output wire rd_rst_busy,
  output wire almost_empty,
  output wire data_valid,
  input  wire injectsbiterr,
  input  wire injectdbiterr,
  output wire sbiterr,
  output wire dbiterr
);
  // The same clock on both sides, so no stage lies between them.
  xpm_fifo_async #(
    .CDC_SYNC_STAGES(0), .FIFO_READ_LATENCY(FIFO_READ_LATENCY), .FIFO_WRITE_DEPTH(FIFO_WRITE_DEPTH),
    .FULL_RESET_VALUE(FULL_RESET_VALUE), .PROG_EMPTY_THRESH(PROG_EMPTY_THRESH),
    .PROG_FULL_THRESH(PROG_FULL_THRESH), .RD_DATA_COUNT_WIDTH(RD_DATA_COUNT_WIDTH),
    .READ_DATA_WIDTH(READ_DATA_WIDTH), .READ_MODE(READ_MODE), .WRITE_DATA_WIDTH(WRITE_DATA_WIDTH),
    .WR_DATA_COUNT_WIDTH(WR_DATA_COUNT_WIDTH)
  ) fifo (.rd_clk(wr_clk), .*);
endmodule
