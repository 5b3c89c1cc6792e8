"""Serves one Python function to kelvin: JSON-RPC 2.0, one message a line.

Kelvin starts it as `python -c THIS_TEXT FOLDER MODULE:FUNCTION`. It needs Python 3.9 and nothing else.
"""

import sys


def _main(folder, address):
    import os

    # Nothing that the function prints or reads may reach the messages.
    answers = os.fdopen(os.dup(1), "wb")
    questions = os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(line_buffering=True, errors="backslashreplace")

    import json

    sys.argv = [address]
    while "" in sys.path:
        sys.path.remove("")
    sys.path.insert(0, folder)
    # A project with a `src` layout need not be installed; where it is, what is installed comes first.
    if _is_in_src(address, folder):
        sys.path.append(os.path.join(folder, "src"))

    # `python src/x.py` finds the modules beside `x`. So does `src.x:f`, after all others.
    beside = os.path.join(folder, *address.partition(":")[0].split(".")[:-1])
    if beside not in sys.path:
        sys.path.append(beside)

    function = None
    for line in questions:
        message = json.loads(line)
        method, params = message["method"], message.get("params") or {}
        answer = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            if method == "initialize":
                function = _Function(address, folder, params.get("concurrency", 1), params.get("batch", 1))
                answer["result"] = dict(function.takes, protocol=1)
            elif method == "assess":
                answer["result"] = function(params)
            elif method == "assess_batch":
                answer = _Text(b'{"jsonrpc": "2.0", "id": ' + _json(message["id"]) + b', "result": ' + function.batch(params["calls"]) + b"}")
            elif method == "shutdown":
                return
            else:
                answer["error"] = {"code": -32601, "message": "unknown method: " + method}
            text = _json(answer)
        except BaseException as error:
            text = _json({"jsonrpc": "2.0", "id": message["id"], "error": _error(error, function)})
        _send(answers, text)
        if function is not None and "concurrency" in function.takes:
            return _serve_together(function, questions.fileno(), answers)


def _send(answers, text):
    """Sends a message after everything that was printed before it."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    answers.write(text + b"\n")
    answers.flush()


def _serve_together(function, questions, answers):
    """Answers calls on one event loop, each as soon as it is done."""
    import asyncio
    import json
    import os

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    begun = bytearray()
    running = set()

    async def answer(message):
        params = message["params"]
        try:
            result = _output(await function.call(*_handed(params)))
            text = _json({"jsonrpc": "2.0", "id": message["id"], "result": result})
        except BaseException as error:
            text = _json({"jsonrpc": "2.0", "id": message["id"], "error": _error(error, function)})
        _send(answers, text)

    def hear():
        got = os.read(questions, 1 << 16)
        if not got:
            return loop.stop()
        begun.extend(got)
        *lines, rest = begun.split(b"\n") if b"\n" in got else (begun,)
        begun[:] = rest
        for line in lines:
            message = json.loads(line)
            if message["method"] == "shutdown":
                loop.stop()
            elif message["method"] == "assess":
                task = loop.create_task(answer(message))
                running.add(task)
                task.add_done_callback(running.discard)
            else:
                error = {"code": -32601, "message": "unknown method: " + message["method"]}
                _send(answers, _json({"jsonrpc": "2.0", "id": message["id"], "error": error}))

    loop.add_reader(questions, hear)
    loop.run_forever()


def _handed(params):
    """The input of a call, its file, and what is known of the conversation that it is a turn of."""
    turn = {name: params[name] for name in ("conversation_id", "turn") if name in params}
    return params["input"], params.get("input_path"), turn


def _question(input):
    """What a function gets as its only parameter: of a question of a search, which has its id beside it, the text alone."""
    if isinstance(input, list):
        return [_question(one) for one in input]
    return input["query"] if isinstance(input, dict) and set(input) == {"id", "query"} else input


def _field(fields, name):
    """The field of a record with this name, or the only one that differs from it in capital letters alone."""
    if name in fields:
        return name
    alike = [field for field in fields if field.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else None


class _Text(bytes):
    """A value that is JSON already."""


class _Refused(Exception):
    """Something that the user of kelvin has to mend; its text says it all."""


class _Function:
    """A function that is found by its address, and called with what its parameters ask for."""

    def __init__(self, address, folder, concurrency, batch):
        import inspect

        self.address = address
        self.loop = None
        way = "batch" if batch > 1 else "concurrency" if concurrency > 1 else None
        # What it takes at once, in words of the protocol.
        self.takes = {way: max(batch, concurrency)} if way else {}
        # The parameters that get something: of a function that gets several inputs they are lists.
        self.names = ("inputs", "paths") if way == "batch" else ("input", "path")
        self.function = _of_framework(_find(address, folder), address, way)
        if way == "concurrency" and not _is_async(self.function):
            raise _Refused(
                "`%s` is no `async def`, and `concurrency: %d` needs one: calls of an ordinary function cannot be under "
                "way at the same time in one process. Leave out `concurrency`; `jobs` says how many processes there are"
                % (address, concurrency)
            )
        try:
            self.signature = inspect.signature(self.function)
        except (TypeError, ValueError):
            raise _Refused(
                "`%s` does not tell its parameters; name a function of your own that calls it" % address
            ) from None
        self.parameters = [
            parameter
            for parameter in self.signature.parameters.values()
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        ]
        self.required = [one for one in self.parameters if one.default is one.empty]
        self.whole = ""

    def _arguments(self, input, path, turn):
        """What each parameter gets, by its name: the input, its path, the conversation and the turn that it is, or a
        field of the record that the input is."""
        given = dict(zip(self.names, (input, path)), **turn)
        if turn:
            # A turn has no file.
            del given["path"]
        known = {one.name: given[one.name] for one in self.parameters if one.name in given}
        fields = input if isinstance(input, dict) else {}
        for one in self.required:
            field = None if one.name in given else _field(fields, one.name)
            if field is not None:
                known[one.name] = fields[field]
        # The only parameter for an input gets it, whatever its name is.
        if all(name in turn for name in known):
            others = [one for one in self.parameters if one.name not in turn]
            wanting = [one for one in others if one.default is one.empty] or others
            if len(wanting) == 1:
                known[wanting[0].name] = _question(input)
        self.whole = self._whole(known, fields)
        positional = [one for one in self.parameters if one.kind is one.POSITIONAL_ONLY]
        before = [one.name in known for one in positional]
        if all(name in turn for name in known) or any(one.name not in known for one in self.required) or before != sorted(before, reverse=True):
            record = ""
            if fields:
                names = ", ".join("`%s`" % name for name in list(fields)[:12])
                record = ", a field of the record by its name (%s)" % names
            raise _Refused(
                "kelvin cannot call `%s%s`: it gives a function `%s` (the input), %s%s, or the "
                "input as its only parameter; give every other parameter a default"
                % (
                    self.address,
                    self.signature,
                    self.names[0],
                    "`conversation_id`, `turn` (its number)" if turn else "`%s` (its file)" % self.names[1],
                    record,
                )
            )
        first = [known.pop(one.name) for one in positional if one.name in known]
        return first, known

    def _whole(self, known, fields):
        """What to tell of a call that got a whole record, where the function may have asked for one field of it."""
        got = [name for name, value in known.items() if fields and value is fields]
        if not got:
            alone = [name for name in known if name not in fields and name not in self.names] if fields else []
            text = "; it got the text of the question as `%s`; a parameter called `input` gets an object with `id` and `query`"
            return text % alone[0] if alone and known[alone[0]] is fields.get("query") else ""
        names = ["`%s`" % name for name in list(fields)[:12]]
        text = "; it got the whole input as `%s`, an object with %s" % (got[0], ", ".join(names))
        # Which of several fields is the question is not known here: one may be the right answer.
        alone = [name for name in fields if name not in self.names and name != "id"]
        if len(alone) == 1:
            return text + "; a parameter called `%s` gets that field alone" % alone[0]
        return text + ("; a parameter that has the name of one of them gets that field alone" if alone else "")

    def call(self, input, path, turn=()):
        """What the function returns, which may have to be awaited."""
        positional, named = self._arguments(input, path, dict(turn))
        return self.function(*positional, **named)

    def __call__(self, params):
        input, path, turn = _handed(params)
        if "batch" in self.takes:
            (answer,) = self._answers([input], [path])
            if isinstance(answer, BaseException):
                raise answer
            return _output(answer)
        return _output(self._done(self.call(input, path, turn)))

    def batch(self, calls):
        """The answers to several inputs, as JSON: each with the call that it belongs to, or with an error of its own."""
        answers = self._answers([one["input"] for one in calls], [one["input_path"] for one in calls])
        items = []
        for call, answer in zip(calls, answers):
            name = b'{"call": ' + _json(call["call"])
            try:
                if isinstance(answer, BaseException):
                    raise answer
                items.append(name + b', "result": ' + _json(_output(answer)) + b"}")
            except BaseException as error:
                items.append(name + b', "error": ' + _json(_error(error)) + b"}")
        return b"[" + b", ".join(items) + b"]"

    def _answers(self, inputs, paths):
        """An answer for each input: an exception where it has none."""
        answers = self._done(self.call(inputs, paths))
        if not isinstance(answers, (list, tuple)):
            answers = _plain(answers)
        if not isinstance(answers, (list, tuple)):
            wrong = "%s" % type(answers).__name__
        elif len(answers) != len(inputs):
            wrong = "%d of them" % len(answers)
        else:
            return answers
        # No answer can be told to be that of an input.
        text = "`%s` got a list of %d inputs, and returned no list of as many answers: found %s" % (self.address, len(inputs), wrong)
        return [_Refused(text)] * len(inputs)

    def _done(self, result):
        import inspect

        return self._wait(result) if inspect.isawaitable(result) else result

    def _wait(self, awaitable):
        import asyncio

        if self.loop is None:
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)

        async def wait():
            return await awaitable

        return self.loop.run_until_complete(wait())


def _is_in_src(address, folder):
    import os

    top = address.partition(":")[0].partition(".")[0]
    places = [os.path.join(folder, "src", name) for name in (top, top + ".py")]
    return any(map(os.path.exists, places))


def _find(address, folder):
    import importlib

    module_name, _, path = address.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name + ".").startswith(error.name + "."):
            raise _Refused(
                "there is no module `%s` in the folder of the configuration, nor among the packages of this "
                "Python" % error.name
            ) from None
        raise _Refused(
            "`%s` imports `%s`, which this Python has not got" % (module_name, error.name)
        ) from error
    except BaseException as error:
        raise _Refused("importing `%s` failed: %s" % (module_name, _said(error))) from error
    found = module
    for name in path.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            names = sorted(
                name for name, value in vars(module).items() if callable(value) and not name.startswith("_")
            )
            raise _Refused(
                "the module `%s` has no `%s`; it has: %s" % (module_name, path, ", ".join(names[:12]) or "nothing to call")
            ) from None
    return found


def _is_async(function):
    import functools
    import inspect

    while isinstance(function, functools.partial):
        function = function.func
    called = [function, inspect.unwrap(function), getattr(function, "__call__", None)]
    return any(inspect.iscoroutinefunction(one) for one in called)


def _awaiting(method):
    async def ask(text):
        return await method(text)

    return ask


def _in_thread(conversation_id):
    """What a Runnable is told of a conversation: LangGraph looks for the one key, a history of messages for the other."""
    if conversation_id is None:
        return {}
    return {"config": {"configurable": {"thread_id": conversation_id, "session_id": conversation_id}}}


def _of_framework(found, address, way=None):
    """The function that asks an object of a framework, told by the methods of that framework; no package is imported."""
    import inspect

    if not inspect.isclass(found) and not inspect.isroutine(found):
        # A Runnable of LangChain, which LangGraph has as well.
        if hasattr(found, "invoke") and hasattr(found, "ainvoke"):
            if way == "batch" and hasattr(found, "batch"):
                return lambda texts: found.batch(texts, return_exceptions=True)

            async def ainvoke(text, conversation_id=None):
                return await found.ainvoke(text, **_in_thread(conversation_id))

            def invoke(text, conversation_id=None):
                return found.invoke(text, **_in_thread(conversation_id))

            return ainvoke if way == "concurrency" else invoke
        # A query engine of LlamaIndex.
        if hasattr(found, "query") and hasattr(found, "aquery"):
            if way == "batch":
                raise _Refused("the query engine `%s` answers one query at a time: leave out `batch`" % address)
            return _awaiting(found.aquery) if way == "concurrency" else lambda text: found.query(text)
        # A module of DSPy, called by the only field that it has to be given.
        if hasattr(found, "named_predictors") and hasattr(found, "forward"):
            fields = getattr(getattr(found, "signature", None), "input_fields", None)
            names = list(fields) if fields else _required(found.forward)
            if way == "batch":
                raise _Refused("the module `%s` answers one input at a time: leave out `batch`" % address)
            if len(names) != 1:
                raise _Refused(
                    "the module `%s` wants %s, and kelvin gives one text: name a function of your own that calls it"
                    % (address, ", ".join("`%s`" % name for name in names) or "nothing")
                )
            if way == "concurrency" and hasattr(found, "acall"):
                return _awaiting(lambda text: found.acall(**{names[0]: text}))
            return lambda text: found(**{names[0]: text})
    if not callable(found):
        raise _Refused("`%s` is %s, which cannot be called" % (address, type(found).__name__))
    return found


def _required(function):
    import inspect

    parameters = inspect.signature(function).parameters.values()
    usual = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [one.name for one in parameters if one.kind in usual and one.default is one.empty]


def _output(result):
    """What a function returned as a value for JSON: one that is no object or list is the decision."""
    # An answer of LlamaIndex with the passages that it was made from.
    if hasattr(result, "source_nodes") and hasattr(result, "response"):
        nodes = [getattr(one, "node", one) for one in result.source_nodes or []]
        text = str(result.response)
        return {
            "decision": text,
            "answer": text,
            "passages": [node.get_content() for node in nodes],
            "hits": [{"doc_id": getattr(node, "ref_doc_id", None) or node.node_id, "chunk_id": node.node_id} for node in nodes],
        }
    # A message of LangChain.
    if hasattr(result, "content") and hasattr(result, "response_metadata"):
        result = result.content
    # A prediction of DSPy.
    if hasattr(result, "toDict") and not isinstance(result, type):
        result = result.toDict()
    result = _plain(result)
    return result if isinstance(result, (dict, list, tuple)) else {"decision": result}


def _plain(value):
    import dataclasses
    import enum

    if isinstance(value, enum.Enum):
        return value.value
    if hasattr(value, "model_dump") and not isinstance(value, type):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    # Numbers and arrays of numpy and its kin.
    for method in ("tolist", "item"):
        if hasattr(value, method) and not isinstance(value, type):
            return getattr(value, method)()
    return value


def _json(answer):
    import json

    if isinstance(answer, _Text):
        return answer

    def default(value):
        plain = _plain(value)
        if plain is value:
            raise TypeError("the function returned %s, which JSON does not know" % type(value).__name__)
        return plain

    try:
        text = json.dumps(answer, ensure_ascii=False, allow_nan=False, default=default)
    except ValueError as error:
        if "Circular" in str(error):
            raise
        raise ValueError(
            "the function returned a number that JSON does not know: NaN or Infinity"
        ) from None
    return text.encode("utf-8")


def _error(error, function=None):
    """The error for a message; people get the traceback on standard error."""
    import traceback

    shown = error.__cause__ if isinstance(error, _Refused) else error
    if shown is not None:
        lines = traceback.format_exception(type(shown), shown, _own(shown.__traceback__))
        sys.stderr.write("".join(lines))
    if isinstance(error, _Refused):
        return {"code": 1, "message": str(error)}
    code = 1
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    said = _said(error)
    # These are the errors of code that was given an object and wanted a text.
    if function is not None and isinstance(error, (AttributeError, KeyError, TypeError)):
        said += function.whole
    return {"code": code, "message": said}


def _own(traceback):
    """The traceback without the first frames: those of this text and of the machinery of imports."""
    import importlib

    others = ("<string>", "<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>", importlib.__file__)
    while traceback is not None and traceback.tb_frame.f_code.co_filename in others:
        traceback = traceback.tb_next
    return traceback


def _said(error):
    text = str(error).strip().split("\n")[0][:300]
    name = type(error).__name__
    return "%s: %s" % (name, text) if text else name


_main(*sys.argv[1:3])
