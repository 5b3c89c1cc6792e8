//! The data files that are part of the program.

/// Files with the names that messages use for them.
pub(super) type Files = &'static [(&'static str, &'static str)];

macro_rules! files {
    ($($file:literal),* $(,)?) => {
        &[$(($file, include_str!($file))),*]
    };
}

/// The files that every run starts with.
pub(super) const DEFAULT: Files = files![
    "default/antonyms.yaml",
    "default/comparators.yaml",
    "default/filler.yaml",
    "default/injections.yaml",
    "default/reading.yaml",
];

/// The packs that can be asked for by name.
pub(super) const PACKS: &[(&str, Files)] =
    &[("legal", files!["legal/contract.yaml", "legal/filler.yaml"])];

/// The files of a pack that ships.
pub(super) fn pack(name: &str) -> Option<Files> {
    let (_, files) = PACKS.iter().find(|(known, _)| *known == name)?;
    Some(files)
}
