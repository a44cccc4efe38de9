# SPDX-License-Identifier: Apache-2.0
"""Writes the trained network as GGUF: Q8_0 matrices, F32 norms, tokenizer and chat template.

The output matrix is tied: there is no `output.weight`, `token_embd.weight` serves both ends.
"""
import os

import gguf
import numpy as np

from stories import CHAT_TEMPLATE
from tokenizer import vocabulary


def interleave_rope_rows(matrix, heads):
    """Rows [heads * (2, head_dim / 2)] -> [heads * (head_dim / 2, 2)]: rotary pairs (2i, 2i + 1)."""
    rows, cols = matrix.shape
    return matrix.reshape(heads, 2, rows // heads // 2, cols).swapaxes(1, 2).reshape(rows, cols)


def add_metadata(writer, processor, shape):
    writer.add_type(gguf.GGUFType.MODEL)
    writer.add_name("Tandem Stories")
    writer.add_description("Demonstration model that tells short stories")
    writer.add_license("cdla-sharing-1.0")
    writer.add_languages(["en"])
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    writer.add_vocab_size(shape.vocab)
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.ffn)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head_dim)
    writer.add_value_length(shape.head_dim)
    writer.add_layer_norm_rms_eps(shape.norm_epsilon)
    writer.add_rope_dimension_count(shape.head_dim)
    writer.add_rope_freq_base(shape.rope_base)
    tokens, scores, kinds = vocabulary(processor)
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_scores(scores)
    writer.add_token_types(kinds)
    writer.add_bos_token_id(processor.bos_id())
    writer.add_eos_token_id(processor.eos_id())
    writer.add_unk_token_id(processor.unk_id())
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    writer.add_add_space_prefix(True)
    writer.add_chat_template(CHAT_TEMPLATE)


def export_gguf(path, weights, processor, shape):
    """Writes beside `path` and renames, so that a reader never sees half a file."""
    partial = path + ".partial"
    writer = gguf.GGUFWriter(partial, "llama")
    add_metadata(writer, processor, shape)

    def add(name, tensor):
        tensor = np.ascontiguousarray(tensor, dtype=np.float32)
        if tensor.ndim == 1:
            writer.add_tensor(name, tensor)
            return
        kind = gguf.GGMLQuantizationType.Q8_0
        writer.add_tensor(name, gguf.quants.quantize(tensor, kind), raw_dtype=kind)

    add("token_embd.weight", weights["token_embd"])
    for index, layer in enumerate(weights["layers"]):
        for name, tensor in layer.items():
            tensor = np.asarray(tensor)
            if tensor.ndim == 2:
                tensor = tensor.T
            if name == "attn_q":
                tensor = interleave_rope_rows(tensor, shape.heads)
            if name == "attn_k":
                tensor = interleave_rope_rows(tensor, shape.kv_heads)
            add(f"blk.{index}.{name}.weight", tensor)
    add("output_norm.weight", weights["output_norm"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    os.replace(partial, path)
