"""A small system that answers questions from a corpus: BM25, and the best chunk as the answer.

    python3 ask.py --query INPUT --output OUTPUT

BM25 as in Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009),
with k1 = 1.2 and b = 0.75.
"""

import argparse
import collections
import json
import math
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
K1, B = 1.2, 0.75
# Below this score the best hit is taken for chance, and the question is refused.
REFUSE_BELOW = 2.5
# Words that say nothing of what a text is about.
STOP = set(
    "a an and are as at be by can do does for from get how i in is it may me must my of on or "
    "than that the to was what when where which who with you your".split()
)


def words(text):
    """The words of a text: lower case, without those that say nothing, without a plural s."""
    found = re.findall(r"[a-z0-9]{2,}", text.lower())
    return [re.sub(r"(?<=[a-z]{3})s$", "", word) for word in found if word not in STOP]


class Index:
    def __init__(self, chunks):
        self.chunks = chunks
        self.counts = [collections.Counter(words(chunk["text"])) for chunk in chunks]
        self.lengths = [sum(count.values()) for count in self.counts]
        self.mean = sum(self.lengths) / len(chunks)
        self.holding = collections.Counter(word for count in self.counts for word in count)

    def weight(self, word):
        n = self.holding[word]
        return math.log(1 + (len(self.chunks) - n + 0.5) / (n + 0.5))

    def score(self, query, at):
        norm = K1 * (1 - B + B * self.lengths[at] / self.mean)
        count = self.counts[at]
        return sum(
            self.weight(word) * count[word] * (K1 + 1) / (count[word] + norm) for word in query
        )

    def search(self, query, most=10):
        scored = ((self.score(words(query), at), chunk) for at, chunk in enumerate(self.chunks))
        found = [(score, chunk) for score, chunk in scored if score > 0]
        found.sort(key=lambda pair: (-pair[0], pair[1]["chunk_id"]))
        return found[:most]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--query", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    options = parser.parse_args()
    lines = (HERE / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    index = Index([json.loads(line) for line in lines])
    query = json.loads(options.query.read_text(encoding="utf-8"))["query"]
    found = index.search(query)
    hits = [
        {
            "chunk_id": chunk["chunk_id"],
            "doc_id": chunk["doc_id"],
            "score": score,
            "spans": [{"start": chunk["start"], "end": chunk["end"]}],
        }
        for score, chunk in found
    ]
    if found and found[0][0] >= REFUSE_BELOW:
        best = found[0][1]
        answer = {
            "text": best["text"],
            "grounded": True,
            "citations": [{"doc_id": best["doc_id"], "chunk_id": best["chunk_id"]}],
        }
    else:
        answer = {
            "text": "I do not know.",
            "grounded": False,
            "citations": [],
            "refusal_reason": "score_gate",
        }
    output = {"hits": hits, "answer": answer}
    options.output.write_text(json.dumps(output), encoding="utf-8")


if __name__ == "__main__":
    main()
