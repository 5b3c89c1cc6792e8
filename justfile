# The parts of `.ci/run`, each by itself: `just --list`. `bash .ci/run` does not need this file; it also installs what a
# part needs, and says what it leaves out.

# Everything that must hold.
all:
    bash .ci/run

# The tests of every crate, or `just test -p kelvin-gate`.
test *arguments:
    cargo test {{ arguments }}

# The format, and what the compiler and clippy say.
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    cargo clippy --workspace --lib --no-default-features -- -D warnings

# The documentation of the code, with every link in it.
docs:
    RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --document-private-items

# The site of the documents, with every link in it; `target/site/index.html` is its first page.
site:
    tests/docs/site

# Licences, bans and sources of the crates.
deny:
    "$(tests/action/tools)/cargo-deny" --workspace --all-features check licenses bans sources

# The tests that ask real databases.
databases:
    tests/databases/servers start
    cargo test --lib --test it -- --ignored on_real_servers
    tests/databases/servers stop

# The tests that ask real models.
models:
    tests/models/start
    cargo test --lib --test it -- --ignored a_real_

# The page for everybody: axe-core looks at every kind of run.
page:
    cargo build
    tests/browser/accessible

# Pictures of everything that people look at, into a folder: `just shots /tmp/shots`.
shots folder:
    cargo build
    tests/browser/shots {{ folder }}

# The hook under pre-commit.
hook:
    tests/pre_commit/run

# The lints of the workflows and the sample workflow without GitHub.
workflows:
    PATH="$(tests/action/tools):$PATH" actionlint .github/workflows/*.yml docs/workflows/*.yml
    "$(tests/action/tools)/zizmor" --offline --no-progress --quiet .
    tests/action/act

# The image of the action, run as GitHub's runner does.
image:
    tests/action/container

# Ranking measures against trec_eval.
oracle:
    tests/oracle/trec/run

# The tables of the simulation of the gate, which take half an hour: all, or `just simulation bases`.
simulation *table:
    cargo bench --bench gate_simulation {{ table }}

# Files that a fuzzer makes up: `just fuzz report 60`.
fuzz target seconds:
    fuzz/run {{ target }} {{ seconds }}

# What there is to read: lines, files, names.
house:
    python3 benches/house.py
