#!/usr/bin/env python3
"""Opens report pages in headless Chromium and says what is wrong with them.

    page.py CHROMIUM FOLDER            checks every FOLDER/*.html; ends with 1 where one is wrong
    page.py CHROMIUM FOLDER shots DIR  draws them at a desk and on a phone, light and dark
    page.py CHROMIUM FOLDER axe FILE   has axe-core, of this file, look at them: at a desk, light and dark, and on a phone

Speaks the DevTools protocol over a pipe; needs nothing but the standard library.
"""

import base64
import concurrent.futures
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

TIMEOUT = 60.0
# A desk and a phone, by the width in pixels, and the colours that a reader prefers.
VIEWS = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]


class Browser:
    """Chromium, and one page of it."""

    def __init__(self, program, profile):
        ours, theirs = os.pipe(), os.pipe()

        def pipes():
            # They must stand at 3 and 4, and may stand there already.
            into, out = os.dup(ours[0]), os.dup(theirs[1])
            os.dup2(into, 3)
            os.dup2(out, 4)

        self.process = subprocess.Popen(
            [
                program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                "--no-first-run", "--disable-dev-shm-usage", "--disable-background-networking",
                "--force-device-scale-factor=1", f"--user-data-dir={profile}",
                "--remote-debugging-pipe", "about:blank",
            ],
            close_fds=False, preexec_fn=pipes, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(ours[0])
        os.close(theirs[1])
        self.into, self.out = ours[1], theirs[0]
        self.left, self.number, self.session, self.events = b"", 0, None, []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")

    def close(self):
        # Where it is asked to end, it removes what it keeps beside its profile, and its helpers end with it.
        try:
            os.write(self.into, json.dumps({"id": 0, "method": "Browser.close"}).encode() + b"\0")
            self.process.wait(timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.into)
        os.close(self.out)

    def read(self):
        while b"\0" not in self.left:
            piece = os.read(self.out, 1 << 20)
            if not piece:
                raise SystemExit("chromium went away")
            self.left += piece
        message, self.left = self.left.split(b"\0", 1)
        return json.loads(message)

    def ask(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.into, data):]
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise SystemExit(f"{method}: {answer['error']}")
                return answer["result"]
            if answer.get("method") == "Page.javascriptDialogOpening":
                self.events.append(answer)
                self.number += 1
                text = {"id": self.number, "method": "Page.handleJavaScriptDialog",
                        "params": {"accept": True}, "sessionId": self.session}
                os.write(self.into, json.dumps(text).encode() + b"\0")
                continue
            self.events.append(answer)
        raise SystemExit(f"{method} took too long")

    def run(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise SystemExit(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait_for(self, expression):
        """The value of a promise."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise SystemExit(f"{answer['exceptionDetails']}")
        return answer["result"].get("value")

    def show(self, path, width=1280, height=900, scheme="light", phone=False):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=phone)
        self.ask("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events = []
        began = time.monotonic()
        self.ask("Page.navigate", url=path.resolve().as_uri())
        while self.run("document.readyState") != "complete":
            time.sleep(0.02)
        return time.monotonic() - began

    def press(self, key, code, text=""):
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key if key != " " else "Space",
                     windowsVirtualKeyCode=code, text=text if kind == "keyDown" else "")


def wrong(browser, page):
    """What is wrong with a page, in words."""
    found = []
    seconds = browser.show(page)
    if seconds > 20:
        found.append(f"it took {seconds:.1f} s to open")
    requests = [event["params"]["request"]["url"] for event in browser.events
                if event.get("method") == "Network.requestWillBeSent"]
    own = page.resolve().as_uri()
    found += [f"it asks for {url}" for url in requests if url != own]
    for event in browser.events:
        if event.get("method") == "Page.javascriptDialogOpening":
            found.append("it opens a dialog")
        if event.get("method") == "Runtime.exceptionThrown":
            found.append(f"its script fails: {event['params']['exceptionDetails']}")
        if event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
            found.append(f"it logs: {event['params']['entry']['text']}")
    title = browser.run("document.title")
    if ": kelvin, " not in title or "owned" in title:
        found.append(f"its title is {title!r}")
    if browser.run("document.querySelectorAll('script').length") != 1:
        found.append("it has a script that is not ours")
    for selector in ("img", "iframe", "object", "embed", "base", "link", "form[action]", "svg animate",
                     "a:not([href^='#']):not([href^='./'])", "[onload]", "[onerror]", "[onclick]", "[onmouseover]",
                     "[onfocus]", "[autofocus]"):
        if browser.run(f"document.querySelectorAll({json.dumps(selector)}).length"):
            found.append(f"it has {selector}")
    if browser.run("getComputedStyle(document.querySelector('h1')).display") == "none":
        found.append("its style is not ours")
    if browser.run("new Set([...document.querySelectorAll('[id]')].map(e => e.id)).size"
                   " != document.querySelectorAll('[id]').length"):
        found.append("two of its elements have one id")
    found += keyboard(browser)
    found += comfort(browser)
    for width in (360, 320):
        browser.show(page, width=width, height=740, phone=True)
        browser.run("document.querySelectorAll('details').forEach((one, at) => { if (at < 40) one.open = true })")
        wide = browser.run("document.scrollingElement.scrollWidth")
        if wide > width:
            found.append(f"it scrolls sideways at {width}: it is {wide} wide")
    return found


def keyboard(browser):
    """A case opens and closes without a pointer."""
    found = []
    if not browser.run("!!document.querySelector('.item')"):
        return ["it has no case"]
    # From the element before the list, the next stop is the first case.
    browser.run("document.getElementById('order').focus()")
    browser.press("Tab", 9)
    at = browser.run("document.activeElement.tagName + ' ' + document.activeElement.parentElement.className")
    if not at.startswith("SUMMARY item"):
        found.append(f"the next stop after the filter is {at}")
    outline = browser.run("getComputedStyle(document.activeElement).outlineStyle")
    if outline == "none":
        found.append("the focus cannot be seen")
    state = "document.activeElement.parentElement.open"
    browser.press("Enter", 13, "\r")
    if not browser.run(state):
        found.append("Enter does not open a case")
    browser.press(" ", 32, " ")
    if browser.run(state):
        found.append("Space does not close a case")
    return found


def comfort(browser):
    """The filters and the links do what they say."""
    found = []
    shown = "[...document.querySelectorAll('.item')].filter(e => e.checkVisibility()).length"
    everything = browser.run(shown)
    for id in ("against", "failing"):
        browser.run(f"document.getElementById('{id}').click()")
        wanted = browser.run(f"document.querySelectorAll('.item.{id}').length")
        if browser.run(shown) != wanted:
            found.append(f"the filter `{id}` shows {browser.run(shown)} of {wanted}")
    browser.run("document.getElementById('all').click()")
    if browser.run(shown) != everything:
        found.append("the filter `all` does not show all")
    browser.run("location.hash = '#item-0'")
    time.sleep(0.1)
    if not browser.run("document.getElementById('item-0').open"):
        found.append("a link to a case does not open it")
    browser.run("{ const name = document.getElementById('name'); name.value = 'no such case';"
                " name.dispatchEvent(new Event('input')) }")
    if browser.run(shown) != 0:
        found.append("the filter by name hides nothing")
    return found


def shots(browser, page, folder):
    """Draws a page, closed and with its first parts open. Nothing is wrong with it."""
    folder.mkdir(parents=True, exist_ok=True)
    for width, scheme in VIEWS:
        name = f"{width}-{scheme}"
        browser.show(page, width=width, scheme=scheme, phone=width < 500)
        for opened in ("", "-open"):
            if opened:
                browser.run("const first = document.querySelector('.item'); if (first) first.open = true;"
                            "first?.querySelectorAll('details')"
                            ".forEach((one, at) => { if (at < 3) one.open = true })")
            tall = min(browser.run("document.documentElement.scrollHeight"), 6000)
            browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=tall,
                        deviceScaleFactor=1, mobile=width < 500)
            picture = browser.ask("Page.captureScreenshot")["data"]
            (folder / f"{page.stem}-{name}{opened}.png").write_bytes(base64.b64decode(picture))
    return []


def inaccessible(browser, page, axe):
    """What axe-core finds, in words; everything that can be opened is open."""
    found = []
    # On a phone the colours are those of the desk: once is enough.
    for width, scheme in VIEWS[:3]:
        browser.show(page, width=width, scheme=scheme, phone=width < 500)
        browser.run("document.querySelectorAll('details').forEach((one, at) => { if (at < 60) one.open = true })")
        browser.run(axe)
        broken = json.loads(browser.wait_for(
            "axe.run(document, {resultTypes: ['violations']}).then(all => JSON.stringify(all.violations.map("
            "one => [one.id, one.help, one.nodes.length, one.nodes[0].html.slice(0, 200)])))"
        ))
        found += [f"{width} {scheme}: {name} ({words}), {count} times, first at {at}" for name, words, count, at in broken]
    return found


def on_paper(browser, page):
    """What a fold of the verdict hides on paper, where nobody can open it."""
    browser.show(page)
    browser.ask("Emulation.setEmulatedMedia", media="print")
    hidden = browser.run("[...document.querySelectorAll('.opening details')]"
                         ".filter(e => e.offsetHeight < 1.5 * e.querySelector('summary').offsetHeight).length")
    browser.ask("Emulation.setEmulatedMedia", media="")
    return [f"{hidden} folds of the verdict are closed on paper"] if hidden else []


def answers(browser, page):
    """Whether the table of answers shows the texts that are expected of it, and finds a row by its text; at a desk and
    on a phone. The texts stand beside the page, one a line."""
    texts = page.with_suffix(".texts")
    if not texts.exists():
        return []
    found = []
    for width in (1280, 390):
        browser.show(page, width=width, phone=width < 500)
        # What is far from the window is not laid out, and has no text.
        browser.run("document.querySelectorAll('.answers tbody tr').forEach("
                    "one => { one.style.contentVisibility = 'visible' })")
        browser.run("document.querySelectorAll('.answers details').forEach(one => { one.open = true })")
        browser.run("document.querySelector('.answers').scrollIntoView()")
        # What an output says beside its answer is closed at first.
        browser.run("document.querySelectorAll('.answers details').forEach(beside => { beside.open = true })")
        time.sleep(0.2)
        table = browser.run("document.querySelector('.answers').innerText")
        words = " ".join(table.split())
        found += [f"at {width} the answers lack {text!r}" for text in texts.read_text(encoding="utf-8").splitlines()
                  if text not in words]
        wide = browser.run("document.scrollingElement.scrollWidth")
        if wide > width:
            found.append(f"it scrolls sideways at {width}: it is {wide} wide")
        if not browser.run("!!document.querySelector('.find')"):
            continue
        shown = "[...document.querySelectorAll('.answers tbody tr:not(.more)')].filter(e => !e.hidden).length"
        everything = browser.run(shown)
        for wanted, most in (("no such words", 0), (browser.run("document.querySelector('.answers .asked').textContent"), everything - 1)):
            browser.run("{ const find = document.querySelector('.find'); find.value = " + json.dumps(wanted) + ";"
                        " find.dispatchEvent(new Event('input')) }")
            if browser.run(shown) > most:
                found.append(f"{wanted!r} finds {browser.run(shown)} of {everything} answers")
            stray = ("[...document.querySelectorAll('.answers tr.more')]"
                     ".filter(e => e.hidden != e.previousElementSibling.hidden).length")
            if browser.run(stray):
                found.append(f"{wanted!r} leaves {browser.run(stray)} folds without their answers")
    found += folds(browser, page)
    return found


def packed(browser, page):
    """Whether the details of the last item of a long page, which lie in it compressed, come when a link leads to it."""
    found = []
    browser.show(page)
    last = browser.run("[...document.querySelectorAll('.item[data-pack]')].at(-1)?.id")
    if last is None:
        return found
    inside = f"document.querySelector('#{last} .inside')"
    if browser.run(inside + ".textContent.trim()"):
        found.append(f"the details of {last} stand in the page twice")
    browser.run(f"location.hash = '#{last}'")
    end = time.monotonic() + 10
    while not browser.run(inside + ".querySelector('table tbody tr')"
                          " && document.querySelector('#" + last + "').open"):
        if time.monotonic() > end:
            return found + [f"the details of {last} do not come: {browser.run(inside + '.textContent')}"]
        time.sleep(0.05)
    # The worst ones need no script, and whoever has it need not read about that.
    if not browser.run("!!document.querySelector('.item:not([data-pack]) .inside table tbody tr')"):
        found.append("no item shows its details without the script")
    if browser.run("document.querySelector('.unscripted').offsetHeight"):
        found.append("it tells a reader with a script what is missing without one")
    return found


def folds(browser, page):
    """A fold below an answer opens and closes without a pointer."""
    found = []
    browser.show(page)
    if not browser.run("!!document.querySelector('.answers details')"):
        return found
    browser.run("document.querySelector('.answers summary').focus()")
    browser.press("Enter", 13, "\r")
    if not browser.run("document.querySelector('.answers details').open"):
        found.append("Enter does not open the fold below an answer")
    browser.press(" ", 32, " ")
    if browser.run("document.querySelector('.answers details').open"):
        found.append("Space does not close the fold below an answer")
    return found


def each_in_a_browser(program, pages, look):
    """What `look` finds of each page, by page. A page keeps one core busy, so there is a browser for each core; the
    largest pages begin."""
    waiting = sorted(pages, key=lambda page: page.stat().st_size)
    found = {}

    def work(browser):
        while waiting:
            page = waiting.pop()
            found[page] = look(browser, page)

    with contextlib.ExitStack() as open_until_the_end:
        browsers = []
        for _ in range(os.cpu_count() or 1):
            profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
            browsers.append(Browser(program, open_until_the_end.enter_context(profile)))
            open_until_the_end.callback(browsers[-1].close)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(work, browsers))
    return [(page, found[page]) for page in pages]


def main():
    program, folder, *rest = sys.argv[1:]
    pages = sorted(pathlib.Path(folder).glob("*.html"))
    if not pages:
        raise SystemExit("there is no page")
    look = wrong
    if rest and rest[0] == "axe":
        axe = pathlib.Path(rest[1]).read_text(encoding="utf-8") + "; undefined"
        look = lambda browser, page: (inaccessible(browser, page, axe) + on_paper(browser, page)
                                      + answers(browser, page) + packed(browser, page))
    elif rest:
        look = lambda browser, page: shots(browser, page, pathlib.Path(rest[1]))
    found = each_in_a_browser(program, pages, look)
    bad = [f"{page.name}: {words}" for page, all_words in found for words in all_words]
    print("\n".join(bad + [f"{len(pages)} pages, {len(bad)} problems"]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
