"""wordllama behind an OpenAI-compatible endpoint: ``python -m twiceshy.local.embedder --port N``

Token vectors, averaged: no neural network runs, so that a text takes 0.1 ms on one core and a vector is the same
bytes on every machine. The weights (256-d) are in wordllama's wheel; nothing is ever downloaded. They were trained
so that the first 64 or 128 dimensions are a model as well, less exact and smaller, which has a name of its own here.
"""

import base64
import json
import logging
import re
from pathlib import Path
from typing import Any

import numpy
import numpy.typing

from twiceshy.local.http import RefusedError, Request, arguments, exit_on_signals, serve

MODELS = {dimension: f"wordllama-l2-supercat-{dimension}" for dimension in (64, 128, 256)}
DIMENSION = 256
MODEL = MODELS[DIMENSION]
BATCH_TEXTS_MAX = 512

Vector = numpy.typing.NDArray[numpy.float32]

# A NUL is a token like any other here, and a lone surrogate makes the tokenizer raise.
_UNTEXTUAL = re.compile("[\x00\ud800-\udfff]")


class Embedder:
    """Texts to vectors of unit length. Texts are embedded one by one: a batch would be padded to its longest
    text, and the padding's rounding errors would make a vector depend on its neighbours."""

    def __init__(self, dimension: int = DIMENSION) -> None:
        model = _load()
        model.tokenizer.no_padding()
        self.model = MODELS[dimension]
        self.dimension = dimension
        self._tokenizer = model.tokenizer
        self._table: Vector = numpy.ascontiguousarray(model.embedding[:, :dimension])

    def embed(self, texts: list[str]) -> tuple[list[Vector], int]:
        """One vector of shape (dimension,) a text, and the number of tokens of all.

        Raises RefusedError (400), naming the index, for a text that has no token or whose vector is zero.
        """
        clean = [_UNTEXTUAL.sub(" ", text) for text in texts]
        encoded = self._tokenizer.encode_batch(clean, add_special_tokens=False)
        vectors = [
            self._pool(at, encoding.ids if text.strip() else [])
            for at, (text, encoding) in enumerate(zip(clean, encoded, strict=True))
        ]
        return vectors, sum(len(encoding.ids) for encoding in encoded)

    def _pool(self, at: int, tokens: list[int]) -> Vector:
        total: Vector = self._table[tokens].sum(axis=0, dtype=numpy.float32)
        norm = numpy.linalg.norm(total)
        if not norm > 0:
            raise _invalid(f"input[{at}] has no token, so it has no vector", f"input[{at}]", "no_tokens")
        return (total / norm).astype(numpy.float32)


def _load() -> Any:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    import wordllama  # configures the root logger, which is not its to configure

    root.handlers[:] = handlers
    root.setLevel(level)
    folder = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(dim=DIMENSION, cache_dir=folder, disable_download=True)


class EmbedderService:
    """POST /v1/embeddings, GET /v1/models and GET /healthz, with OpenAI's shapes of answers and errors."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def answer(self, request: Request) -> Any:
        match request.method, request.path:
            case "POST", "/v1/embeddings":
                return self._embeddings(_parsed(request.body))
            case "GET", "/v1/models":
                model = {"id": self._embedder.model, "object": "model", "created": 0, "owned_by": "wordllama"}
                return {"object": "list", "data": [model]}
            case "GET", "/healthz" | "/readyz":
                return {"status": "ok"}
        raise RefusedError(404, f"{request.method} {request.path} is not served here", code="unknown_url")

    def refusal(self, error: RefusedError) -> Any:
        kind = "server_error" if error.status >= 500 else "invalid_request_error"
        return {"error": {"message": error.message, "type": kind, "param": None, "code": None} | error.detail}

    def _embeddings(self, body: Any) -> Any:
        if not isinstance(body, dict):
            raise _invalid("the body must be an object", "body", "invalid_type")
        model, dimension = self._embedder.model, self._embedder.dimension
        if body.get("model") != model:
            message = f"The model `{body.get('model')}` does not exist: this server has {model}"
            raise RefusedError(404, message, param="model", code="model_not_found")
        if body.get("dimensions", dimension) != dimension:
            raise _invalid(f"dimensions is {dimension} and cannot be changed", "dimensions", "invalid_value")
        encoding = body.get("encoding_format", "float")
        if encoding not in ("float", "base64"):
            raise _invalid("encoding_format must be float or base64", "encoding_format", "invalid_value")
        vectors, tokens = self._embedder.embed(_texts(body.get("input")))
        data = [
            {"object": "embedding", "index": at, "embedding": _base64(vector) if encoding == "base64" else vector}
            for at, vector in enumerate(vectors)
        ]
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return {"object": "list", "data": data, "model": model, "usage": usage}


def _parsed(body: bytes) -> Any:
    """By the standard library, which lets a lone surrogate through to be replaced."""
    try:
        return json.loads(body)
    except ValueError as error:
        raise _invalid(f"the body is not JSON: {error}", "body", "invalid_json") from error


def _texts(given: Any) -> list[str]:
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise _invalid("input must be a string or a list of strings", "input", "invalid_type")
    if not 1 <= len(texts) <= BATCH_TEXTS_MAX:
        message = f"input must hold 1 to {BATCH_TEXTS_MAX} texts, and holds {len(texts)}"
        raise _invalid(message, "input", "invalid_length")
    return texts


def _base64(vector: Vector) -> str:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()


def _invalid(message: str, param: str, code: str) -> RefusedError:
    return RefusedError(400, message, param=param, code=code)


def main() -> None:
    parser = arguments("Serve wordllama's embeddings as OpenAI would.")
    parser.add_argument("--dimensions", type=int, choices=tuple(MODELS), default=DIMENSION)
    given = parser.parse_args()
    exit_on_signals()
    serve(EmbedderService(Embedder(given.dimensions)), given.host, given.port)


if __name__ == "__main__":
    main()
