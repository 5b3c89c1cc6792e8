use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Takes the bytes of an input.
type Target = fn(&[u8]);

/// Every target with its function: the names of the folders and programs below `fuzz/`.
const TARGETS: [(&str, Target); 5] = [
    ("archive", super::archive),
    ("case", super::case),
    ("configuration", super::configuration),
    ("report", super::report),
    ("run", super::run),
];

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

fn names(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

#[test]
fn every_seed_passes_its_target() {
    for (name, target) in TARGETS {
        let seeds = names(&fuzz().join("seeds").join(name));
        assert!(seeds.len() >= 5, "`{name}` has {} seeds", seeds.len());
        for seed in seeds {
            target(&fs::read(seed).expect("a seed"));
        }
    }
}

#[test]
fn every_target_has_a_program_and_stands_in_the_workflow() {
    let workflow = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/workflows/fuzz.yml");
    let workflow = fs::read_to_string(workflow).expect("the workflow");
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).expect("the manifest");
    for (name, _) in TARGETS {
        let program = fs::read_to_string(fuzz().join(format!("targets/{name}.rs")));
        let program = program.expect("a program");
        assert!(
            program.contains(&format!("kelvin_action::fuzz::{name}(")),
            "{program}"
        );
        assert!(
            manifest.contains(&format!("path = \"targets/{name}.rs\"")),
            "{manifest}"
        );
        assert!(
            workflow.contains(&format!("- {name}\n")),
            "`{name}` is not in the workflow"
        );
    }
    assert_eq!(names(&fuzz().join("targets")).len(), TARGETS.len());
    assert_eq!(names(&fuzz().join("seeds")).len(), TARGETS.len());
}
