//! A column of names in a table, as wide as the longest name, because a truncated name cannot be searched for or
//! copied.

use kelvin_page::safe;

/// The maximum width of a name on a terminal: an external text must not fill the terminal.
const MOST: usize = 160;

/// The width of a column of names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names(usize);

impl Names {
    /// The column for some names, with their title.
    pub(super) fn of<'a>(title: &str, names: impl Iterator<Item = &'a str>) -> Self {
        let columns = names.map(|name| safe::columns(&safe::cut(name, MOST)));
        Self(columns.max().unwrap_or_default().max(title.len()))
    }

    /// A name, filled with spaces to the width of the column.
    pub(super) fn pad(self, name: &str) -> String {
        let name = safe::cut(name, MOST);
        let gap = self.0.saturating_sub(safe::columns(&name));
        name + &" ".repeat(gap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_as_wide_as_its_longest_name_and_no_wider_than_a_screen() {
        let names = [
            "short",
            "stratt://chains/an/intake/with/a/long/name",
            "字幕",
        ];
        let column = Names::of("chain", names.into_iter());
        for name in names {
            let padded = column.pad(name);
            assert!(padded.starts_with(name), "{padded}");
            assert_eq!(safe::columns(&padded), names[1].len());
        }
        assert_eq!(Names::of("chain", [].into_iter()).pad("a"), "a    ");
        let endless = "x".repeat(10_000);
        let column = Names::of("chain", [endless.as_str()].into_iter());
        assert_eq!(safe::columns(&column.pad(&endless)), MOST);
    }
}
