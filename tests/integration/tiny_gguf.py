"""A BERT for Ollama that is written rather than trained: two layers of seeded random weights, in half a megabyte.

Its vectors mean nothing. In the model ``with_nan``, the word "nanword" gives NaN; "plain" is an ordinary word.
The file format is GGUF version 3 (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md).
"""

import string
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import numpy.typing

Tensor = numpy.typing.NDArray[numpy.float32]

DIMENSION = 64
CONTEXT_TOKENS = 128
LAYERS = 2
SEED = 1234
ALIGNMENT = 32

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LETTERS = string.ascii_lowercase + string.digits
WORDS = ("cat", "dog", "plain", "nanword")
NAN_WORD = "nanword"
START = "\u2581"  # before a piece that begins a word
PIECES = (*SPECIAL, *(START + c for c in LETTERS + string.punctuation), *LETTERS, *(START + word for word in WORDS))

UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
CONTROL, NORMAL = 3, 1
MEAN_POOLING = 1


def write(path: Path, *, with_nan: bool = False, seed: int = SEED) -> None:
    metadata, tensors = list(_metadata()), list(_tensors(with_nan, seed))
    header = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(metadata))
    header += b"".join(_string(key) + struct.pack("<I", kind) + _value(kind, value) for key, kind, value in metadata)
    offset = 0
    for name, tensor in tensors:
        dimensions = struct.pack(f"<I{tensor.ndim}Q", tensor.ndim, *reversed(tensor.shape))
        header += _string(name) + dimensions + struct.pack("<IQ", 0, offset)
        offset += len(_aligned(tensor.tobytes()))
    path.write_bytes(_aligned(header) + b"".join(_aligned(tensor.tobytes()) for _, tensor in tensors))


def _metadata() -> Iterator[tuple[str, int, Any]]:
    yield "general.architecture", STRING, "bert"
    yield "general.file_type", UINT32, 0
    yield "bert.context_length", UINT32, CONTEXT_TOKENS
    yield "bert.embedding_length", UINT32, DIMENSION
    yield "bert.feed_forward_length", UINT32, 4 * DIMENSION
    yield "bert.block_count", UINT32, LAYERS
    yield "bert.attention.head_count", UINT32, 2
    yield "bert.attention.layer_norm_epsilon", FLOAT32, 1e-12
    yield "bert.attention.causal", BOOL, False
    yield "bert.pooling_type", UINT32, MEAN_POOLING
    yield "tokenizer.ggml.model", STRING, "bert"
    yield "tokenizer.ggml.pre", STRING, "default"
    yield "tokenizer.ggml.tokens", ARRAY, (STRING, PIECES)
    yield "tokenizer.ggml.token_type", ARRAY, (INT32, [CONTROL if p in SPECIAL else NORMAL for p in PIECES])
    yield "tokenizer.ggml.token_type_count", UINT32, 2
    for role, piece in (("bos", "[CLS]"), ("eos", "[SEP]"), ("cls", "[CLS]"), ("seperator", "[SEP]")):
        yield f"tokenizer.ggml.{role}_token_id", UINT32, PIECES.index(piece)
    for role, piece in (("unknown", "[UNK]"), ("padding", "[PAD]"), ("mask", "[MASK]")):
        yield f"tokenizer.ggml.{role}_token_id", UINT32, PIECES.index(piece)


def _tensors(with_nan: bool, seed: int) -> Iterator[tuple[str, Tensor]]:
    random = numpy.random.default_rng(seed)

    def matrix(rows: int, columns: int, deviation: float) -> Tensor:
        return random.normal(0.0, deviation, (rows, columns)).astype(numpy.float32)

    def norm(name: str) -> Iterator[tuple[str, Tensor]]:
        yield f"{name}.weight", numpy.ones(DIMENSION, numpy.float32)
        yield f"{name}.bias", numpy.zeros(DIMENSION, numpy.float32)

    def linear(name: str, given: int, made: int) -> Iterator[tuple[str, Tensor]]:
        yield f"{name}.weight", matrix(made, given, given**-0.5)
        yield f"{name}.bias", numpy.zeros(made, numpy.float32)

    pieces = matrix(len(PIECES), DIMENSION, 1.0)
    if with_nan:
        pieces[PIECES.index(START + NAN_WORD)] = numpy.nan
    yield "token_embd.weight", pieces
    yield "position_embd.weight", matrix(CONTEXT_TOKENS, DIMENSION, 0.1)
    yield "token_types.weight", matrix(2, DIMENSION, 0.1)
    yield from norm("token_embd_norm")
    for layer in range(LAYERS):
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            yield from linear(f"blk.{layer}.{part}", DIMENSION, DIMENSION)
        yield from norm(f"blk.{layer}.attn_output_norm")
        yield from linear(f"blk.{layer}.ffn_up", DIMENSION, 4 * DIMENSION)
        yield from linear(f"blk.{layer}.ffn_down", 4 * DIMENSION, DIMENSION)
        yield from norm(f"blk.{layer}.layer_output_norm")


def _value(kind: int, value: Any) -> bytes:
    if kind == STRING:
        return _string(value)
    if kind == ARRAY:
        element_kind, elements = value
        head = struct.pack("<IQ", element_kind, len(elements))
        return head + b"".join(_value(element_kind, element) for element in elements)
    return struct.pack({UINT32: "<I", INT32: "<i", FLOAT32: "<f", BOOL: "<?"}[kind], value)


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _aligned(data: bytes) -> bytes:
    return data + bytes(-len(data) % ALIGNMENT)
