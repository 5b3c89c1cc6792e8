//! A column of names in a table, as wide as the longest name: a name that is cut cannot be looked up or copied.

use kelvin_page::safe;

/// The most columns for a name on a terminal: a text from outside must not fill the terminal.
const MOST: usize = 160;

/// The width of a column of names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names(usize);

impl Names {
    /// The column for a title and these names.
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
