# SPDX-License-Identifier: Apache-2.0
"""One row of the table on the peer: llama.cpp through llama-cpp-python's ctypes API.

Runs under the interpreter that has the package. Prints {"ready": true, ...}; then every line on
standard input gives one sample, {"tokens_per_s": x}, and "end" or the end of the input ends it.

Equal work: every sequence has its own stream of the KV cache (kv_unified off), filled by one real
prefill whose cells are then copied as bytes, so that no byte is shared; a decode step appends one token per
sequence at the last place of the context, with logits of every sequence, and is taken back after the
sample, so that every step attends to the same number of tokens. Prefill starts from an empty cache and asks
for the logits of the last token only.
"""

import argparse
import ctypes
import json
import os
import random
import sys
import time

import llama_cpp

SAMPLE_SECONDS = 0.02
FLASH = {"on": 1, "off": 0}


class Peer:
    def __init__(self, arguments):
        self.batch_size, self.context = arguments.batch, arguments.context
        llama_cpp.llama_backend_init()
        silent = llama_cpp.llama_log_callback(lambda level, text, user: None)
        self.keep = silent
        llama_cpp.llama_log_set(silent, None)
        self.model = llama_cpp.llama_model_load_from_file(
            arguments.model.encode(), llama_cpp.llama_model_default_params())
        if not self.model:
            sys.exit(f"the peer cannot load {arguments.model}")
        self.vocab = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))
        parameters = llama_cpp.llama_context_default_params()
        room = (arguments.context + 255) // 256 * 256
        parameters.n_ctx = room * arguments.batch
        parameters.n_batch = parameters.n_ubatch = arguments.chunk
        parameters.n_seq_max = arguments.batch
        parameters.n_threads = parameters.n_threads_batch = arguments.threads
        parameters.flash_attn_type = FLASH[arguments.flash]
        parameters.kv_unified = False
        parameters.no_perf = True
        self.handle = llama_cpp.llama_init_from_model(self.model, parameters)
        if not self.handle:
            sys.exit("the peer cannot make a context; is there memory for it?")
        self.memory = llama_cpp.llama_get_memory(self.handle)
        self.chunk = arguments.chunk
        self.room = max(arguments.chunk, arguments.batch)
        self.batches = [llama_cpp.llama_batch_init(self.room, 0, 1)]
        self.random = random.Random(1)

    def prepare(self, number, rows):
        """Batch `number` with rows (token, position, sequence, wants logits); slow, and never timed."""
        while len(self.batches) <= number:
            self.batches.append(llama_cpp.llama_batch_init(self.room, 0, 1))
        batch = self.batches[number]
        batch.n_tokens = len(rows)
        for i, (token, position, sequence, logits) in enumerate(rows):
            batch.token[i], batch.pos[i] = token, position
            batch.n_seq_id[i], batch.seq_id[i][0], batch.logits[i] = 1, sequence, logits
        return batch

    def decode(self, batch):
        code = llama_cpp.llama_decode(self.handle, batch)
        if code != 0:
            sys.exit(f"llama_decode gave {code}")

    def token(self):
        return self.random.randrange(3, self.vocab)

    def finish(self, row):
        """Waits for what was started, and looks at what it gave."""
        logits = llama_cpp.llama_get_logits_ith(self.handle, row)
        if logits[0] != logits[0]:
            sys.exit("the peer's logits are not numbers")

    def prompt(self, num_tokens, logits):
        """The batches of a prompt, in chunks."""
        return [self.prepare(number, [(self.token(), at, 0, logits and at + 1 == num_tokens)
                                      for at in range(begin, min(num_tokens, begin + self.chunk))])
                for number, begin in enumerate(range(0, num_tokens, self.chunk))]

    def prefill_sample(self):
        llama_cpp.llama_memory_clear(self.memory, False)
        batches = self.prompt(self.context, True)
        start = time.perf_counter()
        for batch in batches:
            self.decode(batch)
        self.finish(-1)
        return time.perf_counter() - start

    def fill(self):
        """All but the last place of every sequence."""
        held = self.context - 1
        if held == 0:
            return
        for batch in self.prompt(held, False):
            self.decode(batch)
        size = llama_cpp.llama_state_seq_get_size(self.handle, 0)
        state = (ctypes.c_uint8 * size)()
        if llama_cpp.llama_state_seq_get_data(self.handle, state, size, 0) != size:
            sys.exit("the peer's KV state cannot be copied out")
        for sequence in range(1, self.batch_size):
            if llama_cpp.llama_state_seq_set_data(self.handle, state, size, sequence) == 0:
                sys.exit("the peer's KV state cannot be copied in")

    def decode_step(self):
        batch = self.prepare(0, [(self.token(), self.context - 1, sequence, True)
                                 for sequence in range(self.batch_size)])
        start = time.perf_counter()
        self.decode(batch)
        self.finish(self.batch_size - 1)
        seconds = time.perf_counter() - start
        for sequence in range(self.batch_size):
            llama_cpp.llama_memory_seq_rm(self.memory, sequence, self.context - 1, -1)
        return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--kind", choices=("prefill", "decode"), required=True)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--context", type=int, required=True)
    parser.add_argument("--chunk", type=int, default=512)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--flash", choices=tuple(FLASH), default="on")
    arguments = parser.parse_args()
    peer = Peer(arguments)
    if arguments.kind == "prefill":
        step, tokens = peer.prefill_sample, arguments.context
    else:
        peer.fill()
        step, tokens = peer.decode_step, arguments.batch
    step()
    steps = min(256, max(1, int(SAMPLE_SECONDS / step()) + 1))
    print(json.dumps({"ready": True, "version": llama_cpp.__version__, "steps_per_sample": steps}), flush=True)
    for line in sys.stdin:
        if line.strip() == "end":
            break
        step()  # the other program has had the caches
        seconds = sum(step() for _ in range(steps))
        print(json.dumps({"tokens_per_s": tokens * steps / seconds}), flush=True)


main()
