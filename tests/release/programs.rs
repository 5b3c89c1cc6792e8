//! Programs that are small enough to be packed in a test, for the four machines that a release has.

use std::process::Command;
use std::sync::OnceLock;

pub(crate) const TARGETS: [&str; 4] = [
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
];

/// A static program for a target, where this machine is one: it prints the last line of its own file.
pub(crate) fn program(target: &str) -> Option<Vec<u8>> {
    static HERE: OnceLock<Vec<u8>> = OnceLock::new();
    (target == format!("{}-unknown-linux-gnu", std::env::consts::ARCH)).then(|| {
        HERE.get_or_init(|| compiled(target, &["-C", "target-feature=+crt-static"]))
            .clone()
    })
}

/// The same program, made with these flags.
pub(crate) fn compiled(target: &str, flags: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = folder.path().join("said.rs");
    let text = r#"fn main() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        println!("{}", String::from_utf8_lossy(own.trim_ascii_end().rsplit(|byte| *byte == 10).next().unwrap()));
    }"#;
    std::fs::write(&source, text).expect("written");
    let status = Command::new("rustc")
        .args([
            "--edition",
            "2024",
            "--target",
            target,
            "-C",
            "strip=symbols",
        ])
        .args(flags)
        .arg("-o")
        .arg(folder.path().join("said"))
        .arg(&source)
        .status()
        .expect("rustc starts");
    assert!(status.success(), "rustc does not compile it");
    std::fs::read(folder.path().join("said")).expect("read")
}

/// The first bytes of a program for a target, and nothing more.
pub(crate) fn header(target: &str) -> Vec<u8> {
    match target {
        "x86_64-unknown-linux-gnu" => elf(62),
        "aarch64-unknown-linux-gnu" => elf(183),
        "x86_64-apple-darwin" => macho(0x0100_0007, 0x000b_0000),
        "aarch64-apple-darwin" => macho(0x0100_000c, 0x000b_0000),
        _ => panic!("{target} has no header here"),
    }
}

fn elf(machine: u16) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
    bytes[18..20].copy_from_slice(&machine.to_le_bytes());
    bytes[32] = 64; // The table of segments begins here and has no entry.
    bytes[54] = 56;
    bytes
}

/// With one command, which says the oldest macOS that it runs on.
pub(crate) fn macho(processor: u32, oldest: u32) -> Vec<u8> {
    let words = [
        0xfeed_facf,
        processor,
        0,
        2,
        1,
        24,
        0,
        0,
        0x32,
        24,
        1,
        oldest,
        0,
        0,
    ];
    words
        .iter()
        .flat_map(|word: &u32| word.to_le_bytes())
        .collect()
}
