//! The line of a program's standard error that tells why it ended.

/// The line that tells the cause: the first line of an uncaught exception, as Python, Node and Java print it, or the
/// last line. Behind the exception may follow more lines of its own text, its stack, and what an interpreter says of itself.
pub fn cause(stderr: &str) -> Option<&str> {
    let lines: Vec<&str> = stderr.lines().map(str::trim_end).collect();
    let of_stack = before_a_stack(&lines);
    let of_python = behind_a_traceback(&lines);
    let named = || lines.iter().rposition(|line| names_an_exception(line));
    let is_cause = |line: &&&str| !line.trim().is_empty() && !is_version_of_node(line);
    let last = || lines.iter().rev().find(is_cause).copied();
    match of_python.max(of_stack).or_else(named) {
        Some(at) => lines.get(at).copied(),
        None => last(),
    }
    .map(str::trim)
}

/// Whether a line is the message of an exception, as interpreters print it: `ValueError: …`, `java.io.IOException: …`.
/// The lines of code in a trace are indented.
pub fn names_an_exception(line: &str) -> bool {
    let name = match line.split_once(':') {
        Some((before, _)) => before.split(" [").next().unwrap_or_default(),
        None => line.trim_end(),
    };
    let is_alone = line.contains(':') || !name.contains(' ');
    let is_type = ["Error", "Exception"].iter().any(|end| name.ends_with(end));
    is_alone && is_type && !line.starts_with(char::is_whitespace)
}

/// The first line of the exception behind the last traceback of Python, whose lines of code are indented.
fn behind_a_traceback(lines: &[&str]) -> Option<usize> {
    let head = lines
        .iter()
        .rposition(|line| *line == "Traceback (most recent call last):")?;
    let is_code = |line: &str| line.is_empty() || line.starts_with(char::is_whitespace);
    let behind = lines.iter().skip(head + 1);
    Some(head + 1 + behind.clone().position(|line| !is_code(line))?)
}

/// The first line of the exception before the last stack of the form of Node and Java, whose lines are `    at …`. Its
/// text may have several lines.
fn before_a_stack(lines: &[&str]) -> Option<usize> {
    let is_of_stack =
        |line: &str| line.starts_with(char::is_whitespace) && line.trim_start().starts_with("at ");
    let last = lines.iter().rposition(|line| is_of_stack(line))?;
    let first = lines[..last].iter().rposition(|line| !is_of_stack(line))?;
    let text = lines[..=first].iter().rev();
    let text = text.take_while(|line| !line.is_empty() && !is_of_stack(line));
    let mut text = text.enumerate();
    let above = text.find(|(_, line)| names_an_exception(line) || is_class_with_text(line));
    above.map(|(above, _)| first - above)
}

/// Whether a line is the name of a class, and a text behind it: an exception may have any name.
fn is_class_with_text(line: &str) -> bool {
    let Some((name, text)) = line.split_once(": ") else {
        return false;
    };
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '$');
    name.starts_with(char::is_alphabetic) && name.chars().all(is_name) && !text.is_empty()
}

/// Whether a line is the version that Node prints behind an uncaught exception.
fn is_version_of_node(line: &str) -> bool {
    let version = line.trim().strip_prefix("Node.js v");
    version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_an_uncaught_exception_is_the_cause() {
        for (printed, wanted) in [
            (
                "listening\n/app/agent.js:3\n  throw new TypeError('x');\n  ^\n\nTypeError: tool_calls is undefined\n    \
                 at run (/app/agent.js:3:9)\n    at node:internal/main:1:1\n\nNode.js v20.20.2\n",
                "TypeError: tool_calls is undefined",
            ),
            (
                "node:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\nError: Cannot find module 'x'\nRequire \
                 stack:\n- /app/server.js\n    at Module._load (node:1:2) {\n  code: 'MODULE_NOT_FOUND',\n  \
                 requireStack: [ '/app/server.js' ]\n}\n\nNode.js v20.20.2\n",
                "Error: Cannot find module 'x'",
            ),
            (
                "Error: the first try\nRefused: no credit\n    at ask (/app/a.js:1:1)\n",
                "Refused: no credit",
            ),
            ("it is over\n\nNode.js v20.20.2\n", "it is over"),
            (
                "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    raise X\nValueError: \
                 first\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most \
                 recent call last):\n  File \"a.py\", line 5\n    f()\n    ^^^\nshop.Refused: two things\n  one\nIt \
                 is an IOError: two\n",
                "shop.Refused: two things",
            ),
            (
                "Exception in thread \"main\" java.io.IOException: closed\n\tat a.B.c(B.java:1)\n",
                "Exception in thread \"main\" java.io.IOException: closed",
            ),
            ("loading\n  no model \n\n", "no model"),
        ] {
            assert_eq!(cause(printed), Some(wanted), "{printed}");
        }
        assert_eq!(cause("\n"), None);
    }
}
