"""Makes every variant with the generators of kelvin-eval and keeps none, as its check would.

usage: peer_generation.py FOLDER     (run by the Python that kelvin-eval is installed in)

This is the part of its check between reading the cases and writing the files.
"""

import sys
from pathlib import Path

from kelvin import check
from kelvin.config import KelvinConfig
from kelvin.parser import load_cases

folder = Path(sys.argv[1])
config = KelvinConfig.load(folder / "kelvin.yaml")
cases = load_cases(folder / config.cases)
made = 0
for case in cases:
    for generator in check.DEFAULT_GENERATORS:
        batch = generator.generate(
            case=case, peer_cases=cases, seed=config.seed, governing_types=config.governing_types
        )
        made += len(batch.perturbations)
print(made)
