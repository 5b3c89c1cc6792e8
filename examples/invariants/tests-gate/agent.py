"""Repairs the project in its working directory, as an agent with a model would."""

import pathlib

source = pathlib.Path("prices.py")
repaired = source.read_text().replace("return int(", "return round(")
source.write_text(repaired)
print("repaired the total; the tests should pass now")
