// SPDX-License-Identifier: Apache-2.0
//
// A simulation model of the vendor's macro of this name, from its public description (UG974): a
// FIFO between two clocks. Counts of words and the reset cross after CDC_SYNC_STAGES edges of the
// other clock. Read and write widths are equal; there is no error correction.
module xpm_fifo_async #(
  parameter integer CASCADE_HEIGHT = 0,
  parameter integer CDC_SYNC_STAGES = 2,
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
  parameter integer RELATED_CLOCKS = 0,
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
  output reg  overflow,
  output wire wr_rst_busy,
  output wire almost_full,
  output reg  wr_ack,
  input  wire rd_clk,
  input  wire rd_en,
  output wire [READ_DATA_WIDTH-1:0] dout,
  output wire empty,
  output wire prog_empty,
  output wire [RD_DATA_COUNT_WIDTH-1:0] rd_data_count,
  output reg  underflow,
  output wire rd_rst_busy,
  output wire almost_empty,
  output wire data_valid,
  input  wire injectsbiterr,
  input  wire injectdbiterr,
  output wire sbiterr,
  output wire dbiterr
);
  if (READ_DATA_WIDTH != WRITE_DATA_WIDTH) begin : gen_widths
    $error("this model of a FIFO has equal read and write widths");
  end

  localparam integer A = $clog2(FIFO_WRITE_DEPTH);
  localparam integer STAGES = CDC_SYNC_STAGES == 0 ? 1 : CDC_SYNC_STAGES;
  reg [WRITE_DATA_WIDTH-1:0] words [0:FIFO_WRITE_DEPTH-1];
  reg [A:0] wr_at = 0, rd_at = 0;
  reg [STAGES-1:0][A:0] wr_seen = 0, rd_seen = 0;
  reg [STAGES-1:0] rst_seen = 0;
  reg wr_busy = 0;

  wire [A:0] rd_known = CDC_SYNC_STAGES == 0 ? rd_at : rd_seen[STAGES-1];
  wire [A:0] wr_known = CDC_SYNC_STAGES == 0 ? wr_at : wr_seen[STAGES-1];
  wire rd_rst = CDC_SYNC_STAGES == 0 ? rst : rst_seen[STAGES-1];
  wire [A:0] wr_held = wr_at - rd_known;
  wire [A:0] rd_held = wr_known - rd_at;
  wire wr_takes = wr_en && !full && !wr_rst_busy;
  wire rd_takes = rd_en && !empty && !rd_rst_busy;

  assign wr_rst_busy = rst || wr_busy;
  assign rd_rst_busy = rd_rst;
  assign full = wr_rst_busy ? FULL_RESET_VALUE != 0 : 32'(wr_held) >= FIFO_WRITE_DEPTH;
  assign almost_full = wr_rst_busy ? FULL_RESET_VALUE != 0 : 32'(wr_held) >= FIFO_WRITE_DEPTH - 1;
  assign prog_full = wr_rst_busy ? FULL_RESET_VALUE != 0 : 32'(wr_held) >= PROG_FULL_THRESH;
  assign empty = rd_rst || rd_held == 0;
  assign almost_empty = rd_rst || rd_held <= 1;
  assign prog_empty = rd_rst || 32'(rd_held) <= PROG_EMPTY_THRESH;
  assign wr_data_count = WR_DATA_COUNT_WIDTH'(wr_held);
  assign rd_data_count = RD_DATA_COUNT_WIDTH'(rd_held);
  assign sbiterr = 0;
  assign dbiterr = 0;

  always @(posedge wr_clk) begin
    wr_busy <= rst;
    overflow <= wr_en && (full || wr_rst_busy);
    wr_ack <= wr_takes;
    rd_seen <= (rd_seen << (A + 1)) | (STAGES*(A+1))'(rd_at);
    if (wr_takes) begin
      words[wr_at[A-1:0]] <= din;
      wr_at <= wr_at + 1;
    end
    if (rst) begin
      wr_at <= 0;
      rd_seen <= 0;
    end
  end

  always @(posedge rd_clk) begin
    rst_seen <= STAGES'({rst_seen, rst});
    underflow <= rd_en && (empty || rd_rst_busy);
    wr_seen <= (wr_seen << (A + 1)) | (STAGES*(A+1))'(wr_at);
    if (rd_takes) rd_at <= rd_at + 1;
    if (rd_rst) begin
      rd_at <= 0;
      wr_seen <= 0;
    end
  end

  if (READ_MODE == "fwft") begin : gen_fwft
    assign dout = words[rd_at[A-1:0]];
    assign data_valid = !empty;
  end else begin : gen_standard
    localparam integer LATENCY = FIFO_READ_LATENCY < 1 ? 1 : FIFO_READ_LATENCY;
    reg [LATENCY-1:0][READ_DATA_WIDTH-1:0] stages = 0;
    reg [LATENCY-1:0] valid = 0;
    integer stage;
    always @(posedge rd_clk) begin
      for (stage = LATENCY - 1; stage > 0; stage = stage - 1) begin
        stages[stage] <= stages[stage-1];
        valid[stage] <= valid[stage-1];
      end
      if (rd_takes) stages[0] <= words[rd_at[A-1:0]];
      valid[0] <= rd_takes;
      if (rd_rst) valid <= 0;
    end
    assign dout = stages[LATENCY-1];
    assign data_valid = valid[LATENCY-1];
  end
endmodule
