//! Foreign text in a cell of a table that a spreadsheet opens.

/// A text as a cell. A spreadsheet takes a cell that begins with one of these signs for a formula, also within
/// quotes and after white space; an apostrophe before it makes it a text.
/// See: <https://owasp.org/www-community/attacks/CSV_Injection>.
pub fn cell(text: &str) -> String {
    const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
    let begins = |text: &str| text.starts_with(FORMULA) || text.starts_with(['\t', '\r', '\n']);
    let mark = if begins(text) || begins(text.trim_start()) {
        "'"
    } else {
        ""
    };
    format!("\"{mark}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_of_a_csv_file_is_a_formula_or_breaks_out_of_its_quotes() {
        for hostile in [
            "=1+1",
            "+1",
            "-1",
            "@SUM(A1)",
            "\t=1",
            "\r=1",
            "  =cmd|' /C calc'!A0",
            "＝1",
        ] {
            let cell = cell(hostile);
            assert!(cell.starts_with("\"'"), "{cell:?}");
        }
        assert_eq!(cell("a \"b\", c"), "\"a \"\"b\"\", c\"");
        assert_eq!(
            cell("python3 answer.py --fast"),
            "\"python3 answer.py --fast\""
        );
        // Two lines stay within one cell.
        assert_eq!(cell("a\r\nb"), "\"a\r\nb\"");
    }
}
