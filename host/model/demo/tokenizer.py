# SPDX-License-Identifier: Apache-2.0
"""SentencePiece BPE with byte fallback, laid out as the `llama` tokenizer of a GGUF file.

Ids: 0 <unk>, 1 <s>, 2 </s>, 3 <|system|>, 4 <|user|>, 5 <|assistant|>, 6..261 bytes, then pieces.
Every text fragment after a special token gets the space prefix, as llama.cpp does.
"""
import io
import string

import numpy as np
import sentencepiece

from stories import ASSISTANT, SYSTEM, USER

VOCAB_SIZE = 2048
ROW_LENGTHS = (128, 192, 256, 320, 384, 512)
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6  # tokenizer.ggml.token_type


def train_tokenizer(texts):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=model, model_type="bpe", vocab_size=VOCAB_SIZE,
        byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False,
        add_dummy_prefix=True, split_digits=True, allow_whitespace_only_pieces=False,
        character_coverage=1.0, required_chars=string.printable[:94] + "\n",
        control_symbols=[SYSTEM, USER, ASSISTANT], max_sentence_length=1 << 16, num_threads=1,
        minloglevel=1)
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def vocabulary(processor):
    """tokens, scores, token_type in the order of the ids."""
    tokens, scores, kinds = [], [], []
    for i in range(processor.vocab_size()):
        tokens.append(processor.id_to_piece(i))
        scores.append(processor.get_score(i))
        kinds.append(UNKNOWN if processor.is_unknown(i) else CONTROL if processor.is_control(i)
                     else BYTE if processor.is_byte(i) else NORMAL)
    return tokens, scores, kinds


def encode_document(processor, fragments):
    """ids and, for each, whether predicting it counts in the loss."""
    ids, counted = [], []
    for fragment in fragments:
        if fragment.kind == "text":
            piece_ids = processor.encode(fragment.text)
        elif fragment.kind == "bos":
            piece_ids = [processor.bos_id()]
        elif fragment.kind == "eos":
            piece_ids = [processor.eos_id()]
        else:
            piece_ids = [processor.piece_to_id(fragment.kind)]
        ids += piece_ids
        # Whether a turn is a request is the caller's choice, so markers are read, not predicted.
        read_only = not fragment.loss or fragment.kind in (USER, SYSTEM)
        counted += [not read_only] * len(piece_ids)
    return ids, counted


def batch_by_length(documents, batch_tokens):
    """Encoded documents -> batches of (tokens, loss weights), each [rows, length + 1], one document
    a row, padded to the next of ROW_LENGTHS. What does not fill a batch moves to the next length.
    Documents longer than the longest row are left out: cut, they would teach the model not to end."""
    batches, waiting, shorter = [], [], 0
    for length in ROW_LENGTHS:
        rows = batch_tokens // length
        waiting += [d for d in documents if shorter < len(d[0]) <= length + 1]
        shorter = length + 1
        for start in range(0, len(waiting) - rows + 1, rows):
            batches.append(pad_rows(waiting[start:start + rows], length))
        waiting = waiting[len(waiting) // rows * rows:]
    return batches


def pad_rows(documents, length):
    tokens = np.zeros((len(documents), length + 1), np.int32)
    weights = np.zeros((len(documents), length + 1), np.float32)
    for row, (ids, counted) in enumerate(documents):
        tokens[row, :len(ids)] = ids
        weights[row, :len(ids)] = counted
    return tokens, weights
