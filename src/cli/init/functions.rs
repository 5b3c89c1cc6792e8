//! Functions in Python that may be a pipeline, found in the text of their files. No code is run.

use std::path::{Path, PathBuf};

use super::evaluators;
use super::survey::is_identifier;

/// The last names of decorators whose functions are called by a framework: routes of a service, commands, fixtures.
const BY_FRAMEWORK: [&str; 20] = [
    "get",
    "post",
    "put",
    "patch",
    "delete",
    "head",
    "options",
    "route",
    "api_route",
    "websocket",
    "websocket_route",
    "middleware",
    "exception_handler",
    "errorhandler",
    "on_event",
    "before_request",
    "after_request",
    "command",
    "group",
    "fixture",
];

/// Types in annotations that an input or a field of it can be.
const PLAIN: [&str; 24] = [
    "str",
    "int",
    "float",
    "bool",
    "bytes",
    "dict",
    "list",
    "tuple",
    "set",
    "object",
    "Any",
    "AnyStr",
    "Text",
    "Dict",
    "List",
    "Tuple",
    "Set",
    "Mapping",
    "MutableMapping",
    "Sequence",
    "Iterable",
    "Collection",
    "Literal",
    "Path",
];

/// Names in annotations that are around other types and are none themselves.
const AROUND: [&str; 4] = ["Optional", "Union", "Annotated", "None"];

/// A function that was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    /// The function as `module:function`.
    pub(super) address: String,
    /// The parameters without a default value.
    pub(super) required: Vec<String>,
    /// Whether it has a parameter for the conversation of an input.
    pub(super) converses: bool,
    /// Whether it can be called with an input: no framework calls it, and no parameter needs an object of a class.
    pub(super) is_callable: bool,
}

/// How the modules of a project are imported.
#[derive(Debug)]
pub(super) struct Layout {
    /// Whether `src` has the packages and is none itself.
    is_src: bool,
}

impl Layout {
    /// The layout of the project in a folder, by its files: with a `src` layout it is built as a package, and none of its
    /// modules is imported by way of `src`.
    pub(super) fn of(root: &Path, files: &[PathBuf]) -> Self {
        let is_built = ["pyproject.toml", "setup.py", "setup.cfg"]
            .iter()
            .any(|name| root.join(name).is_file());
        let is_no_package = !root.join("src/__init__.py").exists();
        let imports_src = |file: &PathBuf| {
            let text = evaluators::begin(file).unwrap_or_default();
            let mut lines = text.lines().map(str::trim_start);
            lines.any(|line| {
                ["from src.", "from src import", "import src."]
                    .iter()
                    .any(|begin| line.starts_with(begin))
            })
        };
        let mut code = files
            .iter()
            .filter(|file| file.extension().is_some_and(|end| end == "py"));
        Self {
            is_src: is_built && is_no_package && !code.any(imports_src),
        }
    }

    /// The path of a file below the folder from which its module is imported.
    pub(super) fn module_path<'a>(&self, below: &'a str) -> &'a str {
        let bare = below.strip_prefix("src/").filter(|_| self.is_src);
        bare.unwrap_or(below)
    }
}

/// The public functions at the top level of a file that have parameters. `below` is the path of the file below the folder
/// from which its module is imported.
pub(super) fn of_file(file: &Path, below: &str) -> Vec<Function> {
    let name = below.rsplit('/').next().unwrap_or(below);
    let is_other = name.starts_with("test_")
        || name.ends_with("_test.py")
        || ["setup.py", "conftest.py", "noxfile.py"].contains(&name)
        || below.starts_with("tests/");
    let module = below.trim_end_matches(".py");
    let module = module.strip_suffix("/__init__").unwrap_or(module);
    let parts: Vec<&str> = module.split('/').collect();
    if is_other || !parts.iter().all(|part| is_identifier(part)) {
        return Vec::new();
    }
    let text = evaluators::begin(file).unwrap_or_default();
    of_text(&text, &parts.join("."))
}

/// The functions in the text of a module.
fn of_text(text: &str, module: &str) -> Vec<Function> {
    let mut rest = text;
    let mut found = Vec::new();
    let mut is_of_framework = false;
    while !rest.is_empty() {
        let (line, further) = rest.split_once('\n').unwrap_or((rest, ""));
        if let Some(decorator) = line.strip_prefix('@') {
            is_of_framework |= is_called_by_framework(decorator);
        }
        let from = rest.strip_prefix("async ").unwrap_or(rest);
        let name = from
            .strip_prefix("def ")
            .and_then(|from| from.split_once('('));
        if let Some((name, inside)) = name.filter(|(name, _)| is_identifier(name.trim())) {
            let parameters = parameters(inside);
            if !parameters.is_empty() && !name.starts_with('_') && name != "main" {
                let needs_object =
                    |one: &Parameter<'_>| one.is_required && is_class(one.annotation, text);
                found.push(Function {
                    address: format!("{module}:{}", name.trim()),
                    required: parameters
                        .iter()
                        .filter(|one| one.is_required)
                        .map(|one| one.name.to_owned())
                        .collect(),
                    converses: parameters.iter().any(|one| one.name == "conversation_id"),
                    is_callable: !is_of_framework && !parameters.iter().any(needs_object),
                });
            }
        }
        // A decorator may have several lines, which are indented or close its bracket.
        if ["def ", "class "].iter().any(|word| from.starts_with(word)) {
            is_of_framework = false;
        }
        rest = further;
    }
    found
}

/// Whether a framework calls the function with this decorator, as `app.post("/ask")`.
fn is_called_by_framework(decorator: &str) -> bool {
    let end = decorator.find(|sign: char| !sign.is_alphanumeric() && !['_', '.'].contains(&sign));
    let path = &decorator[..end.unwrap_or(decorator.len())];
    let last = path.rsplit_once('.').map(|(_, last)| last);
    last.is_some_and(|last| BY_FRAMEWORK.contains(&last))
}

/// A parameter of a function.
struct Parameter<'a> {
    name: &'a str,
    annotation: &'a str,
    /// Whether it has no default value, and a name at all.
    is_required: bool,
}

/// The parameters in the text behind the opening bracket of a function. They may be on several lines.
fn parameters(inside: &str) -> Vec<Parameter<'_>> {
    let (mut depth, mut begin) = (0_usize, 0);
    let mut parts = Vec::new();
    for (place, sign) in inside.char_indices() {
        match sign {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth > 0 => depth -= 1,
            ')' | ',' if depth == 0 => {
                parts.push(&inside[begin..place]);
                begin = place + 1;
                if sign == ')' {
                    break;
                }
            }
            _ => {}
        }
    }
    let named = parts
        .into_iter()
        .map(str::trim)
        .filter(|part| !part.is_empty());
    named
        .map(|part| {
            let default = default_of(part);
            let (named, _) = part.split_at(default.unwrap_or(part.len()));
            let (name, annotation) = named.split_once(':').unwrap_or((named, ""));
            let name = name.trim();
            Parameter {
                name,
                annotation: annotation.trim(),
                is_required: default.is_none() && is_identifier(name),
            }
        })
        .collect()
}

/// Where the default value of a parameter begins. An `=` inside brackets belongs to the annotation, as that of
/// `Annotated[str, Query(min_length=1)]`.
fn default_of(parameter: &str) -> Option<usize> {
    let mut depth = 0_usize;
    parameter.find(|sign| {
        match sign {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        sign == '=' && depth == 0
    })
}

/// Whether an annotation names a class, an object of which no input is, and nothing that an input may be. `text` is that of
/// the module: an alias of a type in it, or a dictionary with declared keys, is no such class.
fn is_class(annotation: &str, text: &str) -> bool {
    let is_word = |sign: char| sign.is_alphanumeric() || ['_', '.'].contains(&sign);
    let names = annotation
        .split(|sign| !is_word(sign))
        .filter(|name| !name.is_empty());
    let names: Vec<&str> = names
        .map(|name| name.rsplit('.').next().unwrap_or(name))
        .collect();
    let is_defined_as_plain = |name: &str| {
        let mut lines = text.lines();
        lines.any(|line| {
            let class = line
                .strip_prefix("class ")
                .and_then(|rest| rest.strip_prefix(name));
            let is_dictionary =
                class.is_some_and(|rest| rest.starts_with('(') && rest.contains("TypedDict"));
            let bare = line.strip_prefix("type ").unwrap_or(line);
            let alias = bare.strip_prefix(name).map(str::trim_start);
            is_dictionary || alias.is_some_and(|rest| rest.starts_with(['=', ':']))
        })
    };
    let is_plain = |name: &&str| PLAIN.contains(name) || is_defined_as_plain(name);
    let is_named_as_class =
        |name: &&str| name.starts_with(char::is_uppercase) && !AROUND.contains(name);
    !names.iter().any(is_plain) && names.iter().any(is_named_as_class)
}
