// SPDX-License-Identifier: Apache-2.0
//
// out[i] = a[i] + b[i] in bursts of up to 16 words, through a FIFO macro. Register 0x38 holds the sum
// of all results. Register 0x3c chooses a mistake, for the tests; 0: none.
`default_nettype none
`timescale 1 ns / 1 ps
module vadd #(
  parameter integer C_M_AXI_GMEM_DATA_WIDTH = 32
) (
  input  wire        ap_clk,
  input  wire        ap_rst_n,
  output wire        m_axi_gmem_AWVALID,
  input  wire        m_axi_gmem_AWREADY,
  output wire [63:0] m_axi_gmem_AWADDR,
  output wire [7:0]  m_axi_gmem_AWLEN,
  output wire [2:0]  m_axi_gmem_AWSIZE,
  output wire [1:0]  m_axi_gmem_AWBURST,
  output wire        m_axi_gmem_WVALID,
  input  wire        m_axi_gmem_WREADY,
  output wire [C_M_AXI_GMEM_DATA_WIDTH-1:0]   m_axi_gmem_WDATA,
  output wire [C_M_AXI_GMEM_DATA_WIDTH/8-1:0] m_axi_gmem_WSTRB,
  output wire        m_axi_gmem_WLAST,
  input  wire        m_axi_gmem_BVALID,
  output wire        m_axi_gmem_BREADY,
  input  wire [1:0]  m_axi_gmem_BRESP,
  output wire        m_axi_gmem_ARVALID,
  input  wire        m_axi_gmem_ARREADY,
  output wire [63:0] m_axi_gmem_ARADDR,
  output wire [7:0]  m_axi_gmem_ARLEN,
  output wire [2:0]  m_axi_gmem_ARSIZE,
  output wire [1:0]  m_axi_gmem_ARBURST,
  input  wire        m_axi_gmem_RVALID,
  output wire        m_axi_gmem_RREADY,
  input  wire [C_M_AXI_GMEM_DATA_WIDTH-1:0]   m_axi_gmem_RDATA,
  input  wire        m_axi_gmem_RLAST,
  input  wire [1:0]  m_axi_gmem_RRESP,
  input  wire        s_axi_control_AWVALID,
  output wire        s_axi_control_AWREADY,
  input  wire [5:0]  s_axi_control_AWADDR,
  input  wire        s_axi_control_WVALID,
  output wire        s_axi_control_WREADY,
  input  wire [31:0] s_axi_control_WDATA,
  input  wire [3:0]  s_axi_control_WSTRB,
  output wire        s_axi_control_BVALID,
  input  wire        s_axi_control_BREADY,
  output wire [1:0]  s_axi_control_BRESP,
  input  wire        s_axi_control_ARVALID,
  output wire        s_axi_control_ARREADY,
  input  wire [5:0]  s_axi_control_ARADDR,
  output wire        s_axi_control_RVALID,
  input  wire        s_axi_control_RREADY,
  output wire [31:0] s_axi_control_RDATA,
  output wire [1:0]  s_axi_control_RRESP,
  output wire        interrupt
);
  localparam [31:0] HANGS = 1, NO_WLAST = 2, CROSSES = 3, TOO_MANY = 4, PULSES = 5, FAR_AWAY = 6, STOPS = 7, FATAL = 8;

  typedef enum logic [3:0] {IDLE, ASK_A, TAKE_A, ASK_B, TAKE_B, SEND, GIVE, ANSWER, DONE, HANG} state_t;
  state_t state;
  wire ap_start;
  wire [63:0] a, b, out;
  wire [31:0] length, mistake;
  reg [31:0] at, sum;
  reg [4:0] beat;
  wire [31:0] wanted = mistake == TOO_MANY ? length + 16 : length;
  wire [31:0] rest = wanted - at;
  wire [4:0] beats = rest < 16 ? rest[4:0] : 5'd16;
  wire [63:0] base = state == SEND ? out : state == ASK_B ? b : a;
  wire [63:0] address = base + {30'd0, at, 2'd0} + (mistake == FAR_AWAY && state == ASK_A ? 64'h1 << 60 : 0)
                        + (mistake == CROSSES && state == ASK_A ? 64'd4064 : 0);

  wire is_full, has_none;
  wire [31:0] first;
  xpm_fifo_sync #(
    .FIFO_WRITE_DEPTH(16), .WRITE_DATA_WIDTH(32), .READ_DATA_WIDTH(32), .READ_MODE("fwft"),
    .PROG_FULL_THRESH(8), .WR_DATA_COUNT_WIDTH(5), .RD_DATA_COUNT_WIDTH(5)
  ) words (
    .sleep(1'b0), .rst(!ap_rst_n), .wr_clk(ap_clk), .wr_en(state == TAKE_A && m_axi_gmem_RVALID),
    .din(m_axi_gmem_RDATA), .full(is_full), .prog_full(), .wr_data_count(), .overflow(),
    .wr_rst_busy(), .almost_full(), .wr_ack(), .rd_en(state == TAKE_B && m_axi_gmem_RVALID),
    .dout(first), .empty(has_none), .prog_empty(), .rd_data_count(), .underflow(), .rd_rst_busy(),
    .almost_empty(), .data_valid(), .injectsbiterr(1'b0), .injectdbiterr(1'b0), .sbiterr(), .dbiterr()
  );
  reg [31:0] results [0:15];

  assign m_axi_gmem_ARVALID = state == ASK_A || state == ASK_B;
  assign m_axi_gmem_ARADDR = address;
  assign m_axi_gmem_ARLEN = {3'd0, beats} - 8'd1;
  assign m_axi_gmem_ARSIZE = 3'd2;
  assign m_axi_gmem_ARBURST = 2'd1;
  assign m_axi_gmem_RREADY = state == TAKE_A || state == TAKE_B;
  assign m_axi_gmem_AWVALID = state == SEND;
  assign m_axi_gmem_AWADDR = address;
  assign m_axi_gmem_AWLEN = {3'd0, beats} - 8'd1;
  assign m_axi_gmem_AWSIZE = 3'd2;
  assign m_axi_gmem_AWBURST = 2'd1;
  assign m_axi_gmem_WVALID = state == GIVE;
  assign m_axi_gmem_WDATA = results[beat[3:0]];
  assign m_axi_gmem_WSTRB = 4'hf;
  assign m_axi_gmem_WLAST = mistake != NO_WLAST && beat == beats - 1;
  assign m_axi_gmem_BREADY = state == ANSWER;
  assign interrupt = 0;
  assign s_axi_control_BRESP = 0;
  assign s_axi_control_RRESP = 0;

  always_ff @(posedge ap_clk) begin
    case (state)
      IDLE: if (ap_start) begin
        if (mistake == STOPS) $stop;
        if (mistake == FATAL) $fatal(1, "mistake %0d of %0d words", mistake, length);
        at <= 0;
        sum <= 0;
        state <= length == 0 ? DONE : ASK_A;
      end
      ASK_A, ASK_B: if (m_axi_gmem_ARREADY) begin
        beat <= 0;
        state <= state == ASK_A ? TAKE_A : TAKE_B;
      end
      TAKE_A: if (m_axi_gmem_RVALID) begin
        beat <= beat + 1;
        if (m_axi_gmem_RLAST) state <= mistake == HANGS ? HANG : ASK_B;
      end
      TAKE_B: if (m_axi_gmem_RVALID) begin
        beat <= beat + 1;
        results[beat[3:0]] <= first + m_axi_gmem_RDATA;
        sum <= sum + first + m_axi_gmem_RDATA;
        if (m_axi_gmem_RLAST) state <= SEND;
      end
      SEND: begin
        beat <= 0;
        if (m_axi_gmem_AWREADY || mistake == PULSES) state <= GIVE;
      end
      GIVE: if (m_axi_gmem_WREADY) begin
        beat <= beat + 1;
        if (beat == beats - 1) state <= ANSWER;
      end
      ANSWER: if (m_axi_gmem_BVALID) begin
        at <= at + {27'd0, beats};
        state <= at + {27'd0, beats} >= wanted ? DONE : ASK_A;
      end
      DONE: state <= IDLE;
      default: ;
    endcase
    if (!ap_rst_n) state <= IDLE;
  end

  vadd_control control (
    .clk(ap_clk), .rst_n(ap_rst_n),
    .awvalid(s_axi_control_AWVALID), .awready(s_axi_control_AWREADY), .awaddr(s_axi_control_AWADDR),
    .wvalid(s_axi_control_WVALID), .wready(s_axi_control_WREADY), .wdata(s_axi_control_WDATA),
    .bvalid(s_axi_control_BVALID), .bready(s_axi_control_BREADY),
    .arvalid(s_axi_control_ARVALID), .arready(s_axi_control_ARREADY), .araddr(s_axi_control_ARADDR),
    .rvalid(s_axi_control_RVALID), .rready(s_axi_control_RREADY), .rdata(s_axi_control_RDATA),
    .ap_start(ap_start), .ap_done(state == DONE), .ap_idle(state == IDLE),
    .a(a), .b(b), .out(out), .length(length), .mistake(mistake), .sum(sum)
  );
endmodule
`default_nettype wire
