"""A plugin for pytest: `pytest evals -p kelvin_action.pytest` hands the outcome of each test to `kelvin`.

`kelvin` names a file in KELVIN_RESULTS, which pytest then writes as it writes any JUnit XML: the tests with their
parameters, whether they passed, and the numbers of `record_property`. The plugin gives every case a name that stays the
same from run to run, and says what its input is, so that an edited case is known as one. KELVIN_CASES is a file with the
names of the cases that are to be run again; where it is empty all of them are run. Without KELVIN_RESULTS the plugin does
nothing.
"""

import hashlib
import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

# What pytest-repeat adds to the parameters of a test.
STEP = "__pytest_repeat_step_number"
# A longer name is cut, and a digest tells what was cut.
LONGEST = 120


def written(value):
    """The value of a parameter in a text that is the same in every run; None where there is no such text."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=repr)
    return None if re.search(r" at 0x[0-9a-f]+", text) else text


def digest(text):
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:8]


class Case:
    """A test as `kelvin` knows it: its name, and what it records beside what the test itself records."""

    def __init__(self, item):
        path, *names = item.nodeid.split("[", 1)[0].split("::")
        module = re.sub(r"\.py$", "", path).replace("/", ".")
        self.name = ".".join([module, *names[:-1]]) + "::" + names[-1]
        self.properties = []
        call = getattr(item, "callspec", None)
        if call is None:
            return
        parameters, name = dict(call.params), call.id
        if STEP in parameters:
            self.properties.append(("repeat", parameters.pop(STEP) + 1))
            name = re.sub(r"-?\d+-\d+$", "", name)
        for parameter, value in parameters.items():
            # pytest names a value without a name by its place in the list: one that is put in would rename the others.
            numbered = f"{parameter}{call.indices.get(parameter)}"
            if not re.search(rf"(?:^|-){re.escape(numbered)}(?:-|$)", name):
                continue
            text = written(value)
            if text is None:
                raise pytest.UsageError(
                    f"kelvin: the parameter `{parameter}` of `{item.nodeid}` has no name that stays the same from run to "
                    f"run: give its values names with `ids=` of `pytest.mark.parametrize`, or `pytest.param(..., id=...)`"
                )
            name = name.replace(numbered, f"{parameter}-{digest(text)}", 1)
        if len(name) > LONGEST:
            name = f"{name[:LONGEST - 9]}-{digest(name)}"
        if name:
            self.name += f"[{name}]"
            self.properties.append(("case_id", name))
        asked = written(parameters)
        if parameters and asked is not None:
            self.properties.append(("input", asked))


class Plugin:
    def __init__(self, config, results):
        self.results, self.whole = Path(results), False
        # A report that somebody has asked for as well is written as ever.
        self.other = config.option.xmlpath
        config.option.xmlpath = results
        cases = os.environ.get("KELVIN_CASES")
        lines = Path(cases).read_text(encoding="utf-8").splitlines() if cases else []
        self.wanted = set(lines)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config, items):
        chosen, others = [], []
        for item in items:
            case = Case(item)
            item.user_properties.extend(case.properties)
            # Names are kept on one line, with single blanks.
            is_wanted = not self.wanted or " ".join(case.name.split()) in self.wanted
            (chosen if is_wanted else others).append(item)
        if others:
            items[:] = chosen
            config.hook.pytest_deselected(items=others)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item):
        # What the test itself says of its input counts.
        inputs = [one for one in item.user_properties if one[0] == "input"]
        if len(inputs) > 1:
            item.user_properties.remove(inputs[0])

    def pytest_sessionfinish(self, session, exitstatus):
        self.whole = exitstatus in (0, 1) and not session.shouldfail and not session.shouldstop

    def pytest_unconfigure(self, config):
        if hasattr(config, "workerinput"):
            return
        if self.other and self.results.exists():
            shutil.copyfile(self.results, self.other)
        if not self.whole:
            self.results.unlink() if self.results.exists() else None
            print("kelvin: pytest did not run every test to its end, so there are no results", file=sys.stderr)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    results = os.environ.get("KELVIN_RESULTS")
    if not results:
        return
    if not hasattr(config.option, "xmlpath"):
        raise pytest.UsageError("kelvin: the results are written by pytest's own plugin `junitxml`, which is turned off")
    if not config.pluginmanager.has_plugin("kelvin"):
        config.pluginmanager.register(Plugin(config, results), "kelvin")
