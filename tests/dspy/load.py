"""Loads a data set of `kelvin export --format dspy` as its users do: examples with inputs, an evaluation, and
one step of an optimizer, with a model that answers from memory. Prints what it found as JSON."""

import hashlib
import json
import sys
from pathlib import Path

import dspy
from dspy.utils import DummyLM


def main(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    data = (folder / manifest["file"]).read_bytes()
    assert hashlib.sha256(data).hexdigest() == manifest["sha256"], "the file is not that of the manifest"
    rows = [json.loads(line) for line in data.decode().splitlines()]
    assert len(rows) == manifest["examples"] > 0, "the manifest counts other examples"
    inputs, outputs = manifest["input_keys"], manifest["output_keys"]
    examples = [dspy.Example(**row).with_inputs(*inputs) for row in rows]
    for example, row in zip(examples, rows):
        assert set(example.inputs().keys()) == set(inputs)
        for key, value in row.items():
            # An attribute that is a method of the example would not be the value of the field.
            assert getattr(example, key) == value, key

    signature = dspy.Signature(f"{', '.join(inputs)} -> {', '.join(outputs)}")
    target = outputs[0]
    answers = {str(row[inputs[0]]): {key: str(row[key]) for key in outputs} for row in rows}

    class FromMemory(DummyLM):
        """Answers with the outputs of the example whose input stands in the prompt; proposes an instruction to
        whoever asks for anything else."""

        def __init__(self):
            super().__init__([{}])
            self.asked = 0

        def forward(self, prompt=None, messages=None, **kwargs):
            self.asked += 1
            text = messages[-1]["content"] if messages else prompt
            found = [answer for given, answer in answers.items() if given.strip() in text]
            wanted = [name for name in ("observations", "summary", "program_description", "module_description",
                                        "proposed_instruction") if f"[[ ## {name} ## ]]" in text]
            fields = found[-1] if found and not wanted else {name: "Read the input." for name in wanted}
            self.answers = iter([fields] * kwargs.get("n", 1))
            return super().forward(prompt=prompt, messages=messages, **kwargs)

    model = FromMemory()
    dspy.configure(lm=model, adapter=dspy.ChatAdapter())

    def metric(example, prediction, trace=None):
        return float(str(getattr(example, target)) == str(getattr(prediction, target)))

    program = dspy.Predict(signature)
    evaluate = dspy.Evaluate(devset=examples, metric=metric, num_threads=1, display_progress=False)
    score = float(evaluate(program).score)

    optimizer = dspy.MIPROv2(metric=metric, auto=None, num_candidates=2, max_bootstrapped_demos=1,
                             max_labeled_demos=1, num_threads=1, seed=1)
    compiled = optimizer.compile(program, trainset=examples, valset=examples, num_trials=1, minibatch=False,
                                 seed=1)
    after = float(evaluate(compiled).score)
    print(json.dumps({"examples": len(examples), "evaluate": score, "optimized": after, "calls": model.asked}))


main(Path(sys.argv[1]))
